"""DIVA on data from outside: tables on hand-made documents and passages, and the loaders on the real files."""

import json

import numpy as np
import pandas as pd
import pytest
from diva_fakes import (
    ADA,
    ADA_BORN,
    BEN,
    BEN_BORN,
    BORN,
    SEA,
    CountingRetriever,
    WordEncoder,
    WritingGenerator,
    ambiguous,
)

from diva.diversification import diversify
from diva.external import (
    GivenDocuments,
    Parts,
    asqa_rows,
    load_asqa,
    pruning_rows,
    pruning_table,
    ramdocs_rows,
    ramdocs_scorer,
    verification_rows,
    verification_table,
    without_giveaways,
)
from diva.generation import PerInterpretationWriter
from diva.interpretation import Interpreted
from diva.verification import GeneratorVerifier, Usefulness, Verdict, Verified
from rag.datasets.published import DocumentSet
from rag.errors import RagError
from rag.experiment import summarise
from rag.external import VARIABLE, draw, external_run
from rag.scoring.readers import LexicalReader
from rag.types import Answer, Passage, Question, Task

SAMPLES = {"samples": 200, "seed": 0}


def document_set(question, documents, wrong=()):
    """A question with documents, each its kind and text."""
    passages = tuple(Passage(f"{question.id}#{i}", "", text) for i, (_, text) in enumerate(documents))
    return DocumentSet(question, passages, tuple(kind for kind, _ in documents), tuple(wrong))


class CosineEncoder:
    """A text that is a number lies at that cosine to every other text."""

    name = "cosines"

    def __init__(self):
        self.calls = 0

    def encode(self, texts):
        self.calls += 1
        cosines = [float(text) if text.strip()[:1].isdigit() else 1.0 for text in texts]
        return np.array([[cosine, np.sqrt(1 - cosine**2)] for cosine in cosines])


def test_pruning_is_measured_by_shares_kept_and_areas():
    seven = document_set(
        ambiguous("seven", "Who?", ("Who is Ada?", "Ada"), ("Who is Ben?", "Ben")),
        [
            *(("correct", "0.3"), ("noise", "0.1"), ("correct", "0.9"), ("misinfo", "0.8")),
            *(("noise", "0.2"), ("noise", "0.6"), ("noise", "0.5")),
        ],
    )
    six = document_set(
        ambiguous("six", "When?", ("When was it?", "then")),
        [("correct", "0.1"), *(("noise", f"0.{i}") for i in range(2, 7))],
    )
    two = document_set(ambiguous("two", "Where?", ("Where is it?", "here")), [("correct", "0.4"), ("noise", "0.4")])
    encoder = CosineEncoder()
    rows = pruning_rows([seven, six, two], encoder)
    assert encoder.calls == 1
    assert rows.columns.tolist() == ["question_id", "passage_id", "kind", "score", "kept"]
    assert rows.loc[rows["question_id"] == "seven", "score"].tolist() == [0.9, 0.8, 0.6, 0.5, 0.3, 0.2, 0.1]
    table = pruning_table(rows, **SAMPLES).set_index(["metric", "documents"])
    expected = {
        # Of seven: both correct ones, the misinformation and two of four. Of six: the noise alone. Two are too few to prune.
        ("kept", "correct"): ((1 + 0) / 2, 2, (5 / 7 + 5 / 6) / 2),
        ("kept", "misinfo"): (1, 1, 5 / 7),
        ("kept", "noise"): ((0.5 + 1) / 2, 2, (5 / 7 + 5 / 6) / 2),
        # 0.9 is above 0.8, 0.3 is not.
        ("auc", "correct against misinfo"): (0.5, 1, 0.5),
        # Of seven 0.9 beats four, 0.3 two; of six none is beaten; of two there is a tie.
        ("auc", "correct against noise"): ((6 / 8 + 0 + 0.5) / 3, 3, 0.5),
    }
    assert set(table.index) == set(expected)
    for key, numbers in expected.items():
        assert table.loc[key, ["value", "n", "chance"]].tolist() == pytest.approx(numbers), key
    assert (table["ci_low"] <= table["value"]).all() and (table["value"] <= table["ci_high"]).all()


