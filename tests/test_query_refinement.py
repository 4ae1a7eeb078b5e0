"""Query refinement on a scripted model."""

import pytest
from diva_fakes import ADA, BORN, CAPITAL, CountingRetriever, WritingGenerator

from diva.query_refinement import QueryRefinement, parse_query, refinement_prompt
from rag.prompts import answer_prompt
from rag.systems import as_knowledge


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("birth of Stone", "birth of Stone"),
        ('Query: "birth of Stone"', "birth of Stone"),
        ("\n search query : birth of Stone\nmore", "birth of Stone"),
        ("“birth: Stone”", "birth: Stone"),
        ("", ""),
        (' "" ', ""),
    ],
)
def test_queries(text, query):
    assert parse_query(text) == query


def test_the_rewritten_query_is_searched_and_the_question_is_answered():
    generator = WritingGenerator(
        lambda prompt: (
            "" if "Rewrite" in prompt and "capital" in prompt else "Stone births" if "Rewrite" in prompt else "1801"
        )
    )
    retriever = CountingRetriever({"Stone births": [ADA]})
    born, capital = QueryRefinement(generator, retriever, generator, top_k=2).answer([BORN, CAPITAL])
    assert retriever.calls == [["Stone births", CAPITAL.text]]
    assert generator.calls == [
        [refinement_prompt(BORN), refinement_prompt(CAPITAL)],
        [answer_prompt(BORN, as_knowledge([ADA])), answer_prompt(CAPITAL, "")],
    ]
    assert (born.text, born.contexts, born.trace["query"]) == ("1801", ("Ada_Stone#0",), "Stone births")
    assert born.trace["rewriting"] is None and capital.trace["rewriting"].startswith("nothing was written")
    assert (capital.trace["query"], capital.trace["form"]) == (CAPITAL.text, "closed book")
    assert born.trace["calls"] == 2
    assert born.trace["cost"] == {
        "refine": [1, len(refinement_prompt(BORN).split()), 2],
        "write": [1, len(answer_prompt(BORN, as_knowledge([ADA])).split()), 1],
    }
    assert QueryRefinement(generator, retriever, generator).answer([]) == []
