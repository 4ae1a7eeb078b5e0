"""The tables and figures of the CRAG notebooks, by hand."""

import json
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from crag.analysis import by_action, judge, judge_all, pairs_per_second, training_cost
from crag.evaluator import CachedEvaluator, FineTunedEvaluator
from crag.figures import (
    ablation_dots,
    accuracy_by_action,
    loss_curves,
    main_bars,
    robustness_lines,
    score_histogram,
)
from crag.pairs import LabelledPair, Pair, sample_pairs
from crag.paper import load_paper
from crag.training import RECORD, TrainingRecord
from rag.cache import Cache
from rag.errors import RagError
from rag.figures import recall_curves


class ByText:
    """Scores a text by the number in it."""

    identity = {"evaluator": "by text"}

    def __init__(self):
        self.asked = []

    def score(self, pairs):
        self.asked.append(len(pairs))
        return np.array([float(pair.text) for pair in pairs])


def labelled(score, label):
    return LabelledPair(Pair("q", "t", str(score)), label, "q1", f"p{score}")


DEV = [labelled(-0.8, -1.0), labelled(0.2, -1.0), labelled(0.6, 1.0)]  # cuts from 0.2 to 0.6 are right: 0.4
TEST = [labelled(0.9, 1.0), labelled(0.3, 1.0), labelled(0.5, -1.0), labelled(-0.9, -1.0)]


def test_judge_by_hand():
    table, rows = judge({"fine-tuned": ByText(), "other": ByText()}, DEV, TEST, samples=500, seed=0)
    row = table.iloc[0]
    assert row["cut"] == pytest.approx(0.4)
    # 0.9 right, 0.3 missed, 0.5 a false alarm, -0.9 right.
    assert (row["metric"], row["value"]) == ("accuracy", 0.5)
    # Means of four draws from 0 and 1: one of all-zero has a chance of 1/16, above 2.5 %.
    assert (row["ci_low"], row["ci_high"]) == (0.0, 1.0)
    assert row["f1"] == 0.5  # one hit, one miss, one false alarm
    assert row["roc_auc"] == 0.75  # three of the four (relevant, other) pairs are in order
    assert (row["n"], row["relevant"]) == (4, 0.5)
    assert (row["trainable_params"], row["train_s"]) == (0, 0.0)
    assert row["paper"] == pytest.approx(0.843)
    assert np.isnan(table.iloc[1]["paper"])
    assert rows["score"].tolist()[:4] == [0.9, 0.3, 0.5, -0.9]
    assert rows["passage_id"].tolist()[:4] == ["p0.9", "p0.3", "p0.5", "p-0.9"]


def test_the_published_judgements():
    assert load_paper()["evaluator"] == {
        "fine-tuned": 84.3,
        "llm-plain": 58.0,
        "llm-step-by-step": 62.4,
        "llm-few-shot": 64.7,
    }


@pytest.mark.parametrize(("dev", "test", "which"), [(DEV[:2], TEST, "dev"), (DEV, TEST[:2], "test"), (DEV, [], "test")])
def test_pairs_of_one_label_are_no_test(dev, test, which):
    with pytest.raises(RagError, match=f"the {which} pairs are not of both labels"):
        judge({"x": ByText()}, dev, test, samples=100, seed=0)


def test_slow_judges_see_a_sample_and_the_others_see_it_too():
    dev = [labelled(i / 100, 1.0 if i > 20 else -1.0) for i in range(40)]
    test = [labelled(-i / 100, 1.0 if i < 30 else -1.0) for i in range(60)]
    fast, slow = ByText(), ByText()
    table, rows = judge_all({"fast": fast}, {"slow": slow}, dev, test, 10, samples=100, seed=0)
    assert list(zip(table["pairs"], table["evaluator"], table["n"], strict=True)) == [
        ("all", "fast", 60),
        ("sample", "fast", 10),
        ("sample", "slow", 10),
    ]
    assert max(slow.asked) == 10
    sampled = rows[rows["pairs"] == "sample"]
    drawn = [pair.passage_id for pair in sample_pairs(test, 10)]
    assert sampled.loc[sampled["evaluator"] == "slow", "passage_id"].tolist() == drawn
    assert sampled.loc[sampled["evaluator"] == "fast", "passage_id"].tolist() == drawn
    assert len(rows) == 60 + 10 + 10


def test_speed_is_measured_behind_the_cache(tmp_path):
    pairs = [labelled(i / 1000, 1.0) for i in range(300)]
    plain = ByText()
    cached = CachedEvaluator(plain, Cache(tmp_path / "c.sqlite"))
    cached.score([pair.pair for pair in pairs])
    plain.asked.clear()
    assert pairs_per_second(cached, pairs) > 0
    assert plain.asked == [1] + [16] * 8
    plain.asked.clear()
    pairs_per_second(cached, pairs[:20])
    assert plain.asked == [1, 16, 4]


