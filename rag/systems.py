"""What answers questions. A system works on the whole list at once: each of its stages is one batch."""

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


def as_knowledge(passages: list[Passage]) -> str:
    """Passages as the text of a prompt, in the given order."""
    return "\n".join(titled(passage.title, passage.text) for passage in passages)


class ClosedBook:
    """The generator alone."""

    name = "closed-book"

    def __init__(self, generator: Generator):
        self.generator = generator

    def answer(self, questions: list[Question]) -> list[Answer]:
        completions = self.generator.generate([answer_prompt(question.text, "") for question in questions])
        return [Answer(q.id, completion.text) for q, completion in zip(questions, completions, strict=True)]


class StandardRag:
    """Retrieve `top_k` passages, put them all into the prompt, best first."""

    name = "rag"

    def __init__(self, retriever: Retriever, generator: Generator, top_k: int):
        self.retriever = retriever
        self.generator = generator
        self.top_k = top_k

    def answer(self, questions: list[Question]) -> list[Answer]:
        retrieved = self.retriever.retrieve([question.text for question in questions], self.top_k)
        contexts = [[hit.passage for hit in hits] for hits in retrieved]
        prompts = [
            answer_prompt(question.text, as_knowledge(passages))
            for question, passages in zip(questions, contexts, strict=True)
        ]
        completions = self.generator.generate(prompts)
        return [
            Answer(question.id, completion.text, tuple(passage.id for passage in passages))
            for question, passages, completion in zip(questions, contexts, completions, strict=True)
        ]
