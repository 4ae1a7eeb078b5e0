"""Retrieval verification (DIVA): do the kept passages answer each interpretation?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from diva.diversification import Candidates, Kept
from rag.cost import Cost, spent
from rag.errors import RagError
from rag.generation import Generator
from rag.systems import as_knowledge
from rag.types import NextWords

WORDS = YES, NO = ("yes", "no")
THRESHOLD = 0.5
DECIMALS = 4


class Usefulness(StrEnum):
    """What the passages are good for: all, some or none of the interpretations are answered in them."""

    USEFUL = "useful"
    PARTIALLY_USEFUL = "partially useful"
    USELESS = "useless"


@dataclass(frozen=True)
class Verdict:
    """Whether an interpretation is answered. `chance` is P(yes) / (P(yes) + P(no)), where the model was asked and gives
    either any probability; `note` says why not, where not."""

    answered: bool
    chance: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Verified:
    """A question's passages as judged: a verdict an interpretation, none where nothing was judged."""

    usefulness: Usefulness
    verdicts: tuple[Verdict, ...] = ()
    cost: Cost = field(default_factory=dict)

    @property
    def trace(self) -> dict:
        return {
            "usefulness": self.usefulness.value,
            "verdicts": [["yes" if own.answered else "no", own.chance, own.note] for own in self.verdicts],
        }


class Verifier(Protocol):
    """Anything that judges what was kept of the candidates."""

    def verify(self, candidates: Sequence[Candidates], kept: Sequence[Kept]) -> list[Verified]:
        """One result a question, in order, with a verdict for each interpretation."""


class GeneratorVerifier:
    """The likelihood of yes against no: answered where P(yes) / (P(yes) + P(no)) reaches the threshold.

    The passages stand first in the prompt, so they are computed once for all interpretations of a question. Without
    passages, and for an interpretation that nothing was retrieved for, the verdict is no without a call.
    """

    def __init__(self, generator: Generator, threshold: float = THRESHOLD):
        if not 0 < threshold <= 1:
            raise RagError(f"the threshold of verification is {threshold}: it lies in (0, 1]")
        self.generator = generator
        self.threshold = threshold

    def verify(self, candidates: Sequence[Candidates], kept: Sequence[Kept]) -> list[Verified]:
        asked = [
            [i for i, hits in enumerate(own.hits) if hits and passages.passages]
            for own, passages in zip(candidates, kept, strict=True)
        ]
        prefixes = [verification_prefix(as_knowledge(own.passages)) for own in kept]
        endings = [[own.interpretations[i] for i in places] for own, places in zip(candidates, asked, strict=True)]
        found = self._ask(prefixes, endings)
        verified = []
        for own, passages, places, replies in zip(candidates, kept, asked, found, strict=True):
            judged = {i: self._verdict(reply) for i, reply in zip(places, replies, strict=True)}
            missing = "nothing was retrieved for it" if passages.passages else "there are no passages"
            verdicts = [judged.get(i, Verdict(False, note=missing)) for i in range(len(own.interpretations))]
            verified.append(Verified(usefulness(verdicts), tuple(verdicts), {"verify": spent(replies)}))
        return verified

    def _ask(self, prefixes: list[str], endings: list[list[str]]) -> list[list[NextWords]]:
        """Replies by question; questions without an interpretation to ask for aren't asked."""
        asked = [i for i, own in enumerate(endings) if own]
        found = self.generator.next_words([prefixes[i] for i in asked], [endings[i] for i in asked], WORDS)
        by_place: Mapping[int, list[NextWords]] = dict(zip(asked, found, strict=True))
        return [by_place.get(i, []) for i in range(len(endings))]

    def _verdict(self, reply: NextWords) -> Verdict:
        yes, no = reply.probabilities
        if not yes + no > 0:
            return Verdict(False, note="the model gives neither yes nor no a probability")
        chance = round(yes / (yes + no), DECIMALS)
        return Verdict(chance >= self.threshold, chance)


def usefulness(verdicts: Sequence[Verdict]) -> Usefulness:
    """Useful where all are answered, useless where none is, else partially useful (DIVA)."""
    answered = [own.answered for own in verdicts]
    if not any(answered):
        return Usefulness.USELESS
    return Usefulness.USEFUL if all(answered) else Usefulness.PARTIALLY_USEFUL


def verification_prefix(knowledge: str) -> str:
    """What stands before the interpretation, the same for all of a question: the passages and what to say of them."""
    return (
        f"Text:\n{knowledge}\n\n"
        f"Does the text tell the answer to the question below? Reply {NO}, or {YES} and then the answer.\n\nQuestion: "
    )


def verification_prompt(knowledge: str, interpretation: str) -> str:
    """The whole prompt for one interpretation."""
    return verification_prefix(knowledge) + interpretation


def told_answer(reply: str) -> str:
    """The answer behind a yes; empty where there is none."""
    word, _, answer = reply.partition(":")
    return answer.strip() if word.strip().lower() == YES else ""
