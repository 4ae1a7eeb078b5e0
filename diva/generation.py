"""Adaptive generation (DIVA): from the passages in two steps, or from the model alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from diva.parsing import ARROW, SEPARATOR, Pair, parse_pairs
from diva.verification import told_answer, verification_prompt
from rag.cost import Cost, generate_each, spent
from rag.generation import Generator
from rag.prompts import OPEN_BOOK, answer_prompt, asked
from rag.types import Question, Task

MAX_PAIRS = 10
QUOTED_CHARS = 60


@dataclass(frozen=True)
class Written:
    """A long answer and the pairs that it is to cover. `form` says how it was written, `note` what went otherwise."""

    text: str
    form: str
    pairs: tuple[Pair, ...] = ()
    note: str | None = None
    cost: Cost = field(default_factory=dict)

    @property
    def trace(self) -> dict:
        return {
            "form": self.form,
            "pairs": [[pair.question, pair.answer] for pair in self.pairs],
            "generation": self.note or (None if self.text.strip() else "the model wrote nothing"),
        }


class Writer(Protocol):
    """Anything that writes long answers from knowledge that isn't empty."""

    def write(
        self, questions: Sequence[Question], interpretations: Sequence[Sequence[str]], knowledge: Sequence[str]
    ) -> list[Written]:
        """One long answer a question, in order."""


class TwoStepWriter:
    """First extract pairs of interpretation and answer from the knowledge, then write the long answer that covers them.

    Where no pair can be read, the question is answered from the knowledge as in standard RAG, with a note.
    """

    def __init__(self, generator: Generator):
        self.generator = generator

    def write(
        self, questions: Sequence[Question], interpretations: Sequence[Sequence[str]], knowledge: Sequence[str]
    ) -> list[Written]:
        extracted = self.generator.generate(
            [extraction_prompt(*of_one) for of_one in zip(questions, interpretations, knowledge, strict=True)]
        )
        pairs = [parse_pairs(completion.text, MAX_PAIRS) for completion in extracted]
        answers = self.generator.generate(
            [
                consolidation_prompt(question, known, own) if own else answer_prompt(question, known)
                for question, known, own in zip(questions, knowledge, pairs, strict=True)
            ]
        )
        return [
            Written(
                answer.text,
                "two steps" if own else "standard",
                tuple(own),
                None if own else f"no pair could be read from {extraction.text[:QUOTED_CHARS]!r}",
                {"extract": spent([extraction]), "write": spent([answer])},
            )
            for own, extraction, answer in zip(pairs, extracted, answers, strict=True)
        ]


class PerInterpretationWriter:
    """For small models: an answer to each interpretation from the knowledge (`extract_each`), joined by rule to a long one.

    An interpretation without an answer is left out, with a note. Where none has one, the question is answered from the
    knowledge as in standard RAG.
    """

    def __init__(self, extractor: Generator, generator: Generator):
        self.extractor = extractor
        self.generator = generator

    def write(
        self, questions: Sequence[Question], interpretations: Sequence[Sequence[str]], knowledge: Sequence[str]
    ) -> list[Written]:
        extracted = extract_each(self.extractor, interpretations, knowledge)
        lacking = [i for i, own in enumerate(extracted) if not own.pairs]
        direct = answer_directly(self.generator, [questions[i] for i in lacking], [knowledge[i] for i in lacking])
        others = dict(zip(lacking, direct, strict=True))
        written = []
        for i, (own, texts) in enumerate(zip(extracted, interpretations, strict=True)):
            missing = len(texts) - len(own.pairs)
            note = f"{missing} of {len(texts)} interpretations have no answer" if missing else None
            if other := others.get(i):
                written.append(replace(other, note=note, cost={**own.cost, **other.cost}))
            else:
                written.append(Written(join_answers(own.pairs), "joined by rule", own.pairs, note, own.cost))
        return written


@dataclass(frozen=True)
class Extracted:
    """Interpretations with their answers, and what it cost to find them."""

    pairs: tuple[Pair, ...]
    cost: Cost


def extract_each(
    extractor: Generator, interpretations: Sequence[Sequence[str]], knowledge: Sequence[str]
) -> list[Extracted]:
    """The answer of each interpretation that the knowledge has one for, a call each: by a generator that replies as the
    verifier's prompt asks, no, or yes and the answer."""
    prompts = [
        [verification_prompt(known, text) for text in own]
        for own, known in zip(interpretations, knowledge, strict=True)
    ]
    return [
        Extracted(
            tuple(
                Pair(text, answer)
                for text, reply in zip(own, replies, strict=True)
                if (answer := told_answer(reply.text))
            ),
            {"extract": spent(replies)},
        )
        for own, replies in zip(interpretations, generate_each(extractor, prompts), strict=True)
    ]


def join_answers(pairs: Sequence[Pair]) -> str:
    """Pairs as a long answer, by a plain rule: a sentence each, of the question, a colon and its answer."""
    return " ".join(f"{pair.question.rstrip('?')}: {pair.answer.rstrip('.')}." for pair in pairs)


def answer_directly(generator: Generator, questions: Sequence[Question], knowledge: Sequence[str]) -> list[Written]:
    """By the prompt of standard RAG from the knowledge, or where that is empty by the closed-book one."""
    completions = generator.generate([answer_prompt(*of_one) for of_one in zip(questions, knowledge, strict=True)])
    return [
        Written(completion.text, "standard" if known else "closed book", cost={"write": spent([completion])})
        for known, completion in zip(knowledge, completions, strict=True)
    ]


def extraction_prompt(question: Question, interpretations: Sequence[str], knowledge: str) -> str:
    """Ask for the answer of each interpretation that the text has one for, on one line."""
    listed = "\n".join(f"- {text}" for text in interpretations)
    return (
        f"Text:\n{knowledge}\n\n{asked(question)}\nIt can stand for:\n{listed}\n\n"
        "Write those of the listed questions that the text answers, each with its answer in a few words, on one line: "
        f"question{ARROW}answer{SEPARATOR}question{ARROW}answer. Leave out what the text doesn't answer."
    )


def consolidation_prompt(question: Question, knowledge: str, pairs: Sequence[Pair]) -> str:
    """Ask for the long answer that covers the pairs."""
    listed = "\n".join(f"- {pair.question}{ARROW}{pair.answer}" for pair in pairs)
    return (
        f"Text:\n{knowledge}\n\n{asked(question)}\nIts meanings and their answers:\n{listed}\n\n"
        f"{OPEN_BOOK[Task.AMBIGUOUS]} Cover all the meanings above."
    )
