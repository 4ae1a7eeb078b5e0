"""Questions as search queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.rewriting import (
    GeneratorRewriter,
    NoRewriter,
    Rewrite,
    RuleRewriter,
    keyword_prompt,
    keywords,
    parse_keywords,
)
from rag.cost import Spent
from rag.types import Completion

QUESTION = "In what year was the chemist Ada Stone born?"


class ScriptedGenerator:
    """Writes the given completions in turn and remembers the prompts, which are of 90 tokens; words are tokens."""

    identity = {"model": "scripted"}

    def __init__(self, *texts):
        self.texts = texts
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [Completion(text, 90, len(text.split())) for _, text in zip(prompts, self.texts, strict=True)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (QUESTION, "chemist Ada Stone born"),
        ("Who wrote The Waves?", "wrote Waves"),
        ("Where is it?", "Where is it?"),  # nothing left: the question itself
        ("What is J. R. R. Tolkien's U.S. publisher?", "J R R Tolkien's U.S publisher"),
    ],
)
def test_keywords(question, expected):
    assert keywords(question) == expected
    assert RuleRewriter().rewrite([question]) == [Rewrite(expected)]


def test_no_rewriting_is_the_question():
    assert NoRewriter().rewrite([QUESTION, "Why?"]) == [Rewrite(QUESTION), Rewrite("Why?")]


@given(st.text(min_size=1))
def test_the_prompt_holds_the_question_whole(question):
    assert keyword_prompt(question).endswith(f"\n\nQuestion: {question}\nKeywords:")


def test_the_prompt_has_four_shots_of_at_most_three_keywords():
    *shots, last = keyword_prompt("{question} %s {0}?").split("Question: ")[1:]
    assert last.startswith("{question} %s {0}?") and len(shots) == 4
    for shot in shots:
        question, answer = shot.strip().split("\nKeywords: ")
        assert 2 <= len(parse_keywords(answer)) <= 3
        assert parse_keywords(answer) == answer.split(", ")
        assert set(keywords(question).lower().split()) & set(answer.lower().replace(",", "").split())


def test_the_generator_sees_every_question_in_one_batch():
    generator = ScriptedGenerator("Ada Stone, chemist, birth year", "Azuria, capital")
    questions = [QUESTION, "What is the capital of Azuria?"]
    assert GeneratorRewriter(generator).rewrite(questions) == [
        Rewrite("Ada Stone, chemist, birth year", cost={"rewrite": Spent(1, 90, 5)}),
        Rewrite("Azuria, capital", cost={"rewrite": Spent(1, 90, 2)}),
    ]
    assert generator.prompts == [keyword_prompt(question) for question in questions]
    assert GeneratorRewriter(ScriptedGenerator()).rewrite([]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Stone, chemist", ["Ada Stone", "chemist"]),
        (
            " Keywords:  Ada Stone ,chemist , ada stone, birth, place.\nQuestion: more",
            ["Ada Stone", "chemist", "birth"],
        ),
        ('"Ada Stone", “chemist”, ', ["Ada Stone", "chemist"]),
        ("Ada Stone", ["Ada Stone"]),
        ("", []),
        (" \n Ada", ["Ada"]),
        (", ,--, ...", []),
    ],
)
def test_completions_as_keywords(text, expected):
    assert parse_keywords(text) == expected


@pytest.mark.parametrize("text", ["", "...", "Keywords:", "Oskar Lindqvarn, violin maker", "the, in, was"])
def test_a_lost_question_falls_back_to_the_rule_and_says_so(text):
    (rewrite,) = GeneratorRewriter(ScriptedGenerator(text)).rewrite([QUESTION])
    assert rewrite.query == "chemist Ada Stone born"
    assert rewrite.note == f"keywords by rule: the rewriter lost the question, it wrote {text!r}"
    assert rewrite.cost == {"rewrite": Spent(1, 90, len(text.split()))}


@given(st.text())
def test_every_question_has_a_query_of_its_own_words(text):
    (rewrite,) = GeneratorRewriter(ScriptedGenerator(text)).rewrite([QUESTION])
    assert any(word in rewrite.query.lower() for word in ("chemist", "ada", "stone", "born"))
    assert rewrite.note is not None or len(rewrite.query.split(", ")) <= 3
