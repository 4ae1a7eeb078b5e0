"""Rows and summaries, against hand-computed values."""

import json

import pandas as pd
import pytest

from rag.errors import RagError
from rag.experiment import run_systems, summarise
from rag.types import Answer, Question

QUESTIONS = [Question(f"q{i}", "Who?", ("Ada Stone",)) for i in range(4)]


class Fixed:
    """Answers from a list."""

    def __init__(self, name, texts):
        self.name = name
        self.texts = texts

    def answer(self, questions):
        return [
            Answer(q.id, text, ("p#0",), {"action": "correct"}) for q, text in zip(questions, self.texts, strict=True)
        ]


@pytest.fixture
def rows():
    rag = Fixed("rag", ["Ada Stone", "Ben", "Ben", "Ben"])
    ours = Fixed("ours", ["It was Ada Stone", "Ada Stone", "Ada", "Ben"])
    return run_systems("short", [rag, ours], QUESTIONS)


def test_rows_hold_scores_and_ids(rows):
    ours = rows[rows["system"] == "ours"]
    assert ours["accuracy"].tolist() == [1, 1, 0, 0]
    assert ours["exact_match"].tolist() == [0, 1, 0, 0]
    assert ours["token_f1"].tolist() == pytest.approx([2 * 2 / 6, 1, 2 * 1 / 3, 0])
    assert json.loads(ours["contexts"].iloc[0]) == ["p#0"]
    assert json.loads(ours["trace"].iloc[0]) == {"action": "correct"}


def test_summary(rows):
    table = summarise(rows, "rag", samples=1000, seed=0)
    assert list(table.columns) == ["task", "system", "metric", "value", "ci_low", "ci_high", "n", "p_vs_rag"]
    accuracy = table[table["metric"] == "accuracy"].set_index("system")
    assert accuracy["value"].tolist() == [0.25, 0.5]
    assert accuracy["n"].tolist() == [4, 4]
    assert pd.isna(accuracy.loc["rag", "p_vs_rag"])
    assert accuracy.loc["ours", "p_vs_rag"] == 1.0  # one pair differs: nothing can be said
    assert (table["ci_low"] <= table["value"]).all() and (table["value"] <= table["ci_high"]).all()


def test_unpaired_systems_are_refused(rows):
    with pytest.raises(RagError, match="different questions"):
        summarise(rows[rows["question_id"].ne("q1") | rows["system"].eq("rag")], "rag", samples=100, seed=0)


def test_a_system_that_drops_a_question_is_refused():
    class Dropping(Fixed):
        def answer(self, questions):
            return super().answer(questions)[1:]

    with pytest.raises(RagError, match="answered other questions"):
        run_systems("short", [Dropping("d", ["x"] * 4)], QUESTIONS)
