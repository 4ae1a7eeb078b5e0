"""Lists in what language models write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diva.parsing import MAX_ITEM_CHARS, Pair, parse_pairs, parse_questions
from rag.scoring.text import normalise

A, B, C = "Who was Ada Stone?", "Who was Ben Stone?", "Who was Cy Stone?"


@pytest.mark.parametrize(
    "text",
    [
        f"{A} | {B} | {C}",
        f" |{A}|{B}|{C}| ",
        f"Interpretations: {A} | {B} | {C}",
        f"Here are three interpretations: {A} | {B} | {C}",
        f"1. {A} | 2. {B} | 3. {C}",
        f"1. {A} 2. {B} 3. {C}",
        f"1) {A}\n2) {B}\n3) {C}",
        f"(1) {A} (2) {B} (3) {C}",
        f"The meanings are 1. {A} 2. {B} 3. {C}",
        f"- {A}\n- {B}\n\n- {C}\n",
        f"* {A} | * {B} | * {C}",
        f"• {A} • {B} • {C}",
        f"\"{A}\" | “{B}” | '{C}'",
        f'["{A}", "{B}", "{C}"]',
        f'```json\n[\n  "{A}",\n  "{B}",\n  "{C}"\n]\n```',
        f"['{A}', '{B}', '{C}']",
        f'["{A}", "{B}", "{C}',
        f"[{A}, {B}, {C}]",
        f'["1. {A}", "2. {B}", "3. {C}", 4, null, ["x y"]]',
        f"{A} {B} {C}",
        f"{A}; {B}; {C}",
        f'"{A}", "{B}", "{C}"',
        f"{A} {B} {C} These are all.",
        f"Question 1: {A} | Question 2: {B} | Question 3: {C}",
        f"Q1: {A}\nQ2: {B}\nQ3: {C}",
        f"{A} | {B} | {A.upper()} | {C} | who was the Ada Stone",
        f"{A} | none | {B} | x | {C} | " + "very " * 80 + "long?",
    ],
)
def test_untidy_lists(text):
    assert parse_questions(text, 5) == [A, B, C]


def test_no_more_than_asked_for_and_not_the_question_itself():
    twenty = [f"Who was Stone number {i}?" for i in range(20)]
    assert parse_questions(" | ".join(twenty), 5) == twenty[:5]
    # What is passed over takes no place.
    assert parse_questions(f"WHO WAS STONE | {A} | {A} | {B} | {C}", 2, besides="Who was Stone?") == [A, B]


@pytest.mark.parametrize(
    "text", ["", " \n ", "none", "None.", "No ambiguity", "|", "[]", "[[[", "[" * 5000, '[""]', "?"]
)
def test_nothing_to_read(text):
    assert parse_questions(text, 5) == []
    assert parse_pairs(text, 5) == []


def test_talk_is_no_question():
    assert parse_questions("I cannot tell what is meant.", 5) == []
    assert parse_questions(f'The question "{A}" is ambiguous, since there are several.', 5) == []


def test_numbers_inside_a_question_stay():
    assert parse_questions("Who composed Symphony No. 5. in C minor? | When did 1984 appear?", 5) == [
        "Who composed Symphony No. 5. in C minor?",
        "When did 1984 appear?",
    ]
    assert parse_questions("Who composed Symphony No. 1. in C?", 5) == ["Who composed Symphony No. 1. in C?"]


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from([A, B, "1. ", "| ", "- ", '["', '", "', "]", "\n", "x"])).map("".join)
    )
)
def test_whatever_is_written_gives_clean_questions(text):
    found = parse_questions(text, 3, besides=A)
    assert len(found) <= 3
    keys = [normalise(item) for item in found]
    assert len(set(keys)) == len(keys) and "" not in keys and normalise(A) not in keys
    for item in found:
        assert len(item) <= MAX_ITEM_CHARS and item == " ".join(item.split())
        assert not re.match(r"[\[\"'“”|,;*•-]|\(?\d{1,2}[).:]\s", item) and "|" not in item
        assert not item.endswith(("|", ",", '"', ";"))
        # Clean ones come out as they are.
        assert parse_questions(f"{item} | {B if item != B else C}", 2)[0] == item


@pytest.mark.parametrize(
    "text",
    [
        f"{A} -> a chemist | {B} -> a painter",
        f"1. {A} -> a chemist 2. {B} -> a painter",
        f"{A} => a chemist\n{B} → a painter",
        f"{A}: a chemist | {B} - a painter",
        f"{A} a chemist | {B} a painter",
        f'["{A} -> a chemist", "{B} -> a painter"]',
        f"Pairs: {A} -> a chemist; {B} -> a painter",
        f"- {A} -> a chemist | - {B} -> unknown | - {B} -> not in the text. | {B} -> a painter | {B} -> a nun",
        f"{A} -> | -> 1801 | {A} -> a chemist | {B} -> 'a painter'",
    ],
)
def test_untidy_pairs(text):
    assert parse_pairs(text, 5) == [Pair(A, "a chemist"), Pair(B, "a painter")]


def test_pairs_without_a_question_mark():
    assert parse_pairs("Stone the chemist: 1801 | Stone the painter -> 1900", 5) == [
        Pair("Stone the chemist", "1801"),
        Pair("Stone the painter", "1900"),
    ]
    assert parse_pairs("How cold is it? -> -5 | Which club? -> 1. FC Azure", 5) == [
        Pair("How cold is it?", "-5"),
        Pair("Which club?", "1. FC Azure"),
    ]
    assert parse_pairs("Is it so? -> No | There is nothing else", 5) == [Pair("Is it so?", "No")]
    assert len(parse_pairs(" | ".join(f"Who is {i}? -> x" for i in range(20)), 10)) == 10


@given(st.text())
def test_pairs_are_never_empty(text):
    for pair in parse_pairs(text, 4):
        assert normalise(pair.question) and pair.answer.strip()
