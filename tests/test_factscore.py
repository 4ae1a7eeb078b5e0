"""FActScore against hand-computed values, on fakes that show what each stage sees."""

import math

import numpy as np
import pandas as pd
import pytest

from rag.errors import RagError
from rag.experiment import run_systems, summarise
from rag.prompts import answer_prompt
from rag.scoring.factscore import (
    FactScorer,
    GeneratorJudge,
    GeneratorSplitter,
    RuleSplitter,
    ScoreJudge,
    abstains,
    agreement,
    choose_evidence,
    length_penalty,
)
from rag.types import Answer, Completion, Passage, Question, Task

ADA = Question("b1", "Tell me of Ada Stone.", ("Ada Stone",), "Ada_Stone", task=Task.BIOGRAPHY)
BEN = Question("b2", "Tell me of Ben Stone.", ("Ben Stone",), task=Task.BIOGRAPHY)  # published: names no article
PAGES = {
    "Ada_Stone": [Passage("Ada_Stone#0", "Ada Stone", "Ada Stone was a chemist. She was born in 1801.")],
    "Ben_Stone": [Passage("Ben_Stone#0", "Ben Stone", "Ben Stone was a painter.")],
}


class SubstringJudge:
    """Calls a fact true if what follows its subject stands in the evidence."""

    identity = {"judge": "substring"}

    def __init__(self):
        self.calls = []

    def judge(self, facts, evidence):
        self.calls.append(list(facts))
        texts = [" ".join(passage.text for passage in own) for own in evidence]
        return np.array([" ".join(f.rstrip(".").split()[2:]) in text for f, text in zip(facts, texts, strict=True)])


class LetterEncoder:
    """Vectors of letter counts; remembers the size of each call."""

    def __init__(self):
        self.calls = []

    def encode(self, texts):
        self.calls.append(len(texts))
        counts = np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


class Scripted:
    """A generator that writes what its table says of the last line but one, and weighs words by what a prompt holds."""

    identity = {"model": "scripted"}

    def __init__(self, table=(), chances=None):
        self.table = dict(table)
        self.chances = chances
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [Completion(self.table.get(p.splitlines()[-2].removeprefix("Sentence: "), ""), 1, 1) for p in prompts]

    def next_word_probabilities(self, prompts, words):
        self.prompts += prompts
        assert list(words) == ["true", "false"]
        return np.array([self.chances(prompt) for prompt in prompts]).reshape(len(prompts), 2)


def make_scorer(judge=None):
    return FactScorer(RuleSplitter(), judge or SubstringJudge(), PAGES, LetterEncoder())


def answers(*texts):
    return [Answer(question.id, text) for question, text in zip((ADA, BEN), texts, strict=False)]


@pytest.mark.parametrize(
    ("facts", "penalty"),
    [(1, math.exp(-9)), (2, math.exp(-4)), (5, 0.3679), (9, math.exp(-1 / 9)), (10, 1.0), (11, 1.0), (40, 1.0)],
)
def test_length_penalty(facts, penalty):
    assert length_penalty(facts) == pytest.approx(penalty, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Ada Stone was a chemist.", ["Ada Stone was a chemist."]),
        ("She was born in 1801 and died in 1870.", ["Ada Stone was born in 1801.", "Ada Stone died in 1870."]),
        (
            "Ada Stone (1801–1870) was a chemist; she won a medal, and later became a nun.",
            ["Ada Stone (1801–1870) was a chemist.", "Ada Stone won a medal.", "Ada Stone later became a nun."],
        ),
        ("Stone studied dyes and was poor.", ["Stone studied dyes.", "Stone was poor."]),
        # A list, another subject, a subordinate clause: not cut.
        ("She was a chemist and teacher.", ["Ada Stone was a chemist and teacher."]),
        ("Her brother was rich and died young.", ["Ada Stone's brother was rich and died young."]),
        ("Ada Stone met a man who was rich and died.", ["Ada Stone met a man who was rich and died."]),
        ("Ada Stone was a nun when he was king and died.", ["Ada Stone was a nun when he was king and died."]),
        ("In 1830 Ada Stone was ill and died.", ["In 1830 Ada Stone was ill and died."]),
        # Said twice; cut off at the end.
        ("Ada Stone was a nun. She was a nun. She liked", ["Ada Stone was a nun."]),
        ("Ada Stone was a", ["Ada Stone was a"]),
        ("", []),
        ("...", []),
    ],
)
def test_rule_splitter(text, facts):
    assert RuleSplitter().split([text], ["Ada Stone"]) == [facts]


