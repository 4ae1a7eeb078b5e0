"""The three actions (CRAG §4.3) and the fit of their thresholds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.actions import Action, Thresholds, decide, fit_thresholds
from rag.errors import RagError

PAPER = Thresholds(upper=0.59, lower=-0.99)  # the paper's for PopQA

scores = st.lists(st.floats(-1, 1), min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("found", "action"),
    [
        ([0.59, -1.0], Action.CORRECT),
        ([0.58, -1.0], Action.AMBIGUOUS),
        ([-0.99, -1.0], Action.AMBIGUOUS),
        ([-0.991, -1.0], Action.INCORRECT),
        ([], Action.INCORRECT),
    ],
)
def test_decide_with_the_papers_thresholds(found, action):
    assert decide(found, PAPER) == action


@given(scores, st.floats(-1, 1), st.floats(-1, 1))
def test_the_best_score_alone_decides(found, one, other):
    thresholds = Thresholds(max(one, other), min(one, other))
    assert decide(found, thresholds) == decide([max(found)], thresholds) == decide(found[::-1], thresholds)


@pytest.mark.parametrize(("upper", "lower"), [(-0.5, 0.5), (1.5, 0), (0, -1.5), (float("nan"), 0)])
def test_crossed_or_outlying_thresholds_are_refused(upper, lower):
    with pytest.raises(RagError, match="need -1 <= lower <= upper <= 1"):
        Thresholds(upper, lower)


def test_fit_on_separable_questions():
    found = [[-0.9, -0.95], [-0.8], [-0.7], [0.6, -1.0], [0.8], [0.9]]
    thresholds = fit_thresholds(found, [False, False, False, True, True, True])
    # Anything between -0.7 and 0.6 decides all six rightly.
    assert -0.7 < thresholds.lower <= thresholds.upper <= 0.6
    assert [decide(own, thresholds) for own in found] == [Action.INCORRECT] * 3 + [Action.CORRECT] * 3


def test_fit_leaves_the_mixed_middle_ambiguous():
    found = [[-0.9]] * 10 + [[0.0]] * 10 + [[0.9]] * 10
    relevant = [False] * 10 + [True, False] * 5 + [True] * 10
    thresholds = fit_thresholds(found, relevant)
    assert decide([-0.9], thresholds) == Action.INCORRECT
    assert decide([0.0], thresholds) == Action.AMBIGUOUS
    assert decide([0.9], thresholds) == Action.CORRECT


def test_fit_needs_both_kinds():
    with pytest.raises(RagError, match="with and without"):
        fit_thresholds([[0.1], [0.2]], [True, True])