STONES = document_set(
    BORN,
    [
        ("correct", ADA.text),
        ("noise", "Log in to read."),
        ("misinfo", "Ada Stone was born in 1802."),
        ("correct", BEN.text),
        ("noise", "All rights reserved."),
    ],
    wrong=("1802", "1803", "1803.", "1900"),
)
QUIET = document_set(ambiguous("quiet", "Who is Cy?", ("Who is the king Cy?", "Cy")), [("correct", "Cy is king.")])
ADA_DOCUMENT, LOG_IN, MISINFO, BEN_DOCUMENT, RIGHTS = STONES.passages


def yes(prompt):
    """Ada's birth is told by her document. Ben's is not by his, and what is noise tells it a little better."""
    if "Log in" in prompt:
        return (0.3, 0.7)
    return (0.9, 0.1) if prompt.endswith(ADA_BORN) else (0.2, 0.8)


def test_verification_sees_correct_documents_and_noise_apart():
    generator = WritingGenerator(yes=yes)
    rows = verification_rows([STONES, QUIET], GeneratorVerifier(generator))
    (prompts,) = generator.judged
    read = [[passage.text in prompt for passage in STONES.passages] for (prompt,) in prompts]
    assert read == [
        [True, False, False, False, False],
        [False, True, False, False, True],
        [False, False, False, True, False],
        [False, True, False, False, True],
    ]
    # The other question has no noise.
    assert rows.to_dict("list") == {
        "question_id": ["born", "born"],
        "interpretation": [0, 1],
        "correct_documents": [1, 1],
        "correct_chance": [0.9, 0.2],
        "correct_yes": [1.0, 0.0],
        "noise_documents": [2, 2],
        "noise_chance": [0.3, 0.3],
        "noise_yes": [0.0, 0.0],
    }
    table = verification_table(rows, **SAMPLES).set_index("metric")
    assert table["n"].tolist() == [2] * 4
    assert table["value"].to_dict() == {"auc": 0.5, "yes on correct": 0.5, "yes on noise": 0.0, "roc_auc": 0.5}


def test_areas_of_verification_are_within_interpretations_and_over_all():
    # Within them a tie and one above; over all 0.9 ties and beats, 0.2 loses and beats.
    rows = pd.DataFrame(
        {"correct_chance": [0.9, 0.2], "noise_chance": [0.9, 0.1], "correct_yes": [1.0, 0.0], "noise_yes": [1.0, 0.0]}
    )
    table = verification_table(rows, **SAMPLES).set_index("metric")
    assert table.loc["auc", "value"] == (0.5 + 1) / 2
    assert table.loc["roc_auc", "value"] == (0.5 + 1 + 0 + 1) / 4
    with pytest.raises(RagError, match="take more questions"):
        verification_table(rows.iloc[:0], **SAMPLES)


def test_a_verdict_stands_for_a_chance_that_is_not_given():
    class Sure:
        def verify(self, candidates, kept):
            told = [Verdict(own.pool[0] != LOG_IN) for own in candidates]
            return [Verified(Usefulness.USEFUL if own.answered else Usefulness.USELESS, (own,)) for own in told]

    rows = verification_rows([STONES], Sure())
    assert rows["correct_chance"].tolist() == [1.0, 1.0] and rows["noise_chance"].tolist() == [0.0, 0.0]


