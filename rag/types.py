"""The values that pass between stages. All are frozen: a stage returns new ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rag.errors import RagError

MAX_QUESTION_CHARS = 2000


@dataclass(frozen=True)
class Article:
    """One encyclopedia article. `id` is its title with underscores, as in a Wikipedia address."""

    id: str
    title: str
    description: str
    extract: str
    topic: str


@dataclass(frozen=True)
class Passage:
    """A piece of an article. `id` is `<article id>#<position>`."""

    id: str
    title: str
    text: str

    @property
    def article_id(self) -> str:
        return self.id.rpartition("#")[0]


@dataclass(frozen=True)
class Hit:
    """A retrieved passage. `score` is the retriever's own and only ranks within one query."""

    passage: Passage
    score: float


class Task(StrEnum):
    """The four tasks of CRAG (§5.1): short answers (PopQA), biographies (Biography), the truth of claims (PubHealth) and
    multiple choice (ARC-Challenge). And DIVA's: ambiguous questions (ASQA)."""

    SHORT_ANSWER = "short-answer"
    BIOGRAPHY = "biography"
    CLAIM = "claim"
    CHOICE = "choice"
    AMBIGUOUS = "ambiguous"


CRAG_TASKS = (Task.SHORT_ANSWER, Task.BIOGRAPHY, Task.CLAIM, Task.CHOICE)


@dataclass(frozen=True)
class Interpretation:
    """A disambiguated question with its gold answers (aliases of one another). `article_id` names the article that holds
    them, where that is known. Raises `RagError` for one without text or answers."""

    text: str
    answers: tuple[str, ...]
    article_id: str | None = None

    def __post_init__(self):
        if not self.text.strip():
            raise RagError(
                f"an interpretation answered by {self.answers} has no text: remove it or fill in its question"
            )
        if not self.answers or not all(answer.strip() for answer in self.answers):
            raise RagError(f"interpretation {self.text!r} has an empty gold answer: every one needs at least one")


@dataclass(frozen=True)
class Question:
    """A question with its gold answers (aliases of one another).

    `evidence` are the strings of which a passage that settles it holds one, where they aren't the answers themselves.
    `text` is what is retrieved for: a question, or the claim itself. The answer of a claim is "true" or "false", that of
    a multiple choice the label of the right one; `choices` maps labels to texts. `article_id` names the article that
    holds the answer, where that is known; `relation` and `form` say how the question was made.

    An ambiguous question has `interpretations`, one if it is unambiguous after all, and may have `references`: long answers
    that tell them all. Its `answers` are those of all interpretations (`all_answers`). Raises `RagError` for a row that no
    system could be fairly scored on.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    article_id: str | None = None
    relation: str = "other"
    form: str = "title"
    task: Task = Task.SHORT_ANSWER
    choices: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    interpretations: tuple[Interpretation, ...] = ()
    references: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.text.strip():
            raise RagError(f"question {self.id!r} has no text: remove the row or fill in its question")
        if len(self.text) > MAX_QUESTION_CHARS:
            raise RagError(
                f"question {self.id!r} has {len(self.text):,} characters, more than the {MAX_QUESTION_CHARS:,} "
                "a question may have: shorten it"
            )
        if not self.answers or not all(answer.strip() for answer in self.answers):
            raise RagError(f"question {self.id!r} has an empty gold answer: every question needs at least one")
        if self.task == Task.CLAIM and self.answers not in (("true",), ("false",)):
            raise RagError(f"claim {self.id!r} is labelled {self.answers}: a claim is true or false")
        if self.task == Task.CHOICE and (len(self.choices) < 2 or self.answers[0] not in self.choices):
            raise RagError(f"question {self.id!r}: its answer {self.answers[0]!r} is not one of its choices")
        if self.task == Task.AMBIGUOUS and not self.interpretations:
            raise RagError(f"ambiguous question {self.id!r} has no interpretations: it needs at least one")
        if self.interpretations and self.answers != all_answers(self.interpretations):
            raise RagError(f"question {self.id!r}: its answers are not those of its interpretations in order")
        if not all(reference.strip() for reference in self.references):
            raise RagError(f"question {self.id!r} has an empty reference: remove it or fill it in")


def all_answers(interpretations: Iterable[Interpretation]) -> tuple[str, ...]:
    """The answers of all interpretations, in order and without repeats."""
    return tuple(dict.fromkeys(answer for each in interpretations for answer in each.answers))


@dataclass(frozen=True)
class Completion:
    """What a generator wrote for one prompt, with its size in the generator's own tokens."""

    text: str
    prompt_tokens: int
    tokens: int


@dataclass(frozen=True)
class NextWords:
    """How likely each of some words is to come next after one prompt, and the prompt's size in tokens."""

    probabilities: tuple[float, ...]
    prompt_tokens: int


@dataclass(frozen=True)
class Answer:
    """A system's answer. `contexts` are the ids (passages) or addresses (web) it was written from;
    `trace` says what the system did on the way, in JSON values."""

    question_id: str
    text: str
    contexts: tuple[str, ...] = ()
    trace: dict[str, Any] = field(default_factory=dict)