def test_rule_splitter_knows_entities_in_brackets_and_of_one_word():
    texts = ["Suthida was born in 1978 and became queen.", "Matt Hunter was a singer and died."]
    assert RuleSplitter().split(texts, ["Suthida", "Matt Hunter (singer)"]) == [
        ["Suthida was born in 1978.", "Suthida became queen."],
        ["Matt Hunter was a singer.", "Matt Hunter died."],
    ]


def test_generator_splitter_asks_each_sentence_and_keeps_one_without_facts():
    table = {
        "Ada Stone was a poor chemist.": "Facts: Ada Stone was poor. | Ada Stone was a chemist. || Ada Stone was poor.",
        "Ben Stone was old.": "|".join(f"Fact {i}." for i in range(20)),
    }
    generator = Scripted(table)
    texts = ["She was a poor chemist. She liked dyes.", "Ben Stone was old.", ""]
    facts = GeneratorSplitter(generator).split(texts, ["Ada Stone", "Ben Stone", "Eva Lind"])
    assert facts == [
        ["Ada Stone was poor.", "Ada Stone was a chemist.", "Ada Stone liked dyes."],
        [f"Fact {i}." for i in range(8)],
        [],
    ]
    assert len(generator.prompts) == 3
    assert generator.prompts[0].endswith("Sentence: Ada Stone was a poor chemist.\nFacts:")


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I'm sorry, but I cannot help.", True),
        ("I do not have any facts on Ada Stone.", True),
        ("As an AI, I can't tell.", True),
        ("I don’t know who that is.", True),
        ("Ada Stone was a chemist. I do not know more.", False),
        ("Ada Stone was sorry, and as an aide she served.", False),
        ("", False),
    ],
)
def test_abstains(text, refused):
    assert abstains(text) is refused


def test_scores_by_hand():
    # Of Ada's four facts three are on her page; of Ben's one, none.
    ada = "Ada Stone was a chemist. She was born in 1801 and died in 1900. Ada Stone was born in 1801. She was a"
    scores = make_scorer()([ADA, BEN], answers(ada, "Ben Stone was a poet."))
    assert scores == [
        {"factscore": pytest.approx(2 / 3 * math.exp(1 - 10 / 3)), "precision": 2 / 3, "facts": 3, "abstained": 0},
        {"factscore": 0.0, "precision": 0.0, "facts": 1, "abstained": 0},
    ]


def test_all_facts_are_judged_in_one_call_and_alone_as_together():
    texts = "Ada Stone was a chemist. She was old.", "Ben Stone was a painter."
    judge = SubstringJudge()
    together = make_scorer(judge)([ADA, BEN], answers(*texts))
    assert judge.calls == [["Ada Stone was a chemist.", "Ada Stone was old.", "Ben Stone was a painter."]]
    alone = [make_scorer()([q], [Answer(q.id, text)])[0] for q, text in zip((ADA, BEN), texts, strict=True)]
    assert together == alone
    assert make_scorer()([], []) == []


@pytest.mark.parametrize("text", ["", "I'm sorry, I do not know Ada Stone. She was a chemist."])
def test_an_abstention_has_no_score(text):
    (scores,) = make_scorer()([ADA], answers(text))
    assert math.isnan(scores["factscore"]) and math.isnan(scores["precision"])
    assert (scores["facts"], scores["abstained"]) == (0, 1)


def test_abstentions_are_left_out_of_the_mean():
    class Fixed:
        def __init__(self, name, *texts):
            self.name, self.texts = name, texts

        def answer(self, questions):
            return answers(*self.texts)

    ada, ben = "Ada Stone was a chemist.", "Ben Stone was a painter."
    rows = run_systems([Fixed("rag", ada, ben), Fixed("shy", "", ben)], [ADA, BEN], make_scorer())
    assert rows["abstained"].tolist() == [0, 0, 1, 0]
    table = summarise(rows, "rag", samples=100, seed=0).set_index(["system", "metric"])
    found = table.loc[[("rag", "factscore"), ("shy", "factscore")]]
    assert found["value"].tolist() == pytest.approx([math.exp(-9)] * 2)
    assert found["n"].tolist() == [2, 1]
    assert pd.isna(found["p"].iloc[0]) and found["p"].iloc[1] == 1.0


