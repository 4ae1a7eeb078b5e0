"""The three actions and their thresholds (CRAG §4.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.actions import Action, Thresholds, decide
from rag.errors import RagError

PAPER = Thresholds(upper=0.59, lower=-0.99)  # the paper's for PopQA

INF, NAN = float("inf"), float("nan")

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


@given(scores)
def test_an_infinite_threshold_is_reached_by_no_score(found):
    assert decide(found, Thresholds(INF, -1)) == Action.AMBIGUOUS
    assert decide(found, Thresholds(INF, INF)) == Action.INCORRECT


@pytest.mark.parametrize(
    ("upper", "lower"), [(-0.5, 0.5), (1.5, 0), (INF, 1.5), (0, INF), (0, -1.5), (0, -INF), (NAN, 0), (0, NAN)]
)
def test_crossed_or_outlying_thresholds_are_refused(upper, lower):
    with pytest.raises(RagError, match="need -1 <= lower <= upper <= 1"):
        Thresholds(upper, lower)
