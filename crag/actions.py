"""The three actions and the thresholds that trigger them (CRAG §4.3), and how the thresholds are fitted."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rag.errors import RagError


class Action(StrEnum):
    """What to do with a question's retrieved passages."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class Thresholds:
    """Upper and lower threshold on evaluator scores, -1 <= lower <= upper <= 1."""

    upper: float
    lower: float

    def __post_init__(self):
        if not -1 <= self.lower <= self.upper <= 1:
            raise RagError(f"thresholds upper={self.upper}, lower={self.lower}: need -1 <= lower <= upper <= 1")


def decide(scores: Sequence[float], thresholds: Thresholds) -> Action:
    """The action for one question from the scores of its passages (CRAG §4.3).

    Correct if any score reaches the upper threshold, Incorrect if all lie below the lower one, else Ambiguous. No
    passages at all are Incorrect.
    """
    best = max(scores, default=-1.0)
    if len(scores) and best >= thresholds.upper:
        return Action.CORRECT
    if not len(scores) or best < thresholds.lower:
        return Action.INCORRECT
    return Action.AMBIGUOUS


AMBIGUOUS_WORTH = 0.75


def fit_thresholds(scores: Sequence[Sequence[float]], relevant: Sequence[bool], steps: int = 81) -> Thresholds:
    """Thresholds fitted on development questions by grid search.

    `scores` are the evaluator's for each question's passages, `relevant` tells whether any of them is relevant. A
    right Correct or Incorrect is worth 1, a wrong one 0, Ambiguous 0.75: the reject option of Chow (1970), since with
    both sources the answer is at hand but diluted. Among equals the middle of the longest run of thresholds is taken,
    so that the choice doesn't sit at the edge of the development scores.

    Raises `RagError` where all questions are of one kind: there is nothing to tell apart then.
    """
    truth = np.asarray(relevant, dtype=bool)
    if truth.all() or not truth.any():
        raise RagError("thresholds need development questions with and without a relevant passage: take more questions")
    best = np.array([max(passage_scores, default=-1.0) for passage_scores in scores])
    grid = np.linspace(-1, 1, steps)
    # Both thresholds act on the best score alone, so each can be fitted by itself as long as lower <= upper:
    # Correct above t pays where P(relevant) > 0.75, Incorrect below t pays where P(relevant) < 0.25.
    gain_correct = np.array([(truth[best >= t] - AMBIGUOUS_WORTH).sum() for t in grid])
    gain_incorrect = np.array([(~truth[best < t] - AMBIGUOUS_WORTH).sum() for t in grid])
    upper = _middle_of_best(grid, gain_correct)
    lower = _middle_of_best(grid, gain_incorrect)
    return Thresholds(upper, min(lower, upper))


def best_cut(scores: Sequence[float], relevant: Sequence[bool], steps: int = 81) -> float:
    """The score from which on a passage is best called relevant: the grid point of the highest accuracy."""
    scores, truth = np.asarray(scores), np.asarray(relevant, dtype=bool)
    grid = np.linspace(-1, 1, steps)
    return _middle_of_best(grid, np.array([((scores >= cut) == truth).sum() for cut in grid]))


def _middle_of_best(grid: np.ndarray, gains: np.ndarray) -> float:
    top = np.flatnonzero(np.isclose(gains, gains.max()))
    runs = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
    longest = max(runs, key=len)
    return round(float(grid[longest[len(longest) // 2]]), 4)
