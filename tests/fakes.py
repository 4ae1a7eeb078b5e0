"""Stand-ins for retriever, evaluator, web and reflective model, and the questions that they know."""

import math

import numpy as np

from crag.actions import Thresholds
from crag.rewriting import RuleRewriter
from crag.self_rag.decoding import Continuation
from crag.system import Corrector
from crag.web.types import Page, SearchOutcome, SearchResult
from rag.profile import Profile
from rag.types import Hit, Passage, Question


class TableRetriever:
    """Gives each query its own passages."""

    name = "table"

    def __init__(self, table):
        self.table = table

    def retrieve(self, queries, k):
        return [[Hit(passage, 1.0) for passage in self.table.get(query, [])[:k]] for query in queries]


class MarkedEvaluator:
    """Scores a text by its first mark: + is 0.9, ~ is 0.0, anything else -0.9. Remembers the texts of each call."""

    identity = {"evaluator": "marked"}

    def __init__(self):
        self.calls = []

    def score(self, pairs):
        self.calls.append([pair.text for pair in pairs])
        return np.array([{"+": 0.9, "~": 0.0}.get(pair.text[0], -0.9) for pair in pairs])


class FakeWeb:
    """One page a query, unless the query is told to fail. Remembers what it was asked."""

    def __init__(self, broken=()):
        self.broken = broken
        self.queries = []
        self.urls = []

    def search(self, queries):
        self.queries += queries
        return [
            SearchOutcome(q, error="the server answered 500")
            if q in self.broken
            else SearchOutcome(q, (SearchResult(f"http://web/{q}", q),))
            for q in queries
        ]

    def read(self, urls):
        self.urls += urls
        return {url: Page(url, "Web", (f"+from {url}", "clutter")) for url in urls}


GOOD, UNSURE, BAD, NONE = (Question(name, f"{name}?", ("x",)) for name in ("good", "unsure", "bad", "none"))
QUESTIONS = [GOOD, UNSURE, BAD, NONE]
TABLE = {
    "good?": [Passage("g#0", "G", "+right. More of it."), Passage("g#1", "G", "wrong")],
    "unsure?": [Passage("u#0", "U", "~perhaps")],
    "bad?": [Passage("b#0", "B", "wrong")],
}


def make_corrector(web, rewriter=None, evaluator=None):
    """A corrector to which the questions above are Correct, Ambiguous, Incorrect and Incorrect."""
    evaluator = evaluator or MarkedEvaluator()
    return Corrector(TableRetriever(TABLE), evaluator, rewriter or RuleRewriter(), web, Thresholds(0.5, -0.5), top_k=2)


def continuation(text, score=1.0, ended=True):
    """A continuation of this score, above 0 and up to 2: its likelihood, and its relevance if that isn't enough."""
    likelihood, relevance = (score - 1, (1.0, 0.0)) if score > 1 else (score, (0.0, 1.0))
    return Continuation(text, 1, 1, math.log(likelihood), relevance, (), (), ended)


class ScriptedModel:
    """A reflective model that writes what `write(prompt)` gives and wants to retrieve with the same probability always.

    Tokens of prompts are words. Remembers its prompts, a list a call.
    """

    def __init__(self, write, retrieve=1.0):
        self.write = write
        self.retrieve = retrieve
        self.calls = []

    def prompt_tokens(self, prompts):
        return [len(prompt.split()) for prompt in prompts]

    def retrieval_probabilities(self, prompts):
        return np.full(len(prompts), self.retrieve)

    def continue_texts(self, prompts, max_new_tokens, segment=False):
        self.calls.append(list(prompts))
        return [self.write(prompt) for prompt in prompts]


def make_profile(**settings):
    """A profile of the smallest sizes, with these settings."""
    sizes = {"dev": 1, "test": 1}
    tasks = {"questions": {"train": 1, **sizes}, "claims": sizes, "choices": sizes, "biographies": sizes}
    return Profile(**{"name": "fakes", **tasks, **settings})
