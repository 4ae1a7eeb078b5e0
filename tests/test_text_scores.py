"""Scores of one answer, against hand-computed values and the definitions of SQuAD."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.scoring.text import accuracy, contains_answer, exact_match, normalise, token_f1

words = st.text(alphabet="abcde ", min_size=1, max_size=30).filter(lambda text: normalise(text))


def test_normalise_follows_squad():
    assert normalise("The  Cat's, pyjamas!") == "cats pyjamas"
    assert normalise("An apple a day — the rule") == "apple day — rule"
    assert normalise("Café") == "café"  # accents stay


@pytest.mark.parametrize(
    ("output", "answers", "found"),
    [
        ("He was born in 1805.", ["1805"], True),
        ("TRUE", ["true"], True),
        ("It is the U.S.", ["US"], True),
        ("born in 1850", ["1805"], False),
        ("Paris, or rather Lyon", ["Rome", "Lyon"], True),
        ("", ["Rome"], False),
        ("The answer is A.", ["A"], True),
        ("none", ["B"], False),
    ],
)
def test_contains_answer(output, answers, found):
    assert contains_answer(output, answers) is found
    assert accuracy(output, answers) == float(found)


def test_exact_match_needs_the_whole_answer():
    assert exact_match("The Hague.", ["Hague"]) == 1.0
    assert exact_match("in The Hague", ["Hague"]) == 0.0


def test_token_f1_by_hand():
    # Two of three output tokens, two of two gold tokens: 2 * 2 / (3 + 2).
    assert token_f1("Mary Shelley wrote", ["Mary Shelley"]) == pytest.approx(0.8)
    # A repeated token counts once.
    assert token_f1("ha ha ha", ["ha"]) == pytest.approx(0.5)
    # The better alias counts.
    assert token_f1("Shelley", ["Mary Shelley", "Shelley"]) == 1.0
    assert token_f1("", ["x"]) == 0.0


@given(words)
def test_an_answer_scores_full_marks_against_itself(text):
    assert exact_match(text, [text]) == token_f1(text, [text]) == accuracy(text, [text]) == 1.0


@given(words, words)
def test_f1_is_symmetric_and_bounded(one, other):
    assert token_f1(one, [other]) == pytest.approx(token_f1(other, [one]))
    assert 0 <= token_f1(one, [other]) <= 1
