"""Diversifying a question: what makes it ambiguous, and the specific questions that it can stand for (DIVA §3.1).

The two calls of the paper, or one merged call; for small models one call that is shown the titles of a first retrieval.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol

import numpy as np

from diva.parsing import SEPARATOR, first_line, parse_questions, says_nothing
from rag.cost import Cost, spent
from rag.encoding import Encoder
from rag.errors import RagError
from rag.generation import Generator
from rag.retrieval import Retriever
from rag.scoring.ambiguous import Matching, holds
from rag.scoring.text import normalise
from rag.types import Interpretation, Question

MAX_INTERPRETATIONS = 5
SHOTS = 5
TITLES_DEPTH = 20
QUOTED_CHARS = 60

UNAMBIGUOUS = "no ambiguity"
REPEATED = "the question itself was all that was written"


class Ambiguity(StrEnum):
    """What in a question can be understood in several ways (DIVA §3.1)."""

    SUBJECT = "subject"
    OBJECT = "object"
    PREDICATE = "predicate"
    TIME = "time"
    LOCATION = "location"
    NONE = "none"


MEANINGS = {
    Ambiguity.SUBJECT: "several people, works, places or things bear the name of what is asked about",
    Ambiguity.OBJECT: "several things fit what is asked for",
    Ambiguity.PREDICATE: "what is said to happen, or how things stand to one another, has several senses",
    Ambiguity.TIME: "the answer is another one at another time",
    Ambiguity.LOCATION: "the answer is another one at another place",
    Ambiguity.NONE: "there is one way to understand the question",
}
NAMES = {
    **{kind.value: kind for kind in Ambiguity},
    "temporal": Ambiguity.TIME,
    "place": Ambiguity.LOCATION,
    "geographical": Ambiguity.LOCATION,
    "verb": Ambiguity.PREDICATE,
    "unambiguous": Ambiguity.NONE,
    "not ambiguous": Ambiguity.NONE,
    "no ambiguity": Ambiguity.NONE,
}
LABEL = re.compile(r"^\W*(?:kinds?|types?|ambiguity|analysis)(?: of ambiguity)?\s*:\s*", re.IGNORECASE)
NAMED = re.compile(rf"\b(?:{'|'.join(NAMES)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Demonstration:
    """A question that is taken apart, as an example in a prompt."""

    question: str
    kinds: tuple[Ambiguity, ...]
    reason: str
    interpretations: tuple[str, ...]

    @property
    def ambiguous(self) -> bool:
        return Ambiguity.NONE not in self.kinds


@dataclass(frozen=True)
class Interpreted:
    """A question's interpretations, at least one. `kinds` is empty where no kind was named; `note` says why the
    question is its own only interpretation, where it is."""

    interpretations: tuple[str, ...]
    kinds: tuple[Ambiguity, ...] = ()
    reason: str = ""
    note: str | None = None
    cost: Cost = field(default_factory=dict)

    @property
    def trace(self) -> dict:
        return {
            "kinds": [kind.value for kind in self.kinds],
            "reason": self.reason,
            "interpretations": list(self.interpretations),
            "note": self.note,
        }


class Interpreter(Protocol):
    """Anything that says what questions can mean."""

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        """One result a question, in order."""


class NoInterpreter:
    """Every question stands for itself alone: standard retrieval."""

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        return [Interpreted((question.text,), note="not interpreted") for question in questions]


class GoldInterpreter:
    """The annotated interpretations, all of them: the upper bound. Raises `RagError` for a question without any."""

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        for question in questions:
            if not question.interpretations:
                raise RagError(f"question {question.id!r} has no gold interpretations: take another interpreter")
        return [Interpreted(tuple(dict.fromkeys(own.text for own in q.interpretations))) for q in questions]


class Demonstrations:
    """Examples to choose from, for each question those nearest to it (cosine of the embeddings), the nearest last."""

    def __init__(self, pool: Sequence[Demonstration], encoder: Encoder, shots: int = SHOTS):
        self.pool = list(pool)
        self.encoder = encoder
        self.shots = shots

    @cached_property
    def _vectors(self) -> np.ndarray:
        return self.encoder.encode([demonstration.question for demonstration in self.pool])

    def nearest(self, questions: Sequence[str], ambiguous_only: bool = False) -> list[list[Demonstration]]:
        """At most `shots` examples a question. A question is no example for itself."""
        usable = [i for i, one in enumerate(self.pool) if one.ambiguous or not ambiguous_only]
        if not usable or not questions:
            return [[] for _ in questions]
        cosines = self.encoder.encode(list(questions)) @ self._vectors[usable].T
        chosen = []
        for question, row in zip(questions, cosines, strict=True):
            ranked = [self.pool[usable[i]] for i in np.argsort(-row, kind="stable")]
            others = [one for one in ranked if one.question != question]
            chosen.append(others[: self.shots][::-1])
        return chosen


class TwoStepInterpreter:
    """First the kinds of ambiguity with a reason, then with that the pseudo-interpretations (DIVA §3.1: I_a, I_p).

    A question that is said to have no ambiguity takes one call and stands for itself, and so does, with a note, one of
    which nothing could be read.
    """

    def __init__(self, generator: Generator, demonstrations: Demonstrations, limit: int = MAX_INTERPRETATIONS):
        self.generator = generator
        self.demonstrations = demonstrations
        self.limit = limit

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        texts = [question.text for question in questions]
        shots = self.demonstrations.nearest(texts)
        analyses = self.generator.generate([analysis_prompt(*asked) for asked in zip(texts, shots, strict=True)])
        read = [parse_analysis(completion.text) for completion in analyses]
        unclear = [i for i, (kinds, reason) in enumerate(read) if Ambiguity.NONE not in kinds and (kinds or reason)]

        shots = self.demonstrations.nearest([texts[i] for i in unclear], ambiguous_only=True)
        lists = self.generator.generate(
            [interpretation_prompt(texts[i], *read[i], own, self.limit) for i, own in zip(unclear, shots, strict=True)]
        )
        written = dict(zip(unclear, lists, strict=True))
        results = []
        for i, text in enumerate(texts):
            cost = {"analyse": spent([analyses[i]])}
            if i in written:
                cost["interpret"] = spent([written[i]])
                results.append(_interpreted(text, *read[i], written[i].text, self.limit, cost))
            elif read[i][0]:
                results.append(Interpreted((text,), *read[i], UNAMBIGUOUS, cost))
            else:
                results.append(Interpreted((text,), note="the analysis was empty", cost=cost))
        return results


class MergedInterpreter:
    """Kinds, reason and pseudo-interpretations in one call: the variant that the paper reports to be worse."""

    def __init__(self, generator: Generator, demonstrations: Demonstrations, limit: int = MAX_INTERPRETATIONS):
        self.generator = generator
        self.demonstrations = demonstrations
        self.limit = limit

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        texts = [question.text for question in questions]
        shots = self.demonstrations.nearest(texts)
        prompts = [merged_prompt(text, own, self.limit) for text, own in zip(texts, shots, strict=True)]
        results = []
        for text, completion in zip(texts, self.generator.generate(prompts), strict=True):
            cost = {"interpret": spent([completion])}
            kinds, reason, rest = parse_merged(completion.text)
            if Ambiguity.NONE in kinds:
                results.append(Interpreted((text,), kinds, reason, UNAMBIGUOUS, cost))
            else:
                results.append(_interpreted(text, kinds, reason, rest, self.limit, cost))
        return results


class TitlesInterpreter:
    """One call that is shown the distinct titles among the first `depth` passages of a first retrieval.

    For a small model that was trained for it: it doesn't know what bears a name. It names no kind of ambiguity.
    """

    def __init__(
        self,
        generator: Generator,
        retriever: Retriever,
        depth: int = TITLES_DEPTH,
        limit: int = MAX_INTERPRETATIONS,
    ):
        self.generator = generator
        self.retriever = retriever
        self.depth = depth
        self.limit = limit

    def interpret(self, questions: Sequence[Question]) -> list[Interpreted]:
        texts = [question.text for question in questions]
        pages = first_titles(self.retriever, texts, self.depth)
        titles = [list(dict.fromkeys(found.values())) for found in pages]
        completions = self.generator.generate([titles_prompt(*asked) for asked in zip(texts, titles, strict=True)])
        results = []
        for text, completion in zip(texts, completions, strict=True):
            cost = {"interpret": spent([completion])}
            results.append(_interpreted(text, (), "", completion.text, self.limit, cost))
        return results


def first_titles(retriever: Retriever, texts: Sequence[str], depth: int) -> list[dict[str, str]]:
    """Titles by article of the first `depth` passages for each text, in the order found; pages without one are left out."""
    return [
        {hit.passage.article_id: hit.passage.title for hit in hits if hit.passage.title}
        for hits in retriever.retrieve(list(texts), depth)
    ]


def page_name(article_id: str) -> str:
    """What a page is called, without what its title adds to tell it from others: "Mercury", "Leopold I"."""
    return re.split(r" \(|, ", article_id.replace("_", " "))[0]


def means(text: str, interpretation: Interpretation, question: str) -> bool:
    """Whether a text stands for an interpretation of a question: it says the same after normalising, or it names the page
    where the question doesn't."""
    if normalise(text) == normalise(interpretation.text):
        return True
    name = [page_name(interpretation.article_id)] if interpretation.article_id else []
    return holds(text, name, Matching.TOKEN) and not holds(question, name, Matching.TOKEN)


