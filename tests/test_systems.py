"""The systems end to end on fakes: what each stage sees, and what the trace says."""

import numpy as np
import pytest

from crag.actions import Thresholds
from crag.rewriting import keywords
from crag.system import Crag, score_hits
from crag.web.client import Page, SearchOutcome, SearchResult
from rag.prompts import closed_book, open_book
from rag.systems import ClosedBook, StandardRag
from rag.types import Hit, Passage, Question


class TableRetriever:
    """Gives each query its own passages."""

    name = "table"

    def __init__(self, table):
        self.table = table

    def retrieve(self, queries, k):
        return [[Hit(passage, 1.0) for passage in self.table.get(query, [])[:k]] for query in queries]


class MarkedEvaluator:
    """Scores a text by its first mark: + is 0.9, ~ is 0.0, anything else -0.9."""

    identity = {"evaluator": "marked"}

    def __init__(self):
        self.calls = []

    def score(self, pairs):
        self.calls.append(len(pairs))
        return np.array([{"+": 0.9, "~": 0.0}.get(pair.text[0], -0.9) for pair in pairs])


class FakeWeb:
    """One page a query, unless the query is told to fail."""

    def __init__(self, broken=()):
        self.broken = broken
        self.queries = []

    def search(self, queries):
        self.queries += queries
        return [
            SearchOutcome(q, error="the server answered 500")
            if q in self.broken
            else SearchOutcome(q, (SearchResult(f"http://web/{q}", q),))
            for q in queries
        ]

    def read(self, urls):
        return {url: Page(url, "Web", (f"+from {url}", "clutter")) for url in urls}


GOOD, UNSURE, BAD, NONE = (Question(name, f"{name}?", ("x",)) for name in ("good", "unsure", "bad", "none"))
TABLE = {
    "good?": [Passage("g#0", "G", "+right. More of it."), Passage("g#1", "G", "wrong")],
    "unsure?": [Passage("u#0", "U", "~perhaps")],
    "bad?": [Passage("b#0", "B", "wrong")],
}
QUESTIONS = [GOOD, UNSURE, BAD, NONE]


def make_crag(echo, web, top_k=2):
    return Crag(TableRetriever(TABLE), MarkedEvaluator(), echo, web, Thresholds(0.5, -0.5), top_k)


def test_closed_book_and_standard_rag(echo):
    answers = ClosedBook(echo).answer(QUESTIONS)
    assert [answer.question_id for answer in answers] == ["good", "unsure", "bad", "none"]
    assert echo.prompts == [closed_book(question.text) for question in QUESTIONS]
    echo.prompts.clear()
    answers = StandardRag(TableRetriever(TABLE), echo, top_k=2).answer(QUESTIONS)
    assert echo.prompts[0] == open_book("good?", "G: +right. More of it.\nG: wrong")
    assert echo.prompts[3] == closed_book("none?")  # nothing was retrieved
    assert [answer.contexts for answer in answers] == [("g#0", "g#1"), ("u#0",), ("b#0",), ()]


def test_crag_acts_on_each_question(echo):
    web = FakeWeb()
    crag = make_crag(echo, web)
    good, unsure, bad, none = crag.answer(QUESTIONS)
    assert [answer.trace["action"] for answer in (good, unsure, bad, none)] == [
        "correct",
        "ambiguous",
        "incorrect",
        "incorrect",
    ]
    assert web.queries == [keywords(q) for q in ("unsure?", "bad?", "none?")]  # no search where retrieval is right
    assert good.contexts == ("g#0",)
    assert unsure.contexts == ("u#0", "http://web/unsure")  # internal, then external
    assert bad.contexts == ("http://web/bad",)
    assert echo.prompts == [
        open_book("good?", "G: +right. More of it."),
        open_book("unsure?", "U: ~perhaps\nWeb: +from http://web/unsure"),
        open_book("bad?", "Web: +from http://web/bad"),
        open_book("none?", "Web: +from http://web/none"),
    ]
    assert crag.evaluator.calls == [4, 2 + 1 + 2 * 3]  # passages, then all strips at once


def test_a_failed_search_gives_no_knowledge_and_says_so(echo):
    answers = make_crag(echo, FakeWeb(broken={"bad"})).answer([BAD, UNSURE])
    assert answers[0].trace["errors"] == ["the server answered 500"]
    assert answers[0].contexts == ()
    assert echo.prompts[0] == closed_book("bad?")
    assert answers[1].trace["errors"] == []  # the neighbour is not touched
    assert answers[1].contexts == ("u#0", "http://web/unsure")


def test_answers_do_not_depend_on_the_batch(echo):
    together = make_crag(echo, FakeWeb()).answer(QUESTIONS)
    alone = [make_crag(echo, FakeWeb()).answer([question])[0] for question in QUESTIONS]
    assert together == alone
    assert make_crag(echo, FakeWeb()).answer([]) == []


def test_scores_stay_with_their_questions():
    retrieved = [[], [Hit(TABLE["good?"][0], 1.0), Hit(TABLE["good?"][1], 1.0)], [], [Hit(TABLE["unsure?"][0], 1.0)]]
    assert score_hits(QUESTIONS, retrieved, MarkedEvaluator()) == [[], [0.9, -0.9], [], [0.0]]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("In what year was the chemist Ada Stone born?", "chemist Ada Stone born"),
        ("Who wrote The Waves?", "wrote Waves"),
        ("Where is it?", "Where is it?"),  # nothing left: the question itself
        ("What is J. R. R. Tolkien's U.S. publisher?", "J R R Tolkien's U.S publisher"),
    ],
)
def test_keywords(question, expected):
    assert keywords(question) == expected
