"""Thresholds, their tables and the scores as probabilities: by hand, against brute force and against exact values."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from crag import figures
from crag.actions import Action, Thresholds, decide
from crag.calibration import tables
from crag.calibration.data import CalibrationData
from crag.calibration.probabilities import (
    calibrated_probabilities,
    expected_calibration_error,
    reliability,
    score_calibration,
)
from crag.calibration.tables import evaluate, precision_coverage, thresholds_table, transfer
from crag.calibration.thresholds import bootstrap_thresholds, fit_action_accuracy, fit_end_task, fit_risk_controlled
from crag.paper import paper_thresholds
from rag.errors import RagError

INF, NAN = math.inf, math.nan
WORTH = {Action.CORRECT: 0, Action.INCORRECT: 1, Action.AMBIGUOUS: 2}

passage_scores = st.lists(st.floats(-1, 1).map(lambda score: round(score, 1)), max_size=3)
outcome_rows = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 3)
questions = st.lists(st.tuples(passage_scores, st.booleans(), outcome_rows), min_size=1, max_size=12)


def reached(thresholds, scores, values):
    """The sum of the values that the decisions pick."""
    return sum(row[WORTH[decide(own, thresholds)]] for own, row in zip(scores, values, strict=True))


def best_by_brute_force(scores, values):
    """The highest sum over all pairs of thresholds from the scores themselves and both ends."""
    cuts = sorted({score for own in scores for score in own} | {-1.0, INF})
    return max(reached(Thresholds(u, v), scores, values) for v, u in combinations_with_replacement(cuts, 2))


def data_of(scores, relevant, outcomes):
    """Calibration data with a passage a question."""
    labels = np.where(relevant, 1.0, -1.0)
    return CalibrationData([[s] for s in scores], np.array(relevant), np.array(scores), labels, np.array(outcomes))


@given(questions)
def test_the_end_task_fit_is_the_best_of_all_pairs(rows):
    scores, _, outcomes = zip(*rows, strict=True)
    assert reached(fit_end_task(scores, outcomes), scores, outcomes) == best_by_brute_force(scores, outcomes)


@given(questions.filter(lambda rows: len({relevant for _, relevant, _ in rows}) == 2))
def test_the_action_fit_is_the_best_of_all_pairs(rows):
    scores, relevant, _ = zip(*rows, strict=True)
    worth = [(float(truth), float(not truth), 0.75) for truth in relevant]
    assert reached(fit_action_accuracy(scores, relevant), scores, worth) == best_by_brute_force(scores, worth)


def test_fit_between_separable_questions():
    found = [[-0.9, -0.95], [-0.8], [-0.7], [0.6, -1.0], [0.8], [0.9]]
    # Every cut above -0.7 and up to 0.6 decides all six rightly: halfway is -0.05.
    thresholds = fit_action_accuracy(found, [False] * 3 + [True] * 3)
    assert (thresholds.upper, thresholds.lower) == (pytest.approx(-0.05), pytest.approx(-0.05))


def test_fit_leaves_the_mixed_middle_ambiguous():
    found = [[-0.9]] * 10 + [[0.0]] * 10 + [[0.9]] * 10
    thresholds = fit_action_accuracy(found, [False] * 10 + [True, False] * 5 + [True] * 10)
    assert thresholds == Thresholds(upper=0.45, lower=-0.45)


@pytest.mark.parametrize(
    ("column", "thresholds"), [(0, Thresholds(-1, -1)), (1, Thresholds(INF, INF)), (2, Thresholds(INF, -1))]
)
def test_fit_can_choose_one_action_for_all(column, thresholds):
    outcomes = np.zeros((3, 3))
    outcomes[:, column] = 1
    assert fit_end_task([[-1.0], [0.2], [1.0]], outcomes) == thresholds


def test_neighbouring_floats_are_told_apart():
    low, high = 0.5, np.nextafter(0.5, 1)
    assert fit_end_task([[low], [high]], [[0, 1, 0], [1, 0, 0]]) == Thresholds(high, high)


@pytest.mark.parametrize(
    ("n", "errors"), [(38, 0), (38, 1), (38, 2), (51, 2), (52, 2), (300, 22), (300, 23), (300, 24)]
)
@pytest.mark.parametrize("mirrored", [False, True], ids=["correct", "incorrect"])
def test_risk_is_controlled_where_clopper_and_pearson_say_so(n, errors, mirrored):
    sign = -1 if mirrored else 1
    scores = [[0.9 * sign]] * n + [[-0.9 * sign]] * 5
    relevant = [mirrored] * errors + [not mirrored] * (n - errors) + [mirrored] * 5
    thresholds = fit_risk_controlled(scores, relevant, alpha=0.1, delta=0.1)
    bound = binomtest(errors, n).proportion_ci(confidence_level=0.8).high  # one-sided at 0.9
    assert (thresholds.lower > -1 if mirrored else thresholds.upper < INF) == (bound <= 0.1)


def test_risk_control_by_hand():
    scores = [[-0.9]] * 40 + [[0.0]] * 40 + [[0.9]] * 40
    relevant = [False] * 40 + [True, False] * 20 + [True] * 40
    # The laxest grid points that keep the mixed questions at 0.0 out: the first above it, and 0.0 itself.
    assert fit_risk_controlled(scores, relevant) == Thresholds(upper=0.025, lower=0.0)
    # Without them every cut between serves both: nothing is Ambiguous.
    middle = fit_risk_controlled(scores[:40] + scores[80:], relevant[:40] + relevant[80:])
    assert middle == Thresholds(0.0, 0.0)
    # 37 questions leave no room for one error at 90 % and 90 %: 0.9 ** 37 + 37 * 0.1 * 0.9 ** 36 = 0.104.
    assert fit_risk_controlled(scores[:37] + scores[83:], relevant[:37] + relevant[83:]) == Thresholds(INF, -1)


def test_risk_control_stops_at_the_first_doubt():
    # 3 errors among the 38 best prove nothing, so the 3 among all 238 are not asked about.
    scores = [[0.9]] * 38 + [[0.5]] * 200
    assert fit_risk_controlled(scores, [False] * 3 + [True] * 235) == Thresholds(INF, -1)
    assert fit_risk_controlled(scores, [True] * 235 + [False] * 3).upper == -1


def test_risk_control_keeps_its_guarantee():
    rng = np.random.default_rng(5)
    broken = {"upper": 0, "lower": 0}
    found = {"upper": 0, "lower": 0}
    for _ in range(400):
        best = rng.uniform(-1, 1, 200)
        relevant = rng.random(200) < np.select([best >= 0, best >= -0.5], [0.98, 0.3], 0.02)
        thresholds = fit_risk_controlled(best[:, None], relevant, alpha=0.1, delta=0.1)
        # Precision of Correct is (0.98 - 0.3 t) / (1 - t) for t in [-0.5, 0]: 0.9 at t = -0.08 / 0.6. That of
        # Incorrect is (0.49 + 0.7 (t + 0.5)) / (t + 1): 0.9 at t = -0.3.
        broken["upper"] += thresholds.upper < -0.08 / 0.6
        broken["lower"] += thresholds.lower > -0.3
        found["upper"] += thresholds.upper < INF
        found["lower"] += thresholds.lower > -1
    assert max(broken.values()) <= 400 * 0.1 + 3 * math.sqrt(400 * 0.1 * 0.9)
    assert min(found.values()) > 300  # not kept by giving up


def test_bootstrap_of_a_clear_and_of_a_doubtful_choice():
    # 38 right answers just suffice for risk control; half the resamples hold fewer.
    data = data_of([-0.9] * 50 + [0.9] * 38, [False] * 50 + [True] * 38, [[0, 1, 0]] * 50 + [[1, 0, 0]] * 38)
    intervals = bootstrap_thresholds(data, samples=200, seed=0)
    certain = {"upper_low": 0.0, "upper_high": 0.0, "lower_low": 0.0, "lower_high": 0.0}
    assert intervals["action accuracy"] == intervals["end task"] == certain
    assert intervals["risk control"]["upper_low"] < 0.9
    assert intervals["risk control"]["upper_high"] == INF
    assert intervals == bootstrap_thresholds(data, samples=200, seed=0)


@pytest.fixture
def four():
    """Four questions, the last without passages."""
    return {
        "scores": [[0.9, -0.5], [0.8], [0.1, 0.0], []],
        "relevant": [True, False, True, False],
        "outcomes": [[1, 0, 0], [0.5, 0, 0], [0, 1, 0.25], [0, 1, 0]],
    }


def test_evaluate_by_hand(four):
    found = evaluate(Thresholds(0.5, -0.5), **four, samples=200, seed=0)
    shares = {name: found[f"share_{name}"] for name in ("correct", "incorrect", "ambiguous")}
    assert shares == {"correct": 0.5, "incorrect": 0.25, "ambiguous": 0.25}
    assert (found["precision_correct"], found["precision_incorrect"]) == (0.5, 1.0)
    assert found["action_accuracy"] == (1 + 0 + 0.75 + 1) / 4
    assert found["value"] == (1 + 0.5 + 0.25 + 1) / 4
    assert found["ci_low"] < found["value"] < found["ci_high"]
    assert found["n"] == 4
    assert math.isnan(evaluate(Thresholds(INF, -1), **four, samples=200, seed=0)["precision_correct"])


def test_precision_coverage_by_hand(four):
    table = precision_coverage(four["scores"], four["relevant"])
    found = {action: own[["coverage", "precision"]].to_numpy().tolist() for action, own in table.groupby("action")}
    assert found["correct"] == [[0.25, 1.0], [0.5, 0.5], [0.75, pytest.approx(2 / 3)]]
    assert found["incorrect"] == [[0.25, 1.0], [0.5, 0.5], [0.75, pytest.approx(2 / 3)], [1.0, 0.5]]


@settings(max_examples=50)
@given(questions)
def test_curves_agree_with_evaluate(rows):
    scores, relevant, outcomes = zip(*rows, strict=True)
    for row in precision_coverage(scores, relevant).itertuples():
        thresholds = Thresholds(row.threshold, -1) if row.action == "correct" else Thresholds(INF, row.threshold)
        found = evaluate(thresholds, scores, relevant, outcomes, samples=100, seed=0)
        assert found[f"share_{row.action}"] == pytest.approx(row.coverage)
        assert found[f"precision_{row.action}"] == pytest.approx(row.precision)


@pytest.fixture
def tasks():
    """Two tasks on the same scores: in the first passages help where the score is high, in the second the web always."""
    scores, relevant = [-0.9] * 40 + [0.9] * 40, [False] * 40 + [True] * 40
    helpful = data_of(scores, relevant, [[0, 1, 0]] * 40 + [[1, 0, 0]] * 40)
    web = data_of(scores, relevant, [[0, 1, 0]] * 80)
    return {"one": {"dev": helpful, "test": helpful}, "two": {"dev": web, "test": web}}


def test_transfer_by_hand(tasks):
    fitted = {"one": Thresholds(0, 0), "two": Thresholds(INF, INF)}
    table = transfer(fitted, {task: splits["test"] for task, splits in tasks.items()}, samples=200, seed=0)
    values = table.set_index(["fitted_on", "applied_to"])["value"].to_dict()
    assert values == {("one", "one"): 1.0, ("one", "two"): 0.5, ("two", "one"): 0.5, ("two", "two"): 1.0}
    shown = [text.get_text() for text in figures.transfer_heatmap(table).axes[0].texts]
    assert shown == ["1.000", "0.500", "0.500", "1.000"]


@pytest.fixture
def few_refits(monkeypatch):
    """Fewer refits than the tables make, to be quick."""
    monkeypatch.setattr(tables, "REFITS", 50)


def test_thresholds_table(tasks, few_refits):
    table = thresholds_table(tasks, samples=200, seed=0).set_index(["task", "method"])
    assert table.loc[("one", "end task"), ["upper", "lower", "value"]].tolist() == [0.0, 0.0, 1.0]
    assert table.loc[("two", "end task"), ["upper", "lower", "value"]].tolist() == [INF, INF, 1.0]
    assert table.loc[("two", "end task"), "note"] == "every question is Incorrect"
    assert table.loc[("one", "action accuracy"), ["upper_low", "lower_high"]].tolist() == [0.0, 0.0]
    assert table.loc[("one", "risk control"), "note"] == ""
    paper = table.loc[("one", "paper, Biography")]
    # At 0.95 and -0.91 all questions are Ambiguous, which the first task gives nothing for.
    assert paper[["upper", "lower", "share_ambiguous", "value", "n"]].tolist() == [0.95, -0.91, 1.0, 0.0, 80]
    assert math.isnan(paper["upper_low"])
    assert len(table) == 2 * (3 + 3)


def test_thresholds_table_says_what_no_threshold_satisfies(few_refits):
    few = data_of([-0.9, 0.9], [False, True], np.eye(3)[:2])
    table = thresholds_table({"few": {"dev": few, "test": few}}, samples=100, seed=0).set_index("method")
    assert table.loc["risk control", "note"] == (
        "no threshold satisfies the risk: Correct is never chosen; Incorrect is left to questions without passages"
    )


def test_the_papers_thresholds():
    assert paper_thresholds() == {
        "PopQA": Thresholds(0.59, -0.99),
        "PubHealth and ARC-Challenge": Thresholds(0.5, -0.91),
        "Biography": Thresholds(0.95, -0.91),
    }


def test_calibration_error_by_hand():
    calibrated = np.repeat([0.2, 0.8], 5)
    assert expected_calibration_error(calibrated, [1, 0, 0, 0, 0, 1, 1, 1, 1, 0]) == pytest.approx(0)
    # Six at 0.1 of which none is relevant, four at 0.9 of which two are: (6 · 0.1 + 4 · 0.4) / 10.
    assert expected_calibration_error(np.repeat([0.1, 0.9], [6, 4]), [0] * 6 + [1, 1, 0, 0]) == pytest.approx(0.22)


def test_reliability_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    probabilities = rng.random(500)
    relevant = rng.random(500) < probabilities
    table = reliability(probabilities, relevant)
    observed, predicted = calibration_curve(relevant, probabilities, n_bins=15, strategy="uniform")
    assert table["observed"].to_numpy() == pytest.approx(observed)
    assert table["predicted"].to_numpy() == pytest.approx(predicted)
    assert table["n"].sum() == 500


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_reliability_keeps_certain_probabilities(end):
    assert reliability(np.full(3, end), np.ones(3)).to_numpy().tolist() == [[end, 1.0, 3]]


@pytest.fixture(scope="module")
def overconfident():
    """Scores whose logit is twice too large and one too low: P(relevant) = sigmoid(z / 2 + 1)."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, 20_000)
    return np.tanh(logits / 2), np.where(rng.random(20_000) < expit(logits / 2 + 1), 1.0, -1.0)


