"""Rows and summaries, against hand-computed values."""

import json
import math

import pandas as pd
import pytest

from rag.errors import RagError
from rag.experiment import MAIN_METRIC, run_systems, score_texts, summarise
from rag.types import Answer, Question, Task

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
    return run_systems([rag, ours], QUESTIONS)


def test_rows_hold_scores_and_ids(rows):
    ours = rows[rows["system"] == "ours"]
    assert ours["question_id"].tolist() == ["q0", "q1", "q2", "q3"]
    assert ours["task"].tolist() == ["short-answer"] * 4
    assert ours["accuracy"].tolist() == [1, 1, 0, 0]
    assert ours["exact_match"].tolist() == [0, 1, 0, 0]
    assert ours["token_f1"].tolist() == pytest.approx([2 * 2 / 6, 1, 2 * 1 / 3, 0])
    assert json.loads(ours["contexts"].iloc[0]) == ["p#0"]
    assert json.loads(ours["trace"].iloc[0]) == {"action": "correct"}


def test_the_main_metrics_are_the_papers():
    assert {task.value: metric for task, metric in MAIN_METRIC.items()} == {
        "short-answer": "accuracy",
        "biography": "factscore",
        "claim": "accuracy",
        "choice": "accuracy",
    }


def test_texts_are_scored_by_their_task():
    choices = {"A": "lead", "B": "ice"}
    questions = [
        Question("t", "Ice floats.", ("true",), task=Task.CLAIM),
        Question("c", "What floats?", ("B",), task=Task.CHOICE, choices=choices),
    ]
    answers = [Answer("t", "TRUE."), Answer("c", "A: lead")]
    assert score_texts(questions, answers) == [{"accuracy": 1.0}, {"accuracy": 0.0}]


def test_summary(rows):
    table = summarise(rows, "rag", samples=1000, seed=0)
    assert list(table.columns) == ["task", "system", "metric", "value", "ci_low", "ci_high", "n", "p"]
    accuracy = table[table["metric"] == "accuracy"].set_index("system")
    assert accuracy["value"].tolist() == [0.25, 0.5]
    assert accuracy["n"].tolist() == [4, 4]
    assert pd.isna(accuracy.loc["rag", "p"])
    assert accuracy.loc["ours", "p"] == 1.0  # one pair differs: nothing can be said
    assert (table["ci_low"] <= table["value"]).all() and (table["value"] <= table["ci_high"]).all()


def scored(scores, **columns):
    """Rows of one group: `scores` maps a system to its accuracies."""
    return pd.DataFrame(
        [
            {"task": "t", **columns, "system": system, "question_id": f"q{i}", "accuracy": value}
            for system, values in scores.items()
            for i, value in enumerate(values)
        ]
    )


def test_groups_are_compared_within_themselves():
    eight = [0.0] * 8
    rows = pd.concat(
        [
            scored({"rag": eight, "ours": [1.0] * 8}, generator="one", kept=0.5),
            scored({"rag": [1.0] * 8, "ours": [1.0] * 8}, generator="two", kept=0.5),
            scored({"alone": eight}, generator="one", kept=math.nan),
        ]
    )
    table = summarise(rows, "rag", samples=10_000, seed=0, by=("generator", "kept"))
    assert list(table.columns[:5]) == ["generator", "kept", "system", "metric", "value"]
    assert table["generator"].tolist() == ["one", "one", "two", "two", "one"]
    assert table["value"].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
    # Of 2^8 exchanges two are as far from zero as eight wins in a row.
    assert table["p"].tolist()[1] == pytest.approx(2 / 256, abs=0.003)
    assert table["p"].tolist()[3] == 1.0
    assert table["p"].isna().tolist() == [True, False, True, False, True]  # a group without the baseline has none
    assert pd.isna(table["kept"].iloc[4])  # and an empty value makes a group of its own


def test_answers_without_a_score_are_left_out():
    nan = math.nan
    rows = scored({"rag": [0.0, 1.0, nan, 1.0], "ours": [1.0, nan, 1.0, 1.0], "silent": [nan] * 4})
    table = summarise(rows, "rag", samples=100, seed=0).set_index("system")
    assert table["value"].to_dict() == pytest.approx({"rag": 2 / 3, "ours": 1.0})  # nothing is said of the silent one
    assert table["n"].to_dict() == {"rag": 3, "ours": 3}
    # Questions 0 and 3 have both scores; one pair differs.
    assert table.loc["ours", "p"] == 1.0
    apart = summarise(scored({"rag": [0.0, nan], "ours": [nan, 1.0]}), "rag", samples=100, seed=0).set_index("system")
    assert pd.isna(apart.loc["ours", "p"])


def test_unpaired_systems_are_refused(rows):
    with pytest.raises(RagError, match=r"ours and rag answered different questions of .*short-answer"):
        summarise(rows[rows["question_id"].ne("q1") | rows["system"].eq("rag")], "rag", samples=100, seed=0)


def test_a_system_that_drops_a_question_is_refused():
    class Dropping(Fixed):
        def answer(self, questions):
            return super().answer(questions)[1:]

    with pytest.raises(RagError, match="answered other questions"):
        run_systems([Dropping("d", ["x"] * 4)], QUESTIONS)
