"""Scores of one answer, against hand-computed values and the definitions of SQuAD."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import RagError
from rag.scoring.text import (
    accuracy,
    chosen,
    contains_answer,
    exact_match,
    normalise,
    score_text,
    token_f1,
    verdict,
)
from rag.types import Question, Task

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
        ("none", ["B"], False),
        # Aliases of which normalising leaves nothing.
        ("The answer is A.", ["A"], True),
        ("A dog", ["A"], False),
        ("a", ["A"], False),
        ("Banana", ["A"], False),
        ("The band is The The.", ["The The"], True),
        ("by !!! in 2007", ["?"], False),
        ("it is by !!!", ["!!!"], True),
    ],
)
def test_contains_answer(output, answers, found):
    assert contains_answer(output, answers) is found
    assert accuracy(output, answers) == float(found)


def test_exact_match_needs_the_whole_answer():
    assert exact_match("The Hague.", ["Hague"]) == 1.0
    assert exact_match("in The Hague", ["Hague"]) == 0.0
    # Of these nothing is left by normalising: they must not all be equal.
    assert exact_match("The The.", ["The The"]) == exact_match("A.", ["A"]) == 1.0
    assert exact_match("", ["A"]) == exact_match("the", ["A"]) == exact_match("!!!", ["?"]) == 0.0


def test_token_f1_by_hand():
    # Two of three output tokens, two of two gold tokens: 2 * 2 / (3 + 2).
    assert token_f1("Mary Shelley wrote", ["Mary Shelley"]) == pytest.approx(0.8)
    # A repeated token counts once.
    assert token_f1("ha ha ha", ["ha"]) == pytest.approx(0.5)
    # The better alias counts.
    assert token_f1("Shelley", ["Mary Shelley", "Shelley"]) == 1.0
    assert token_f1("", ["x"]) == 0.0
    assert token_f1("", ["The"]) == token_f1("!", ["?"]) == 0.0


@given(words)
def test_an_answer_scores_full_marks_against_itself(text):
    assert exact_match(text, [text]) == token_f1(text, [text]) == accuracy(text, [text]) == 1.0


@given(words, words)
def test_f1_is_symmetric_and_bounded(one, other):
    assert token_f1(one, [other]) == pytest.approx(token_f1(other, [one]))
    assert 0 <= token_f1(one, [other]) <= 1


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("true", "true"),
        ("True.", "true"),
        ("FALSE", "false"),
        ("**False**, because dye is red.", "false"),
        ("The statement is true. A false one would name a red dye.", "true"),
        ("It is not true that dye is red.", "false"),
        ("This isn't entirely true.", "false"),
        ("This isn’t true.", "false"),
        ("That can't be true", "false"),
        ("That is not a true statement", "false"),
        ("Untrue", "false"),
        ("It is not false.", "true"),
        ("It is not only true but well known.", "true"),
        ("True or false: false", "false"),
        ("True or False", None),
        ("It is neither true nor false.", None),
        ("I don't know. The truth is lost.", None),
        ("", None),
    ],
)
def test_verdict(output, expected):
    assert verdict(output) == expected


LETTERS = {"A": "a dog", "B": "The Moon", "C": "salt water", "D": "water"}
DIGITS = {"1": "1.5 km", "2": "15 km", "3": "-5 °C", "4": "5 °C"}
SPECIES = {"A": "B. subtilis", "B": "E. coli", "C": "yeast"}


@pytest.mark.parametrize(
    ("choices", "output", "expected"),
    [
        (LETTERS, "B", "B"),
        (LETTERS, "b.", "B"),
        (LETTERS, "(C)", "C"),
        (LETTERS, "**D**", "D"),
        (LETTERS, "B: The Moon", "B"),
        (LETTERS, "**A**: a dog", "A"),
        (LETTERS, "d) water", "D"),
        (LETTERS, "C. salt water, not water", "C"),
        (LETTERS, "B: salt water", "B"),  # the label decides
        (LETTERS, "The answer is B.", "B"),
        (LETTERS, "Answer: C", "C"),
        (LETTERS, "The correct answer is (D), water.", "D"),
        (LETTERS, "Option A is right.", "A"),
        (LETTERS, "I take option A, not option B.", None),
        (LETTERS, "A dog", "A"),
        (LETTERS, "A cat", None),  # an article is no label
        (LETTERS, "The answer is A cat.", None),
        (LETTERS, "Bears eat Apples", None),
        (LETTERS, "A, B and C", None),
        (LETTERS, "moon", "B"),
        (LETTERS, "It is the moon.", "B"),
        (LETTERS, "moonlight", None),  # whole words only
        (LETTERS, "salt water", "C"),  # "water" is part of it
        (LETTERS, "fresh water", "D"),
        (LETTERS, "a dog on the moon", None),
        (LETTERS, "", None),
        (DIGITS, "3", "3"),
        (DIGITS, "1. 1.5 km", "1"),
        (DIGITS, "(4) 5 °C", "4"),
        (DIGITS, "1.5 km", "1"),
        (DIGITS, "15 km", "2"),
        (DIGITS, "1.8 km", None),
        (DIGITS, "3:05 in the morning", None),
        (DIGITS, "-5 °C", "3"),
        (DIGITS, "5 °C.", "4"),
        (DIGITS, "The answer is 2.", "2"),
        (DIGITS, "The answer is 2.5 km.", None),
        (SPECIES, "E. coli", "B"),
        (SPECIES, "B. subtilis lives in soil", "A"),
        (SPECIES, "B. E. coli", "B"),
        ({"A": "tin", "B": "tin", "C": "ice"}, "tin", None),
        ({"A": "?", "B": ".", "C": "ice"}, "x", None),
    ],
)
def test_chosen(choices, output, expected):
    assert chosen(output, choices) == expected


@given(st.dictionaries(st.sampled_from("ABCDE"), words, min_size=2), st.text(alphabet="ABab:.() ", max_size=12))
def test_chosen_is_a_label_or_nothing(choices, output):
    assert chosen(output, choices) in {None, *choices}
    for label, text in choices.items():
        assert chosen(f"{label}: {text}", choices) == label


def test_score_text_by_task():
    claim = Question("c", "Dye is red.", ("false",), task=Task.CLAIM)
    assert [score_text(claim, output) for output in ("False", "true", "dye")] == [
        {"accuracy": 1.0},
        {"accuracy": 0.0},
        {"accuracy": 0.0},
    ]
    choice = Question("c", "Which?", ("A",), task=Task.CHOICE, choices=LETTERS)
    assert [score_text(choice, output)["accuracy"] for output in ("A", "a dog", "B", "A cat", "")] == [1, 1, 0, 0, 0]
    short = Question("s", "Who?", ("Mary Shelley",))
    assert score_text(short, "Mary Shelley wrote") == {
        "accuracy": 1.0,
        "exact_match": 0.0,
        "token_f1": pytest.approx(0.8),
    }
    with pytest.raises(RagError, match="'b' asks for a biography"):
        score_text(Question("b", "Tell.", ("Ada",), task=Task.BIOGRAPHY), "Ada was a chemist.")
