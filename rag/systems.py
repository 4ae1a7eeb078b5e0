"""What answers questions. A system works on the whole list at once: each of its stages is one batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rag.corpus import titled
from rag.cost import Cost, cost_trace, spent
from rag.generation import Generator
from rag.prompts import answer_prompt
from rag.retrieval import Retriever
from rag.types import Answer, Completion, Passage, Question


class System(Protocol):
    """Anything that answers questions. `name` is its name in every table."""

    name: str

    def answer(self, questions: list[Question]) -> list[Answer]:
        """One answer a question, in order."""


class Reader(Protocol):
    """Anything that answers questions from given knowledge."""

    def read(self, questions: list[Question], knowledge: list[str]) -> list[Completion]:
        """One answer a question, in order, with its tokens; where the knowledge is empty, from memory."""


@dataclass(frozen=True)
class Correction:
    """Other knowledge on a question: its text, a line a piece, or nothing; and the ids or addresses that it is from."""

    text: str
    sources: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    cost: Cost = field(default_factory=dict)


class Corrective(Protocol):
    """Anything that finds other knowledge where the retrieved passages don't answer a question, or not all it can mean."""

    def correct(self, questions: list[Question]) -> list[Correction]:
        """One correction a question, in order."""


class GeneratorReader:
    """A generator that is asked with the prompt of the question's task."""

    def __init__(self, generator: Generator):
        self.generator = generator

    def read(self, questions: list[Question], knowledge: list[str]) -> list[Completion]:
        prompts = [answer_prompt(question, known) for question, known in zip(questions, knowledge, strict=True)]
        return list(self.generator.generate(prompts))


def as_knowledge(passages: Sequence[Passage]) -> str:
    """Passages as the text of a prompt, in the given order."""
    return "\n".join(titled(passage.title, passage.text) for passage in passages)


class ClosedBook:
    """The generator alone."""

    name = "closed-book"

    def __init__(self, reader: Reader):
        self.reader = reader

    def answer(self, questions: list[Question]) -> list[Answer]:
        read = self.reader.read(questions, [""] * len(questions))
        return [
            Answer(question.id, own.text, trace=cost_trace({"answer": spent([own])}))
            for question, own in zip(questions, read, strict=True)
        ]


class StandardRag:
    """Retrieve `top_k` passages, put them all into the prompt, best first."""

    name = "rag"

    def __init__(self, retriever: Retriever, reader: Reader, top_k: int):
        self.retriever = retriever
        self.reader = reader
        self.top_k = top_k

    def answer(self, questions: list[Question]) -> list[Answer]:
        retrieved = self.retriever.retrieve([question.text for question in questions], self.top_k)
        contexts = [[hit.passage for hit in hits] for hits in retrieved]
        read = self.reader.read(questions, [as_knowledge(passages) for passages in contexts])
        return [
            Answer(
                question.id,
                own.text,
                tuple(passage.id for passage in passages),
                cost_trace({"answer": spent([own])}),
            )
            for question, passages, own in zip(questions, contexts, read, strict=True)
        ]