def _interpreted(
    question: str, kinds: tuple[Ambiguity, ...], reason: str, written: str, limit: int, cost: Cost
) -> Interpreted:
    """The interpretations in what was written, or the question itself and why."""
    if found := parse_questions(written, limit, besides=question):
        return Interpreted(tuple(found), kinds, reason, cost=cost)
    if parse_questions(written, 1):
        note = REPEATED
    elif written.strip() and says_nothing(written):
        note = UNAMBIGUOUS
    else:
        note = f"no interpretation could be read from {written[:QUOTED_CHARS]!r}"
    return Interpreted((question,), kinds, reason, note, cost)


def parse_analysis(text: str) -> tuple[tuple[Ambiguity, ...], str]:
    """The kinds of ambiguity that an analysis names, in the order of `Ambiguity`, and its reason.

    The kinds stand before the first "|", or without one anywhere. "None" counts where it is named first. An analysis
    that names no kind is all reason.
    """
    line = LABEL.sub("", first_line(text))
    named, bar, reason = line.partition("|")
    found = [NAMES[name.lower()] for name in NAMED.findall(named)]
    if not found:
        return (), line.strip(" |")
    kinds = {Ambiguity.NONE} if found[0] == Ambiguity.NONE else set(found) - {Ambiguity.NONE}
    if not bar:
        reason = line if re.search(r"\w", re.sub(r"\b(?:and|or)\b", "", NAMED.sub("", line))) else ""
    return tuple(kind for kind in Ambiguity if kind in kinds), reason.strip(" |")