def test_score_maps_find_the_truth(overconfident):
    scores, labels = overconfident
    z = np.array([-3.0, -1.0, 0.5, 2.0])
    found = calibrated_probabilities(scores, labels, np.tanh(z / 2))
    assert found["none"] == pytest.approx(expit(z))
    assert logit(found["platt"]) == pytest.approx(z / 2 + 1, abs=0.1)
    assert found["isotonic"] == pytest.approx(expit(z / 2 + 1), abs=0.06)
    slopes = logit(found["temperature"]) / z
    assert slopes == pytest.approx(np.full(4, slopes[0]))
    assert 0 < slopes[0] < 1


def test_score_maps_keep_the_order(overconfident):
    scores, labels = overconfident
    found = calibrated_probabilities(scores[:300], labels[:300], np.linspace(-1, 1, 201))
    assert (np.diff(found["temperature"]) > 0)[1:-1].all()
    assert (np.diff(found["platt"]) > 0)[1:-1].all()
    assert (np.diff(found["isotonic"]) >= 0).all()
    assert all(np.isfinite(own).all() for own in found.values())


def test_score_calibration_improves_what_is_overconfident(overconfident):
    scores, labels = overconfident
    halves = [
        CalibrationData([[0.0]], np.array([True]), scores[own], labels[own], np.zeros((1, 3)))
        for own in (slice(0, None, 2), slice(1, None, 2))
    ]
    table, bins = score_calibration(*halves)
    ece = table.set_index("map")["ece"]
    assert ece["none"] > 0.1
    assert ece[["platt", "isotonic"]].max() < 0.02
    assert ece["temperature"] < ece["none"]
    assert bins.groupby("map")["n"].sum().tolist() == [10_000] * 4