def test_documents_are_given_in_their_order_for_each_text_of_their_question():
    given = GivenDocuments([STONES, QUIET])
    found = given.retrieve([BORN.text, BEN_BORN, "Who is the king Cy?"], 3)
    assert [[hit.passage for hit in hits] for hits in found] == [
        [ADA_DOCUMENT, LOG_IN, MISINFO],
        [ADA_DOCUMENT, LOG_IN, MISINFO],
        list(QUIET.passages),
    ]
    # Fused over interpretations they keep their order.
    (candidates,) = diversify([[ADA_BORN, BEN_BORN]], given, 5, 5)
    assert candidates.pool == STONES.passages
    # Nine words, then four.
    assert [hit.passage for hit in GivenDocuments([STONES], 13).retrieve([ADA_BORN], 5)[0]] == [ADA_DOCUMENT, LOG_IN]
    assert [hit.passage for hit in GivenDocuments([STONES], 12).retrieve([ADA_BORN], 5)[0]] == [ADA_DOCUMENT]
    with pytest.raises(RagError, match=r"no documents are given for 'Who else\?'"):
        given.retrieve(["Who else?"], 3)
    with pytest.raises(RagError, match="documents are given twice for 'When was .*: a text is of one question"):
        GivenDocuments([STONES, STONES])


def test_wrong_answers_are_counted_once_and_never_where_they_are_right():
    questions = [STONES.question, QUIET.question]
    answers = [Answer("born", "Born in 1802 or in 1900."), Answer("quiet", "Cy")]
    stones, quiet = ramdocs_scorer([STONES, QUIET])(questions, answers)
    assert stones == {"str_em": 0.5, "wrong_answers": 0.5}  # of 1802 and 1803
    assert quiet["str_em"] == 1.0 and np.isnan(quiet["wrong_answers"])


def test_sets_whose_interpretations_tell_an_answer_are_left_out():
    told = ambiguous("told", "Where is the hall?", ("Where is the hall? (Leeds)", "Leeds"), ("Where else?", "York"))
    wrong = ambiguous("wrong", "Where is the hall?", ("Where is the hall? (Leeds)", "York"))
    sets = [STONES, document_set(told, [("correct", "x")]), document_set(wrong, [("correct", "x")], wrong=["Leeds"])]
    assert without_giveaways(sets) == [STONES]


def write(prompt):
    if "Text:" not in prompt:
        return "1803"
    return "1801, 1802" if "every meaning" in prompt else "yes: 1801" if prompt.endswith(ADA_BORN) else "yes: 1900"


def make_parts(generator):
    encoder = WordEncoder("stone", "born", "chemist", "painter")
    return Parts(encoder, GeneratorVerifier(generator), PerInterpretationWriter(generator, generator), generator)


def test_ramdocs_rows_hold_no_texts():
    rows = ramdocs_rows([STONES], make_parts(WritingGenerator(write)))
    assert rows["system"].tolist() == ["closed-book", "rag", "diva"]
    assert rows["str_em"].tolist() == [0.0, 0.5, 1.0]
    assert rows["wrong_answers"].tolist() == [0.5, 0.5, 0.0]
    # Standard reading takes the documents as they come, DIVA by S(p), both all five.
    assert json.loads(rows["contexts"][1]) == [passage.id for passage in STONES.passages]
    assert sorted(json.loads(rows["contexts"][2])) == sorted(passage.id for passage in STONES.passages)
    assert json.loads(rows["contexts"][2])[-2:] == [LOG_IN.id, RIGHTS.id]
    assert rows.loc[2, ["usefulness", "written", "calls"]].tolist() == ["useful", "joined by rule", 4]
    assert not {"output", "trace"} & set(rows.columns)
    text = rows.to_csv()
    assert not any(told in text for told in ("Stone was", "Log in", BORN.text, ADA_BORN, "1801", "1803"))
    table = summarise(rows, "rag", **SAMPLES)
    assert set(table["metric"]) == {"str_em", "wrong_answers"} and set(table["n"]) == {1}


ASKED = Question(
    "asqa",
    BORN.text,
    BORN.answers,
    task=Task.AMBIGUOUS,
    interpretations=BORN.interpretations,
    references=("Ada Stone was born in 1801 and Ben Stone in 1900.",),
)


class AdaInterpreter:
    """Thinks of Ada Stone alone."""

    def interpret(self, questions):
        return [Interpreted((ADA_BORN,)) for _ in questions]


