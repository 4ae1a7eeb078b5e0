"""The values that pass between stages. All are frozen: a stage returns new ones."""

from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Question:
    """A question with its gold answers (aliases of one another).

    `article_id` names the article that holds the answer, where that is known; `relation` and `form` say how the
    question was made. Raises `RagError` for a row that no system could be fairly scored on.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    article_id: str | None = None
    relation: str = "other"
    form: str = "title"

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


@dataclass(frozen=True)
class Completion:
    """What a generator wrote for one prompt, with its size in the generator's own tokens."""

    text: str
    prompt_tokens: int
    tokens: int


@dataclass(frozen=True)
class Answer:
    """A system's answer. `contexts` are the ids (passages) or addresses (web) it was written from;
    `trace` says what the system did on the way, in JSON values."""

    question_id: str
    text: str
    contexts: tuple[str, ...] = ()
    trace: dict[str, Any] = field(default_factory=dict)