@pytest.fixture
def record():
    return TrainingRecord(
        base="b",
        licence="l",
        settings={},
        seed=0,
        data="d",
        trainable_params=123,
        total_params=456,
        pairs=2,
        relevant=1,
        dev_pairs=1,
        steps=20,
        best_step=10,
        seconds=7.5,
        losses=[(5, 0.7), (10, 0.5), (15, 0.4), (20, 0.3)],
        dev_losses=[(10, 0.6), (20, 0.8)],
        dev_accuracy=1.0,
    )


def test_training_cost_comes_from_the_record(tmp_path, record):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / RECORD).write_text(json.dumps(asdict(record)))
    trained = CachedEvaluator(FineTunedEvaluator(tmp_path, 64), Cache(tmp_path / "c.sqlite"))
    assert training_cost(trained) == {"trainable_params": 123, "train_s": 7.5}


def test_loss_curves_show_training_and_dev_loss(record):
    figure = loss_curves({"full": record, "lora": record})
    assert [axes.get_title() for axes in figure.axes] == ["full", "lora"]
    training, dev, kept = figure.axes[1].lines
    assert training.get_ydata().tolist() == [0.7, 0.5, 0.4, 0.3]
    assert (dev.get_xdata().tolist(), dev.get_ydata().tolist()) == ([10, 20], [0.6, 0.8])
    assert kept.get_xdata()[0] == 10
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim() == pytest.approx((0, 0.84))


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
    curve = recall_curves(pd.DataFrame({"retriever": "bm25", "k": [1, 5], "recall": [0.2, 0.6]})).axes[0].lines[0]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([1, 5], [0.2, 0.6])
    scores = pd.DataFrame({"score": [0.9, -0.9, -0.8], "label": [1.0, -1.0, -1.0]})
    groups = score_histogram(scores).axes[0].containers
    assert [sum(bar.get_height() for bar in bars) for bars in groups] == [1, 2]


def interval(value):
    return {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1}


def heights(axes):
    return [[bar.get_height() for bar in bars] for bars in axes.containers if hasattr(bars, "patches")]


def test_the_main_bars_are_of_each_tasks_metric():
    values = {
        ("one", "claim", "rag", "accuracy"): 0.2,
        ("one", "claim", "crag", "accuracy"): 0.3,
        ("one", "biography", "rag", "factscore"): 0.4,
        ("one", "biography", "rag", "precision"): 0.9,
        ("one", "biography", "crag", "factscore"): 0.5,
        ("two", "claim", "crag", "accuracy"): 0.6,
    }
    table = pd.DataFrame(
        [
            {"generator": generator, "task": task, "system": system, "metric": metric, **interval(value)}
            for (generator, task, system, metric), value in values.items()
        ]
    )
    first, second = main_bars(table, {"claim": "accuracy", "biography": "factscore"}).axes
    assert heights(first) == [[0.2, 0.4], [0.3, 0.5]]  # a group a system, its tasks in order
    assert [label.get_text() for label in first.get_xticklabels()] == ["claim\naccuracy", "biography\nfactscore"]
    assert heights(second) == [[0.6]]


def test_ablations_are_shown_beside_the_papers_values():
    table = pd.DataFrame(
        [
            {"family": "crag", "system": "all", "paper": 0.6, **interval(0.5)},
            {"family": "crag", "system": "without", "paper": 0.55, **interval(0.4)},
            {"family": "self-crag", "system": "all", "paper": 0.7, **interval(0.3)},
        ]
    )
    first, second = ablation_dots(table).axes
    here, paper = first.containers[0].lines[0], first.lines[-1]
    assert here.get_xdata().tolist() == [0.4, 0.5] and paper.get_xdata().tolist() == [0.55, 0.6]
    assert [label.get_text() for label in first.get_yticklabels()] == ["without", "all"]  # the first on top
    assert second.lines[-1].get_xdata().tolist() == [0.7]


ENDS = (0.2, 0.3, 0.4, 0.5)


def test_the_robustness_lines_stand_on_the_generators_floor():
    table = pd.DataFrame(
        [
            {"kept": math.nan, "system": "closed-book", **interval(0.15)},
            *({"kept": 1.0, "system": system, **interval(0.6)} for system in "abcd"),
            *({"kept": 0.0, "system": system, **interval(value)} for system, value in zip("abcd", ENDS, strict=True)),
        ]
    )
    axes = robustness_lines(table).axes[0]
    *lines, floor = axes.lines
    assert [line.get_xdata().tolist() for line in lines] == [[0.0, 1.0]] * 4
    assert [line.get_ydata().tolist() for line in lines] == [[end, 0.6] for end in ENDS]
    assert list(floor.get_ydata()) == [0.15, 0.15]
    assert axes.xaxis_inverted()  # from full accuracy down