def test_asqa_rows_compare_what_is_found_and_what_is_answered():
    spurious = Passage("War#0", "War", "It was number 18010 of 1900 ships.")
    retriever = CountingRetriever({BORN.text: [spurious, SEA], ADA_BORN: [ADA], BEN_BORN: [BEN]})
    generator = WritingGenerator(write)
    rows = asqa_rows([ASKED], retriever, AdaInterpreter(), make_parts(generator), LexicalReader())
    assert rows["system"].tolist() == ["rag", "diva", "gold interpretations", "closed-book"]
    # As a substring 1801 is in 18010.
    assert rows["mrecall_substring"].tolist()[:3] == [1.0, 0.0, 1.0]
    assert rows["mrecall_token"].tolist()[:3] == [0.0, 0.0, 1.0]
    assert [sorted(json.loads(ids)) for ids in rows["retrieved"].dropna()] == [
        ["Sea#0", "War#0"],
        ["Ada_Stone#0"],
        ["Ada_Stone#0", "Ben_Stone#0"],
    ]
    assert rows["str_em"].tolist()[:2] == [0.5, 0.5] and np.isnan(rows["str_em"][2])
    assert set(rows["reader"]) == {"lexical"}
    assert not any(told in rows.to_csv() for told in ("ships", "chemist", BORN.text, "1801"))
    table = summarise(rows, "rag", **SAMPLES, by=["reader"])
    assert table.groupby("system")["metric"].agg(sorted).to_dict() == {
        "rag": ["d_f1", "mrecall_substring", "mrecall_token", "rouge_l", "str_em"],
        "diva": ["d_f1", "mrecall_substring", "mrecall_token", "rouge_l", "str_em"],
        "gold interpretations": ["mrecall_substring", "mrecall_token"],
        "closed-book": ["d_f1", "rouge_l", "str_em"],
    }
    # Both years stand in what the question itself finds.
    assert rows["coverage"].tolist() == ["full"] * 4


def asqa_row(key, answer, *titles):
    return {
        "id": key,
        "question": "When was Stone born?",
        "qa_pairs": [{"question": f"When was {key}?", "short_answers": [answer]}],
        "annotations": [],
        "wikipages": [{"title": title} for title in titles],
    }


def test_asqa_questions_need_a_passage_of_their_own_page_with_an_answer(tmp_path):
    path = tmp_path / "asqa.jsonl"
    rows = [
        asqa_row("own", "1801", "Nowhere", "Ada Stone"),
        asqa_row("part of a token", "180", "Ada Stone"),
        asqa_row("another page", "1801", "Ben Stone"),
        asqa_row("no page", "1801"),
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [question.id for question in load_asqa(path, [ADA, BEN])] == ["own"]
    with pytest.raises(RagError, match=r"no question of asqa\.jsonl has a passage"):
        load_asqa(path, [SEA])
    path.write_text(json.dumps({**rows[0], "wikipages": None}), encoding="utf-8")
    with pytest.raises(RagError, match=r"asqa\.jsonl, row 1: a row of ASQA needs id and wikipages"):
        load_asqa(path, [ADA])


def test_the_command_line_of_external_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr("sys.argv", ["external"])
    run = external_run("About.", 7)
    assert (run.profile, run.questions, run.folder) == ("full", 7, tmp_path)
    monkeypatch.setattr("sys.argv", ["external", "mini", "--questions", "3"])
    run = external_run("About.")
    assert (run.profile, run.questions) == ("mini", 3)
    monkeypatch.setattr("sys.argv", ["external", "--questions", "0"])
    with pytest.raises(SystemExit):
        external_run("About.")
    assert "--questions is 0" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["external"])
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="none, which is no folder"):
        external_run("About.")
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(SystemExit, match=f"set {VARIABLE} to the folder"):
        external_run("About.")


def test_a_draw_does_not_depend_on_the_order_or_on_other_rows():
    ids = [str(i) for i in range(20)]
    drawn = draw(ids, 5, str)
    assert len(set(drawn)) == 5 and drawn != ids[:5]
    assert draw(ids[::-1], 5, str) == drawn
    assert draw([i for i in ids if i not in drawn[:2]], 3, str) == drawn[2:]
    assert sorted(draw(ids, None, str)) == sorted(ids)
