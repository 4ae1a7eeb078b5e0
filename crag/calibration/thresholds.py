"""Thresholds fitted on development questions: for action accuracy, for the end task, or under control of the risk.

The paper sets them by hand for each task (CRAG §5 and appendix). All of this acts on the best score of a question's
passages, on which alone the action depends.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.stats import binom

from crag.actions import Thresholds
from crag.calibration.data import (
    CalibrationData,
    best_scores,
    checked_outcomes,
    checked_passages,
    checked_relevance,
    need_both_kinds,
)
from crag.evaluator import DECIMALS
from rag.errors import RagError

AMBIGUOUS_WORTH = 0.75
ALPHA = 0.1
DELTA = 0.1
# Fixed before any score is seen, as risk control asks. Even in the logit, since scores crowd at both ends.
RISK_GRID = np.unique(np.tanh(np.linspace(-12, 12, 481) / 2).round(DECIMALS))
TIE = 1e-9


def fit_action_accuracy(scores: Sequence[Sequence[float]], relevant: Sequence[bool]) -> Thresholds:
    """Thresholds of the highest action accuracy, which asks for no answer.

    A right Correct or Incorrect is worth 1, a wrong one 0, Ambiguous 0.75: the reject option of Chow (1970), since with
    both sources the answer is at hand but diluted. Were it worth nothing, Ambiguous would never be chosen. So Correct
    pays where P(relevant) > 0.75, Incorrect where P(relevant) < 0.25.

    Raises `RagError` where all questions are of one kind: there is nothing to tell apart then.
    """
    best = best_scores(scores)
    truth = checked_relevance(relevant, len(best))
    need_both_kinds(truth, "thresholds")
    return _best_pair(best, action_worth(truth))


def fit_end_task(scores: Sequence[Sequence[float]], outcomes: np.ndarray) -> Thresholds:
    """Thresholds of the highest mean end-task score; `outcomes` as in `CalibrationData`.

    With the outcome of each kind of knowledge known for each question, any pair of thresholds has its end-task score
    without a new generation.
    """
    best = best_scores(scores)
    return _best_pair(best, checked_outcomes(outcomes, len(best)))


def fit_risk_controlled(
    scores: Sequence[Sequence[float]], relevant: Sequence[bool], alpha: float = ALPHA, delta: float = DELTA
) -> Thresholds:
    """The lowest upper threshold at which the precision of Correct, and the highest lower one at which the precision of
    Incorrect, is at least 1 - alpha on unseen questions, each with confidence 1 - delta.

    Learn then test (Angelopoulos et al. 2021, arXiv 2110.01052): each threshold of a fixed grid is a hypothesis "errors
    exceed alpha", tested by the exact binomial tail (Clopper and Pearson 1934), from the strictest threshold on until
    the first that is not rejected. The sequence starts where enough questions get the action for a rejection in spite
    of one error (38 at the defaults), else one odd question among the best would end it. This start depends on the
    scores, though not on the labels: the guarantee supposes that precision doesn't fall as the threshold gets stricter.
    Then the first true hypothesis that is tested is rejected with probability delta at most, wherever the start lies.

    Where no threshold is proven, the action is never chosen: upper = inf, or lower = -1. Where the two would cross, all
    thresholds proven for both do: the middle one is taken for both, and nothing is Ambiguous.
    """
    if not (0 < alpha < 1 and 0 < delta < 1):
        raise RagError(f"alpha={alpha}, delta={delta}: both are shares between 0 and 1")
    best = best_scores(scores)
    truth = checked_relevance(relevant, len(best))
    need_both_kinds(truth, "thresholds")
    return _risk_controlled(best, truth, alpha, delta)


def fit_all(data: CalibrationData) -> dict[str, Thresholds]:
    """The thresholds of every method, by its name. Raises `RagError` where all questions are of one kind."""
    best, truth, outcomes = _arrays(data)
    need_both_kinds(truth, "thresholds")
    return {method: fit(best, truth, outcomes) for method, fit in METHODS.items()}


def bootstrap_thresholds(data: CalibrationData, samples: int, seed: int) -> dict[str, dict[str, float]]:
    """95 % percentile intervals of the fitted thresholds, by method: upper_low, upper_high, lower_low, lower_high.

    Questions are resampled with replacement and every method is fitted anew, on the same resamples. The ends are
    thresholds that occurred, inf included. They describe how stable a choice is and are no more than that: the
    bootstrap isn't consistent for the place of a step function's maximum (Abrevaya and Huang 2005).
    """
    best, truth, outcomes = _arrays(data)
    draws = np.random.default_rng(seed).integers(len(best), size=(samples, len(best)))
    intervals = {}
    for method, fit in METHODS.items():
        fitted = [fit(best[draw], truth[draw], outcomes[draw]) for draw in draws]
        intervals[method] = {}
        for side in ("upper", "lower"):
            values = [getattr(thresholds, side) for thresholds in fitted]
            low, high = np.quantile(values, (0.025, 0.975), method="inverted_cdf")
            intervals[method] |= {f"{side}_low": float(low), f"{side}_high": float(high)}
    return intervals


def best_cut(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """The score from which on a passage is best called relevant: the cut of the highest accuracy, inf for none at all."""
    scores, truth = checked_passages(scores, np.where(np.asarray(relevant, dtype=bool), 1, -1))
    cuts = distinct_cuts(scores)
    right = np.array([((scores >= cut) == truth).sum() for cut in cuts])
    return float(cuts[_middle(right == right.max())])


def action_worth(relevant: np.ndarray) -> np.ndarray:
    """What each action is worth for each question, shape (n, 3), in the order Correct, Incorrect, Ambiguous."""
    return np.column_stack([relevant, ~relevant, np.full(len(relevant), AMBIGUOUS_WORTH)]).astype(float)


def distinct_cuts(best: np.ndarray) -> np.ndarray:
    """All thresholds that decide differently on these scores, rising: -1, halfway between neighbours, inf."""
    values = np.unique(best[np.isfinite(best)])
    halfway = (values[:-1] + values[1:]) / 2
    # Between two neighbouring floats halfway is the lower one, which would be on the wrong side of the cut.
    return np.concatenate([[-1.0], np.maximum(halfway, np.nextafter(values[:-1], 2)), [math.inf]])


def _arrays(data: CalibrationData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    best = best_scores(data.scores)
    return best, checked_relevance(data.relevant, len(best)), checked_outcomes(data.outcomes, len(best))


def _best_pair(best: np.ndarray, values: np.ndarray) -> Thresholds:
    """The thresholds of the highest sum of `values` (n, 3), by columns Correct, Incorrect, Ambiguous.

    Exact over all distinct decisions. Among equals the middle of the longest run of cuts is taken, so that the choice
    doesn't sit at the edge of the development scores.
    """
    order = np.argsort(best, kind="stable")
    correct, incorrect, ambiguous = values[order].T
    cuts = distinct_cuts(best)
    below = np.searchsorted(best[order], cuts)
    # What a cut adds to "all Ambiguous": the questions below it made Incorrect, or those from it on made Correct.
    lower_gain = np.cumsum(np.append(0, incorrect - ambiguous))[below]
    upper_gain = np.cumsum(np.append(0, (correct - ambiguous)[::-1]))[len(best) - below]
    reachable = np.maximum.accumulate(lower_gain)
    total = reachable + upper_gain
    upper = _middle(np.isclose(total, total.max(), rtol=0, atol=TIE))
    lower = _middle(np.isclose(lower_gain[: upper + 1], reachable[upper], rtol=0, atol=TIE))
    return Thresholds(float(cuts[upper]), float(cuts[lower]))


def _middle(chosen: np.ndarray) -> int:
    """The middle of the longest run of true values, the first among equals."""
    runs = np.split(places := np.flatnonzero(chosen), np.flatnonzero(np.diff(places) > 1) + 1)
    longest = max(runs, key=len)
    return int(longest[len(longest) // 2])


def _risk_controlled(best: np.ndarray, truth: np.ndarray, alpha: float, delta: float) -> Thresholds:
    ranked, ranked_relevant, ranked_other = np.sort(best), np.sort(best[truth]), np.sort(best[~truth])
    below = np.searchsorted(ranked, RISK_GRID)
    relevant_below = np.searchsorted(ranked_relevant, RISK_GRID)
    other_from = len(ranked_other) - np.searchsorted(ranked_other, RISK_GRID)
    uppers = RISK_GRID[::-1][_proven(other_from[::-1], (len(best) - below)[::-1], alpha, delta)]
    lowers = RISK_GRID[_proven(relevant_below, below, alpha, delta)]
    if len(shared := np.intersect1d(uppers, lowers)):
        return Thresholds(*[float(shared[len(shared) // 2])] * 2)
    upper = min(uppers, default=math.inf)
    return Thresholds(float(upper), float(max(lowers[lowers <= upper], default=-1.0)))


def _proven(errors: np.ndarray, chosen: np.ndarray, alpha: float, delta: float) -> np.ndarray:
    """Which hypotheses of a fixed sequence are rejected: `errors` among `chosen` questions, `chosen` never falling."""
    possible = binom.cdf(1, chosen, alpha) <= delta
    rejected = binom.cdf(errors, chosen, alpha) <= delta
    return possible & np.logical_and.accumulate(rejected | ~possible)


METHODS: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Thresholds]] = {
    "action accuracy": lambda best, truth, outcomes: _best_pair(best, action_worth(truth)),
    "end task": lambda best, truth, outcomes: _best_pair(best, outcomes),
    "risk control": lambda best, truth, outcomes: _risk_controlled(best, truth, ALPHA, DELTA),
}
