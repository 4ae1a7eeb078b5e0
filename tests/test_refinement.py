"""Decompose, filter, recompose (CRAG §4.4)."""

import numpy as np

from crag.refinement import MIN_SCORE, TOP_STRIPS, Strip, decompose, filter_strips, recompose
from rag.types import Passage


class ByText:
    """Scores a text by the number in it."""

    identity = {"evaluator": "by-text"}
    calls = 0

    def score(self, pairs):
        self.calls += 1
        return np.array([float(pair.text.split("=")[1]) for pair in pairs])


def strips(*scores):
    return [Strip("T", f"s={score}", f"p{i}") for i, score in enumerate(scores)]


def test_decompose():
    one = Passage("a#0", "A", "Only one sentence.")
    two = Passage("b#0", "B", "First here. Second here.")
    five = Passage("c#0", "C", "One is here. Two is here. Three is here. Four is here. Five is here.")
    assert [(s.text, s.source) for s in decompose([one, two, five])] == [
        ("Only one sentence.", "a#0"),
        ("First here. Second here.", "b#0"),
        ("One is here. Two is here.", "c#0"),
        ("Three is here. Four is here.", "c#0"),
        ("Five is here.", "c#0"),
    ]
    assert decompose([]) == []
    assert decompose([Passage("d#0", "D", "short")])[0].text == "short"


def test_filter_keeps_the_best_in_their_order():
    kept = filter_strips(["q"], [strips(0.1, -0.6, 0.9, -0.5, 0.2, 0.3, 0.4)], ByText())[0]
    assert [strip.score for strip in kept] == [0.1, 0.9, 0.2, 0.3, 0.4]  # -0.5 passes, but is the sixth
    assert len(kept) == TOP_STRIPS
    assert [strip.score for strip in filter_strips(["q"], [strips(-0.6, MIN_SCORE, -0.51)], ByText())[0]] == [MIN_SCORE]


def test_filter_ties_go_to_the_earlier():
    kept = filter_strips(["q"], [strips(*[0.3] * 7)], ByText())[0]
    assert [strip.source for strip in kept] == ["p0", "p1", "p2", "p3", "p4"]


def test_no_strip_left_shifts_nothing():
    evaluator = ByText()
    kept = filter_strips(["a", "b", "c"], [strips(-0.9), [], strips(0.7)], evaluator)
    assert [[strip.score for strip in own] for own in kept] == [[], [], [0.7]]
    assert evaluator.calls == 1


def test_recompose():
    parts = [Strip("A", "One.", "a#0"), Strip("B", "Two.", "b#0"), Strip("A", "Three.", "a#0")]
    assert recompose(parts) == "A: One. Three.\nB: Two."
    assert recompose([]) == ""