def parse_merged(text: str) -> tuple[tuple[Ambiguity, ...], str, str]:
    """Kinds, reason (which may be left out) and the rest of a merged call; all is rest where no kinds come first."""
    first, reason, rest = (*re.split(r"\s*[|\n]\s*", text.strip(), maxsplit=2), "", "")[:3]
    kinds, _ = parse_analysis(first)
    if not kinds:
        return (), "", text
    return (kinds, "", f"{reason}{SEPARATOR}{rest}") if reason.endswith("?") else (kinds, reason, rest)


def analysis_prompt(question: str, shots: Sequence[Demonstration]) -> str:
    """Ask for the kinds of ambiguity with a reason (I_a)."""
    examples = "".join(f"{_analysed(one)}\n\n" for one in shots)
    return (
        f"{_kinds()}\n\nName the kinds of ambiguity of the last question and the reason, on one line: "
        f"first the kinds with commas between them, then {SEPARATOR.strip()}, then the reason in one sentence.\n\n"
        f"{examples}Question: {question}\nAmbiguity:"
    )


def interpretation_prompt(
    question: str, kinds: Sequence[Ambiguity], reason: str, shots: Sequence[Demonstration], limit: int
) -> str:
    """Ask for the pseudo-interpretations, given the analysis (I_p)."""
    examples = "".join(
        f"{_analysed(one)}\nInterpretations: {interpretations_line(one.interpretations)}\n\n" for one in shots
    )
    return (
        "Write the specific questions that the last question can stand for, such that each has one answer: at most "
        f"{limit}, all on one line, with {SEPARATOR.strip()} between them. Don't answer them.\n\n"
        f"{examples}Question: {question}\nAmbiguity: {_analysis(kinds, reason)}\nInterpretations:"
    )


def merged_prompt(question: str, shots: Sequence[Demonstration], limit: int) -> str:
    """Ask for kinds, reason and pseudo-interpretations at once."""
    examples = "".join(
        f"Question: {one.question}\nAnalysis: {_analysis(one.kinds, one.reason)}{SEPARATOR}"
        f"{interpretations_line(one.interpretations)}\n\n"
        for one in shots
    )
    return (
        f"{_kinds()}\n\nOf the last question name the kinds of ambiguity, then the reason in one sentence, then the "
        f"specific questions that it can stand for, at most {limit}: all on one line, with commas between the kinds and "
        f"{SEPARATOR.strip()} between all else. Don't answer the questions.\n\n"
        f"{examples}Question: {question}\nAnalysis:"
    )


def titles_prompt(question: str, titles: Sequence[str]) -> str:
    """Ask for the interpretations, given the titles of the pages that a first retrieval found."""
    return f"Question: {question}\nPages found: {SEPARATOR.join(titles)}\nInterpretations:"


def interpretations_line(interpretations: Sequence[str]) -> str:
    """Interpretations as the one line that is asked for: what a model is shown and trained to write."""
    return SEPARATOR.join(interpretations)


def _kinds() -> str:
    return (
        "A question is ambiguous if it can be understood in several ways that have different answers. "
        "These are the kinds of ambiguity:\n"
    ) + "\n".join(f"{kind.value}: {meaning}" for kind, meaning in MEANINGS.items())


def _analysis(kinds: Sequence[Ambiguity], reason: str) -> str:
    named = ", ".join(kind.value for kind in kinds)
    return SEPARATOR.join(part for part in (named, reason) if part)


def _analysed(one: Demonstration) -> str:
    return f"Question: {one.question}\nAmbiguity: {_analysis(one.kinds, one.reason)}"
