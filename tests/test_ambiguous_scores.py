"""Scores of ambiguous questions, against hand-computed values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import RagError
from rag.experiment import run_systems, summarise
from rag.scoring.ambiguous import (
    AmbiguousScorer,
    Coverage,
    coverage,
    covered,
    disambig_f1,
    dr,
    found_answers,
    mrecall,
    pair_f1,
    rouge_l,
    rouge_lines,
    set_f1,
    str_em,
)
from rag.scoring.text import token_f1
from rag.types import Answer, Interpretation, Question, all_answers

ADA = Interpretation("When was Ada Stone born?", ("1801",))
BEN = Interpretation("When was Ben Stone born?", ("1900", "nineteen hundred"))
EVA = Interpretation("Where was Eva Stone born?", ("The Hague",))
STONES = (ADA, BEN, EVA)


class TableReader:
    """Answers from a table and remembers what it was asked."""

    name = "table"

    def __init__(self, answers):
        self.answers = answers
        self.calls = []

    def read(self, questions, texts):
        self.calls.append((questions, texts))
        return [self.answers[question] for question in questions]


def test_str_em_is_the_share_of_pairs_named():
    output = "Ada was born in 1801; Eva in Hague."
    assert found_answers(output, STONES) == [True, False, True]
    assert str_em(output, STONES) == pytest.approx(2 / 3)
    assert str_em("born in NINETEEN-HUNDRED", [BEN]) == 0  # hyphens go without a blank
    assert str_em("born in nineteen hundred", [BEN]) == 1
    assert str_em("", STONES) == 0


def test_disambig_f1_by_hand():
    reader = TableReader({ADA.text: "in 1801", BEN.text: "", EVA.text: "Hague"})
    outputs, pairs = ["first", "second"], [STONES, (ADA,)]
    # "in 1801" against "1801": 2 * 1 / (2 + 1).
    assert pair_f1(outputs, pairs, reader) == [[pytest.approx(2 / 3), 0.0, 1.0], [pytest.approx(2 / 3)]]
    assert disambig_f1(outputs, pairs, reader).tolist() == pytest.approx([(2 / 3 + 1) / 3, 2 / 3])
    assert reader.calls[0] == ([ADA.text, BEN.text, EVA.text, ADA.text], ["first", "first", "first", "second"])
    assert len(reader.calls) == 2  # one batch a call
    assert disambig_f1([], [], reader).tolist() == []


def test_no_answer_equals_an_empty_alias_only():
    assert token_f1("", [""]) == 1.0
    assert token_f1("", ["1801"]) == token_f1("1801", [""]) == 0.0
    assert token_f1("", ["1801", ""]) == 1.0


def test_a_reader_that_loses_pairs_is_an_error():
    class Short(TableReader):
        def read(self, questions, texts):
            return super().read(questions, texts)[1:]

    with pytest.raises(ValueError):
        disambig_f1(["x"], [STONES], Short({pair.text: "" for pair in STONES}))


def test_rouge_l_by_hand():
    # The longest common subsequence is 3 of 4 and 3 of 3 words.
    assert rouge_l("The dyes were blue.", ["dyes were blue"]) == pytest.approx(2 * 0.75 / 1.75)
    # The union over lines: both of the reference's sentences are found, in either order.
    assert rouge_l("Ben paints. Ada dyes.", ["Ada dyes. Ben paints."]) == 1.0
    # As one line only one of the sentences would be in sequence.
    assert rouge_l("Ben paints, Ada dyes.", ["Ada dyes, Ben paints."]) == 0.5
    # Stems are compared, and the better of the references counts alone.
    assert rouge_l("Ben paints.", ["Ada dyes.", "BEN PAINTED!"]) == 1.0
    assert rouge_l("", ["Ada dyes."]) == rouge_l("?", ["Ada dyes."]) == 0.0


def test_sentences_are_split_after_lowering():
    assert rouge_lines("Ada dyed. Ben painted?\n\nYes!") == "ada dyed.\nben painted?\nyes!"
    # In lower case a number with a point before a word that may go on is no end: Punkt takes it for an ordinal.
    assert rouge_lines("It was 1801. He left.") == "it was 1801. he left."


def test_dr():
    assert dr(0.42, 0.424) == pytest.approx(0.422, abs=5e-4)
    assert dr(0.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ("generator", "d_f1", "rouge", "published"),
    [("closed-book 70B", 36.4, 35.7, 36.0), ("DIVA GPT-3.5", 38.9, 42.1, 40.5), ("Self-RAG", 26.0, 35.4, 30.4)],
)
def test_dr_of_published_rows(generator, d_f1, rouge, published):
    # All three are rounded to a tenth.
    assert 100 * dr(d_f1 / 100, rouge / 100) == pytest.approx(published, abs=0.1)


PASSAGES = ["Ada was born in 1801.", "Ben paints.", "Ben, born 19001, paints.", "Eva comes from The Hague."]


def test_mrecall_needs_as_many_answers_as_can_be_had():
    # Found at k = 1: Ada's, of one needed. At 2: one of two. At 3 as a substring: two of three. At 4: all.
    assert [mrecall(PASSAGES, STONES, k) for k in (1, 2, 3, 4, 9)] == [1, 0, 0, 1, 1]
    assert [mrecall(PASSAGES, STONES, k, "token") for k in (1, 2, 3, 4, 9)] == [1, 0, 0, 0, 0]
    assert mrecall(PASSAGES, (ADA, EVA), 4, "token") == 1
    assert mrecall([], STONES, 5) == 0
    # One passage may hold all.
    assert mrecall(["1801, nineteen hundred, Hague"], STONES, 5) == 1


def test_the_matching_rules_differ_in_whole_tokens():
    assert covered(PASSAGES, STONES, "substring") == [True, True, True]
    assert covered(PASSAGES, STONES, "token") == [True, False, True]
    assert covered(["A nineteen hundredth part"], [BEN], "token") == [False]
    assert covered(["in nineteen\nhundred."], [BEN], "token") == [True]
    # An alias is not put together from the ends of two passages.
    assert covered(["nineteen", "hundred"], [BEN]) == [False]
    with pytest.raises(ValueError):
        covered(PASSAGES, STONES, "fuzzy")


def test_coverage_labels():
    assert coverage(PASSAGES, STONES) is Coverage.FULL
    assert coverage(PASSAGES[:2], STONES) is Coverage.PARTIAL
    assert coverage(PASSAGES[:2], (ADA,)) is Coverage.FULL
    assert coverage(PASSAGES[1:2], STONES) is Coverage.NONE
    assert coverage([], STONES) is Coverage.NONE


@given(st.lists(st.sampled_from([*PASSAGES, "nineteen hundred"]), max_size=6), st.integers(1, 6))
def test_recall_coverage_and_matching_agree(passages, k):
    assert mrecall(passages, STONES, k, "token") <= mrecall(passages, STONES, k)
    assert mrecall(passages, STONES, k) <= mrecall([*PASSAGES, *passages], STONES, k + len(PASSAGES))
    if coverage(passages[:k], STONES) is Coverage.FULL:
        assert mrecall(passages, STONES, k) == 1
    if coverage(passages[:k], STONES) is Coverage.NONE:
        assert mrecall(passages, STONES, k) == 0
    assert str_em(" ".join(passages), STONES) >= sum(covered(passages, STONES)) / 3


def test_set_f1_by_hand():
    gold = [("1801",), ("1900", "nineteen hundred")]
    assert set_f1(["1801", "Nineteen Hundred!"], gold) == 1.0
    assert set_f1(["1801"], gold) == pytest.approx(2 / 3)
    assert set_f1(["1801", "1801", "the 1801"], gold) == pytest.approx(2 / 3)  # equal answers are one
    assert set_f1(["1900", "nineteen hundred"], gold) == pytest.approx(2 / 4)  # aliases of one gold answer
    assert set_f1(["in 1801", "1900"], gold) == pytest.approx(2 / 4)  # a match is exact
    assert set_f1([], gold) == set_f1([" "], gold) == 0.0
    assert set_f1(["11"], [("11",), ("11",)]) == 1.0  # equal gold answers are one
    # One to one: what is taken can't be taken again.
    assert set_f1(["a1", "b1"], [("a1", "b1"), ("a1", "c1")]) == pytest.approx(2 * 1 / 4)


@pytest.mark.parametrize("gold", [[], [()], [("1801",), ()]])
def test_set_f1_needs_gold_answers(gold):
    with pytest.raises(RagError, match="without gold answers"):
        set_f1(["1801"], gold)


def test_questions_without_interpretations_have_no_score():
    for score in (
        lambda: str_em("x", ()),
        lambda: disambig_f1(["x"], [()], TableReader({})),
        lambda: coverage(["x"], ()),
        lambda: mrecall(["x"], (), 5),
    ):
        with pytest.raises(RagError, match="without interpretations"):
            score()
    with pytest.raises(RagError, match="at least one reference"):
        rouge_l("x", ())
    with pytest.raises(RagError, match="MRecall@0"):
        mrecall(["x"], STONES, 0)


class Fixed:
    """A system that always says the same."""

    def __init__(self, name, text):
        self.name = name
        self.text = text

    def answer(self, questions):
        return [Answer(question.id, self.text) for question in questions]


def test_the_scorer_runs_in_an_experiment():
    references = ("Ada Stone was born in 1801.", "Ada: 1801. Ben: 1900.")
    questions = [
        Question(i, "When was Stone born?", all_answers(STONES[:2]), interpretations=STONES[:2], references=references)
        for i in ("q1", "q2")
    ]
    reader = TableReader({ADA.text: "1801", BEN.text: "1801"})
    systems = [Fixed("full", "Ada: 1801. Ben: 1900."), Fixed("half", "1801")]
    rows = run_systems(systems, questions, AmbiguousScorer(reader))
    # Of "1801" the reference "Ada: 1801. Ben: 1900." holds one of four words: 2 * 1 / (1 + 4).
    found = rows.groupby("system")[["str_em", "d_f1", "rouge_l"]].mean()
    assert found.loc["full"].tolist() == [1.0, 0.5, 1.0]
    assert found.loc["half"].tolist() == [0.5, 0.5, pytest.approx(0.4)]
    assert len(reader.calls) == 2  # one batch a system
    table = summarise(rows, "half", samples=100, seed=0)
    assert set(table["metric"]) == {"str_em", "d_f1", "rouge_l"}


@pytest.mark.parametrize("lacks", ["interpretations", "references"])
def test_the_scorer_names_a_question_it_cannot_score(lacks):
    whole = {"interpretations": STONES, "references": ("x",)}
    question = Question("q7", "When was Stone born?", all_answers(STONES), **{**whole, lacks: ()})
    with pytest.raises(RagError, match="question 'q7' lacks interpretations or references"):
        AmbiguousScorer(TableReader({}))([question], [Answer("q7", "x")])
