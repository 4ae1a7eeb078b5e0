"""Rewriting a question into a search query."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rag.cost import Cost, spent
from rag.generation import Generator
from rag.types import Completion

MAX_KEYWORDS = 3
QUOTED_CHARS = 60

# Words that only make a question a question: searching for them finds nothing.
QUESTION_WORDS = frozenset(
    (
        "a an the of in on at to by for from with and or is are was were be did do does have has had it its what which "
        "who whom whose when where why how that this those these year part living"
    ).split()
)


@dataclass(frozen=True)
class Rewrite:
    """The search query for a question and what it cost; `note` says why it isn't the rewriter's own, where it isn't."""

    query: str
    note: str | None = None
    cost: Cost = field(default_factory=dict)


class Rewriter(Protocol):
    """Anything that turns questions into search queries."""

    def rewrite(self, questions: Sequence[str]) -> list[Rewrite]:
        """One query a question, in order."""


class NoRewriter:
    """Searches for the question itself: CRAG without rewriting (CRAG §5.5, Table 3)."""

    def rewrite(self, questions: Sequence[str]) -> list[Rewrite]:
        return [Rewrite(question) for question in questions]


class RuleRewriter:
    """The question's words without function words. The baseline that needs no model."""

    def rewrite(self, questions: Sequence[str]) -> list[Rewrite]:
        return [Rewrite(keywords(question)) for question in questions]


class GeneratorRewriter:
    """At most three keywords, comma-separated, by a language model from four examples (CRAG §4.5).

    Where the model writes no keyword, or none that has a word of the question, the rule's keywords are searched for and
    the note says so. The embedded 135M model is too small for the task: it answers the question instead.
    """

    def __init__(self, generator: Generator):
        self.generator = generator

    def rewrite(self, questions: Sequence[str]) -> list[Rewrite]:
        completions = self.generator.generate([keyword_prompt(question) for question in questions])
        return [self._checked(*of_one) for of_one in zip(questions, completions, strict=True)]

    def _checked(self, question: str, completion: Completion) -> Rewrite:
        cost = {"rewrite": spent([completion])}
        written = parse_keywords(completion.text)
        if words(", ".join(written)) & words(keywords(question)):
            return Rewrite(", ".join(written), cost=cost)
        note = f"keywords by rule: the rewriter lost the question, it wrote {completion.text[:QUOTED_CHARS]!r}"
        return Rewrite(keywords(question), note, cost)


def keyword_prompt(question: str) -> str:
    """Ask for the keywords of a search query, with four examples."""
    return (
        "Write a web search for the question, don't answer it: "
        f"at most {MAX_KEYWORDS} keywords or names, separated by commas.\n\n"
        "Question: In which town did the violin maker Oskar Lindqvarn open his workshop?\n"
        "Keywords: Oskar Lindqvarn, violin maker, workshop town\n\n"
        "Question: What is Mirela Tannhoff's job?\n"
        "Keywords: Mirela Tannhoff, job\n\n"
        "Question: Is it true that drinking seawater cures a cold?\n"
        "Keywords: drinking seawater, cold cure\n\n"
        "Question: Which gas do green plants take from the air to grow: helium, carbon dioxide or argon?\n"
        "Keywords: green plants, gas taken from air, growth\n\n"
        f"Question: {question}\n"
        "Keywords:"
    )


def parse_keywords(text: str) -> list[str]:
    """The keywords in a completion: those of its first line, at most three, each once."""
    line = next(iter(text.strip().splitlines()), "")
    parts = re.sub(r"^\W*keywords?\s*:", "", line, flags=re.IGNORECASE).split(",")
    cleaned = (" ".join(part.split()).strip(" .;:\"'“”‘’`*[]") for part in parts)
    distinct: dict[str, str] = {}
    for part in filter(words, cleaned):
        distinct.setdefault(part.casefold(), part)
    return list(distinct.values())[:MAX_KEYWORDS]


def words(text: str) -> set[str]:
    """The words of a text, lower-cased."""
    return set(re.findall(r"\w+", text.casefold()))


def keywords(question: str) -> str:
    """The question's words without function words, in order; the question itself where nothing is left."""
    found = re.findall(r"[\w'’.-]*\w", question)
    return " ".join(word for word in found if word.lower() not in QUESTION_WORDS) or question