ONE = {"scores": [[0.5]], "relevant": [True], "passage_scores": [0.5], "passage_labels": [1.0], "outcomes": [[0, 0, 0]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": []}, "no questions"),
        ({"scores": [[0.5, NAN]]}, "question 0 has the score nan"),
        ({"scores": [[1.5]]}, "question 0 has the score 1.5"),
        ({"relevant": [True, False]}, r"relevance has shape \(2,\) for 1 questions"),
        ({"relevant": [None]}, "relevance holds something else"),
        ({"passage_scores": [0.5, 0.1]}, "give one of each a passage"),
        ({"passage_scores": [], "passage_labels": []}, "give one of each a passage"),
        ({"passage_scores": [NAN]}, "passage scores hold NaN"),
        ({"passage_labels": [0.0]}, "labels are"),
        ({"outcomes": [[0, 0, 0]] * 2}, r"outcomes have shape \(2, 3\)"),
        ({"outcomes": [[0, 0]]}, r"outcomes have shape \(1, 2\)"),
        ({"outcomes": [[0, 0, NAN]]}, "outcomes hold NaN"),
    ],
)
def test_bad_data_is_refused(change, message):
    with pytest.raises(RagError, match=message):
        CalibrationData(**(ONE | change))


@pytest.mark.parametrize("fit", [fit_action_accuracy, fit_risk_controlled])
def test_fits_need_both_kinds(fit):
    with pytest.raises(RagError, match="both relevant and other"):
        fit([[0.1], [0.2]], [True, True])


