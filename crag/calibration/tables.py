"""The tables of the calibration notebook: what thresholds do on test questions, alone and across tasks."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from crag.actions import Action, Thresholds, decide
from crag.calibration.data import CalibrationData, best_scores, checked_outcomes, checked_relevance
from crag.calibration.thresholds import action_worth, bootstrap_thresholds, distinct_cuts, fit_all
from crag.paper import paper_thresholds
from rag.scoring.significance import estimate

REFITS = 1000
NO_INTERVALS = dict.fromkeys(("upper_low", "upper_high", "lower_low", "lower_high"), math.nan)
ACTIONS = tuple(Action)  # the columns of outcomes


def evaluate(
    thresholds: Thresholds,
    scores: Sequence[Sequence[float]],
    relevant: Sequence[bool],
    outcomes: np.ndarray,
    samples: int,
    seed: int,
) -> dict[str, float]:
    """What thresholds do on questions; arguments as in `CalibrationData`.

    The shares of the actions; the precision of Correct and of Incorrect (NaN where the action isn't chosen); action
    accuracy, in which Ambiguous counts 0.75 as in `fit_action_accuracy`; the end-task score as value, ci_low, ci_high, n.
    """
    n = len(best_scores(scores))
    truth, outcomes = checked_relevance(relevant, n), checked_outcomes(outcomes, n)
    chosen = np.array([ACTIONS.index(decide(own, thresholds)) for own in scores])
    right = {Action.CORRECT: truth, Action.INCORRECT: ~truth}
    precision = {action: right[action][chosen == ACTIONS.index(action)] for action in right}
    return {
        **{f"share_{action}": float(np.mean(chosen == place)) for place, action in enumerate(ACTIONS)},
        **{f"precision_{action}": float(np.mean(own)) if len(own) else math.nan for action, own in precision.items()},
        "action_accuracy": float(np.mean(action_worth(truth)[np.arange(n), chosen])),
        **estimate(outcomes[np.arange(n), chosen], samples, seed),
    }


def precision_coverage(scores: Sequence[Sequence[float]], relevant: Sequence[bool]) -> pd.DataFrame:
    """Precision of Correct and of Incorrect at every distinct threshold: columns action, threshold, coverage, precision.

    `coverage` is the share of all questions that get the action; thresholds at which none does are left out.
    """
    best = best_scores(scores)
    truth = checked_relevance(relevant, len(best))
    rows = []
    for cut in distinct_cuts(best):
        chosen = {Action.CORRECT: truth[best >= cut], Action.INCORRECT: ~truth[best < cut]}
        rows += [
            {"action": action.value, "threshold": cut, "coverage": len(right) / len(best), "precision": right.mean()}
            for action, right in chosen.items()
            if len(right)
        ]
    return pd.DataFrame(rows).sort_values(["action", "coverage"], kind="stable", ignore_index=True)


def transfer(
    fitted: Mapping[str, Thresholds], test: Mapping[str, CalibrationData], samples: int, seed: int
) -> pd.DataFrame:
    """End-task score of thresholds on the task that they were fitted on and on the others.

    `fitted` and `test` are by task. Columns: fitted_on, applied_to, value, ci_low, ci_high, n.
    """
    rows = []
    for source, thresholds in fitted.items():
        for task, data in test.items():
            found = evaluate(thresholds, data.scores, data.relevant, data.outcomes, samples, seed)
            score = {name: found[name] for name in ("value", "ci_low", "ci_high", "n")}
            rows.append({"fitted_on": source, "applied_to": task, **score})
    return pd.DataFrame(rows)


def thresholds_table(data: Mapping[str, Mapping[str, CalibrationData]], samples: int, seed: int) -> pd.DataFrame:
    """One row a task and method: thresholds fitted on dev, or the paper's by hand, and what they do on test.

    `data` is by task, then by split ("dev", "test"). Columns: task, method, upper, lower, those of
    `bootstrap_thresholds` (empty for the paper's) and of `evaluate`, note.
    """
    rows = []
    for task, splits in data.items():
        dev, test = splits["dev"], splits["test"]
        by_hand = {f"paper, {tasks}": thresholds for tasks, thresholds in paper_thresholds().items()}
        intervals = bootstrap_thresholds(dev, REFITS, seed)
        for method, thresholds in (fit_all(dev) | by_hand).items():
            rows.append(
                {
                    "task": task,
                    "method": method,
                    "upper": thresholds.upper,
                    "lower": thresholds.lower,
                    **(NO_INTERVALS if method in by_hand else intervals[method]),
                    **evaluate(thresholds, test.scores, test.relevant, test.outcomes, samples, seed),
                    "note": _note(method, thresholds),
                }
            )
    return pd.DataFrame(rows)


def _note(method: str, thresholds: Thresholds) -> str:
    """What a pair of thresholds rules out, in words."""
    never = []
    if thresholds.lower == math.inf:
        never.append("every question is Incorrect")
    elif thresholds.upper == math.inf:
        never.append("Correct is never chosen")
    if thresholds.lower == -1:
        never.append("Incorrect is left to questions without passages")
    reason = "no threshold satisfies the risk: " if method == "risk control" and never else ""
    return reason + "; ".join(never)