def test_what_cannot_be_checked_is_refused():
    stranger = Question("b3", "Tell me of Eva Lind.", ("Eva Lind",), task=Task.BIOGRAPHY)
    with pytest.raises(RagError, match="no page 'Eva_Lind' to check 'b3' by"):
        make_scorer()([stranger], [Answer("b3", "Eva Lind was a writer.")])
    with pytest.raises(RagError, match="'s' is of task short-answer"):
        make_scorer()([Question("s", "Who?", ("Ada",))], [Answer("s", "Ada")])


def test_evidence_is_the_five_nearest_passages_in_page_order():
    page = [Passage(f"p#{i}", "", letters) for i, letters in enumerate("aaxx bbbb axxx aaaa zzzz aaax xxxa".split())]
    short = page[:5]
    encoder = LetterEncoder()
    evidence = choose_evidence(["aa", "aa", "aaa"], [page, short, page], encoder)
    # Cosines with "a": .71, 0, .32, 1, 0, .95, .32; "p#1" and "p#4" are the farthest.
    assert [[passage.id for passage in own] for own in evidence] == [
        ["p#0", "p#2", "p#3", "p#5", "p#6"],
        [f"p#{i}" for i in range(5)],
        ["p#0", "p#2", "p#3", "p#5", "p#6"],
    ]
    assert encoder.calls == [7 + 2]  # one call; each text once
    choose_evidence(["aa"], [short], encoder)
    assert encoder.calls == [9]  # short pages need no encoder


def test_generator_judge_asks_the_prompt_of_claims():
    generator = Scripted(chances=lambda prompt: (0.4, 0.1) if prompt.endswith("a chemist.") else (0.2, 0.2))
    judge = GeneratorJudge(generator)
    facts = ["Ada Stone was a chemist.", "Ada Stone was a nun."]
    assert judge.judge(facts, [PAGES["Ada_Stone"]] * 2).tolist() == [True, False]
    claim = Question("c", facts[0], ("true",), task=Task.CLAIM)
    assert generator.prompts[0] == answer_prompt(claim, f"Ada Stone: {PAGES['Ada_Stone'][0].text}")
    assert judge.judge([], []).tolist() == []
    silent = GeneratorJudge(Scripted(chances=lambda _: (0.0, 0.0)))
    with pytest.raises(RagError, match="neither true nor false likely for 'Ada Stone was a chemist.'"):
        silent.judge(facts, [PAGES["Ada_Stone"]] * 2)


def test_score_judge_takes_the_best_passage():
    pages = [[Passage(f"p#{i}", "", text) for i, text in enumerate(texts)] for texts in (["-.5", ".2"], [".1"], [])]
    seen = []

    def score(pairs):
        seen.append([(fact, passage.text) for fact, passage in pairs])
        return np.array([float(passage.text) for _, passage in pairs])

    judge = ScoreJudge(score, 0.2, {"model": "m"})
    assert judge.judge(["a", "b", "c"], pages).tolist() == [True, False, False]
    assert seen == [[("a", "-.5"), ("a", ".2"), ("b", ".1")]]
    assert judge.judge([], []).tolist() == []
    assert judge.identity == {"judge": "score", "cut": 0.2, "model": "m"}
    for broken in (lambda pairs: np.zeros(1), lambda pairs: np.full(len(pairs), np.nan)):
        with pytest.raises(RagError, match="scores, or a NaN, for 3 pairs"):
            ScoreJudge(broken, 0.2, {}).judge(["a", "b", "c"], pages)


def test_agreement_by_hand():
    texts = {"Ada Stone was a chemist.": "true", "Ada Stone was a nun.": "false", "Ada Stone is born in 1801.": "true"}
    claims = [Question(str(i), t, (gold,), task=Task.CLAIM) for i, (t, gold) in enumerate(texts.items())]
    found = agreement(SubstringJudge(), claims, [PAGES["Ada_Stone"]] * 3, samples=500, seed=0)
    assert found["value"] == pytest.approx(2 / 3)  # "is born" is not on the page
    assert (found["true"], found["judged_true"], found["n"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3), 3)
    assert 0 <= found["ci_low"] < 2 / 3 < found["ci_high"] <= 1
    with pytest.raises(RagError, match="claims that are true or false"):
        agreement(SubstringJudge(), [ADA], [[]], samples=500, seed=0)
    with pytest.raises(RagError, match="at least one"):
        agreement(SubstringJudge(), [], [], samples=500, seed=0)
