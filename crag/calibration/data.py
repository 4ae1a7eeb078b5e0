"""What calibration starts from: plain arrays, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.errors import RagError


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """What one split of one task gives to calibration, for n questions with m passages in all.

    `scores` are the evaluator's, in [-1, 1], for each question's passages, `relevant` (n,) tells whether any of them is
    relevant. `passage_scores` (m,) and `passage_labels` (m,), ±1, are of the single passages. `outcomes` (n, 3) are the
    end-task scores of each question answered with internal, external and both knowledge: the actions Correct,
    Incorrect and Ambiguous, in this order. Raises `RagError` where lengths or values don't fit.
    """

    scores: Sequence[Sequence[float]]
    relevant: np.ndarray
    passage_scores: np.ndarray
    passage_labels: np.ndarray
    outcomes: np.ndarray

    def __post_init__(self):
        n = len(best_scores(self.scores))
        checked_relevance(self.relevant, n)
        checked_passages(self.passage_scores, self.passage_labels)
        checked_outcomes(self.outcomes, n)


def best_scores(scores: Sequence[Sequence[float]]) -> np.ndarray:
    """The best score of each question, shape (n,): what the action depends on.

    Without passages it is -inf, which is below every threshold: that question is Incorrect, as in `decide`.
    """
    if not len(scores):
        raise RagError("there are no questions to calibrate on: take at least one")
    for i, own in enumerate(scores):
        if bad := [score for score in own if not -1 <= score <= 1]:
            raise RagError(f"question {i} has the score {bad[0]}: evaluator scores are in [-1, 1]")
    return np.array([max(own, default=-np.inf) for own in scores], dtype=float)


def checked_relevance(relevant: Sequence[bool], n: int) -> np.ndarray:
    """Relevance as booleans, shape (n,)."""
    values = np.asarray(relevant, dtype=float)
    if values.shape != (n,):
        raise RagError(f"relevance has shape {values.shape} for {n} questions: give one value a question")
    if not np.isin(values, (0, 1)).all():
        raise RagError("relevance holds something else than true and false: leave out questions without a label")
    return values.astype(bool)


def checked_outcomes(outcomes: np.ndarray, n: int) -> np.ndarray:
    """End-task scores, shape (n, 3)."""
    values = np.asarray(outcomes, dtype=float)
    if values.shape != (n, 3):
        raise RagError(f"outcomes have shape {values.shape} for {n} questions: give internal, external, both for each")
    if not np.isfinite(values).all():
        raise RagError("outcomes hold NaN or infinity: score every question with every kind of knowledge")
    return values


def checked_passages(scores: Sequence[float], labels: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Passage scores (m,), and whether the passage is relevant (m,), from labels ±1."""
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float)
    if scores.ndim != 1 or scores.shape != labels.shape or not len(scores):
        raise RagError(f"passage scores have shape {scores.shape}, labels {labels.shape}: give one of each a passage")
    if not (np.abs(scores) <= 1).all():
        raise RagError("passage scores hold NaN or a value outside [-1, 1]: evaluator scores are in [-1, 1]")
    if not np.isin(labels, (-1, 1)).all():
        raise RagError("passage labels hold something else than ±1: labels are +1 (relevant) and -1 (not)")
    return scores, labels > 0


def need_both_kinds(relevant: np.ndarray, what: str, least: int = 1) -> None:
    """Raise `RagError` where development questions or passages of one kind are fewer: nothing can be told apart then."""
    if min(relevant.sum(), (~relevant).sum()) < least:
        raise RagError(f"{what} need both relevant and other development data ({least} at least): take more questions")