def test_fits_refuse_what_the_data_would():
    with pytest.raises(RagError, match="for 2 questions"):
        fit_action_accuracy([[0.1], [0.2]], [True])
    with pytest.raises(RagError, match="for 2 questions"):
        fit_end_task([[0.1], [0.2]], [[0, 0, 1]])
    with pytest.raises(RagError, match="score nan"):
        fit_risk_controlled([[NAN], [0.2]], [True, False])
    with pytest.raises(RagError, match="both relevant and other"):
        calibrated_probabilities([0.1, 0.2, 0.3], [1.0, 1.0, -1.0], [0.3])


@pytest.mark.parametrize(("alpha", "delta"), [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1.5), (NAN, 0.1)])
def test_risk_control_refuses_what_is_no_share(alpha, delta):
    with pytest.raises(RagError, match="shares between 0 and 1"):
        fit_risk_controlled([[0.1], [0.2]], [True, False], alpha, delta)


def test_figures_show_what_the_tables_hold(four):
    curves = precision_coverage(four["scores"], four["relevant"]).assign(task="t")
    correct, incorrect = figures.precision_coverage(curves).axes[0].lines
    assert correct.get_xydata()[:, 1].tolist() == [1.0, 0.5, pytest.approx(2 / 3)]
    assert incorrect.get_xydata()[-1].tolist() == [1.0, 0.5]
    bins = pd.DataFrame({"task": ["a", "b"], "map": "none", "predicted": [0.1, 0.2], "observed": [0.3, 0.4], "n": 1})
    plots = figures.reliability_diagram(bins).axes
    assert [axes.get_title() for axes in plots] == ["a", "b"]
    assert [axes.lines[1].get_xydata().tolist() for axes in plots] == [[[0.1, 0.3]], [[0.2, 0.4]]]
