"""The three actions and the thresholds that trigger them (CRAG §4.3). `crag.calibration` fits thresholds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rag.errors import RagError


class Action(StrEnum):
    """What to do with a question's retrieved passages."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class Thresholds:
    """Upper and lower threshold on evaluator scores, -1 <= lower <= upper <= 1.

    Either may also be inf, which no score reaches: not even 1.0, which rounded scores do take. With upper = inf no
    question is Correct, with both inf all are Incorrect; lower = -1 leaves Incorrect to questions without passages.
    """

    upper: float
    lower: float

    def __post_init__(self):
        ordered = -1 <= self.lower <= self.upper
        if not ordered or any(1 < threshold < math.inf for threshold in (self.lower, self.upper)):
            raise RagError(f"thresholds upper={self.upper}, lower={self.lower}: need -1 <= lower <= upper <= 1, or inf")


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
