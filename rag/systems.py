"""What answers questions. A system works on the whole list at once: each of its stages is one batch."""

from collections.abc import Sequence
from typing import Protocol

from rag.corpus import titled
from rag.generation import Generator
from rag.prompts import answer_prompt
from rag.retrieval import Retriever
from rag.types import Answer, Passage, Question


class System(Protocol):
    """Anything that answers questions. `name` is its name in every table."""

    name: str

    def answer(self, questions: list[Question]) -> list[Answer]:
        """One answer a question, in order."""


class Reader(Protocol):
    """Anything that answers questions from given knowledge."""

    def read(self, questions: list[Question], knowledge: list[str]) -> list[str]:
        """One answer a question, in order; where the knowledge is empty, from memory."""


class GeneratorReader:
    """A generator that is asked with the prompt of the question's task."""

    def __init__(self, generator: Generator):
        self.generator = generator

    def read(self, questions: list[Question], knowledge: list[str]) -> list[str]:
        prompts = [answer_prompt(question, known) for question, known in zip(questions, knowledge, strict=True)]
        return [completion.text for completion in self.generator.generate(prompts)]


def as_knowledge(passages: Sequence[Passage]) -> str:
    """Passages as the text of a prompt, in the given order."""
    return "\n".join(titled(passage.title, passage.text) for passage in passages)


class ClosedBook:
    """The generator alone."""

    name = "closed-book"

    def __init__(self, reader: Reader):
        self.reader = reader

    def answer(self, questions: list[Question]) -> list[Answer]:
        texts = self.reader.read(questions, [""] * len(questions))
        return [Answer(q.id, text) for q, text in zip(questions, texts, strict=True)]


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
        texts = self.reader.read(questions, [as_knowledge(passages) for passages in contexts])
        return [
            Answer(question.id, text, tuple(passage.id for passage in passages))
            for question, passages, text in zip(questions, contexts, texts, strict=True)
        ]
