"""The tables and figures of the CRAG notebooks, by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from crag.actions import Thresholds
from crag.analysis import by_action, judge
from crag.figures import accuracy_by_action, score_histogram
from crag.pairs import LabelledPair, Pair
from rag.figures import recall_curves, system_bars


class ByText:
    """Scores a text by the number in it."""

    def score(self, pairs):
        return np.array([float(pair.text) for pair in pairs])


def labelled(score, label):
    return LabelledPair(Pair("q", "t", str(score)), label, "q1", f"p{score}")


def test_judge_by_hand():
    dev = [labelled(-0.8, -1.0), labelled(0.2, -1.0), labelled(0.6, 1.0)]  # cuts from 0.2 to 0.6 are right: 0.4
    test = [labelled(0.9, 1.0), labelled(0.3, 1.0), labelled(0.5, -1.0), labelled(-0.9, -1.0)]
    table, rows = judge({"by-text": ByText()}, dev, test)
    row = table.iloc[0]
    assert row["cut"] == pytest.approx(0.4, abs=0.03)
    # 0.9 right, 0.3 missed, 0.5 a false alarm, -0.9 right.
    assert row["accuracy"] == 0.5
    assert row["f1"] == 0.5  # one hit, one miss, one false alarm
    assert row["roc_auc"] == 0.75  # three of the four (relevant, other) pairs are in order
    assert (row["n"], row["relevant"]) == (4, 0.5)
    assert rows["score"].tolist() == [0.9, 0.3, 0.5, -0.9]
    assert rows["passage_id"].tolist() == ["p0.9", "p0.3", "p0.5", "p-0.9"]


@pytest.fixture
def rows():
    actions = {"a": "correct", "b": "correct", "c": "incorrect"}
    accuracy = {"rag": {"a": 1.0, "b": 0.0, "c": 0.0}, "crag": {"a": 1.0, "b": 1.0, "c": 0.0}}
    return pd.DataFrame(
        [
            {
                "system": system,
                "question_id": question,
                "accuracy": accuracy[system][question],
                "covered": question != "c",
                "trace": json.dumps({"action": actions[question]} if system == "crag" else {}),
            }
            for system in accuracy
            for question in actions
        ]
    )


def test_by_action_by_hand(rows):
    table = by_action(rows, samples=200, seed=0).set_index(["action", "system"])
    assert table.loc[("correct", "rag"), "value"] == 0.5
    assert table.loc[("correct", "crag"), "value"] == 1.0
    assert table.loc[("incorrect", "crag"), "value"] == 0.0
    assert table["n"].to_dict() == {
        ("correct", "rag"): 2,
        ("incorrect", "rag"): 1,
        ("correct", "crag"): 2,
        ("incorrect", "crag"): 1,
    }
    assert table.loc[("incorrect", "rag"), "covered"] == 0.0


def test_figures_show_what_the_tables_hold(rows):
    axes = accuracy_by_action(by_action(rows, samples=200, seed=0)).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["correct\nn = 2", "incorrect\nn = 1"]
    assert [bar.get_height() for bars in axes.containers if hasattr(bars, "patches") for bar in bars] == [0.5, 0, 1, 0]
    summary = pd.DataFrame(
        {"system": ["x", "y"], "metric": "accuracy", "value": [0.25, 0.5], "ci_low": [0.2, 0.4], "ci_high": [0.3, 0.6]}
    )
    assert [bar.get_height() for bar in system_bars(summary, "accuracy").axes[0].patches] == [0.25, 0.5]
    curve = recall_curves(pd.DataFrame({"retriever": "bm25", "k": [1, 5], "recall": [0.2, 0.6]})).axes[0].lines[0]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([1, 5], [0.2, 0.6])
    scores = pd.DataFrame({"score": [0.9, -0.9, -0.8], "label": [1.0, -1.0, -1.0]})
    axes = score_histogram(scores, Thresholds(0.5, -0.5)).axes[0]
    assert sorted(line.get_xdata()[0] for line in axes.lines) == [-0.5, 0.5]
