"""The (question, text) pairs that the evaluator judges: one format for training and for use, the training pairs, and
labelled pairs from a file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rag.corpus import fraction, read_lines, titled
from rag.datasets.embedded import split_of
from rag.errors import RagError
from rag.retrieval import Retriever
from rag.types import Hit, Passage, Question


@dataclass(frozen=True)
class Pair:
    """A question and one text that may help to answer it; `title` is of the page that the text is from."""

    question: str
    title: str
    text: str

    @property
    def document(self) -> str:
        """The text as the evaluator reads it. Nothing of the gold answer is in it."""
        return titled(self.title, self.text)


@dataclass(frozen=True)
class LabelledPair:
    """A pair with its gold label: +1.0 relevant, -1.0 not. The ids are for result files."""

    pair: Pair
    label: float
    question_id: str
    passage_id: str

    def __post_init__(self):
        if self.label not in (-1.0, 1.0):
            raise RagError(f"label {self.label} of passage {self.passage_id!r}: labels are +1 (relevant) and -1 (not)")


def make_pair(question: Question, passage: Passage) -> Pair:
    """The pair of a question and a passage."""
    return Pair(question.text, passage.title, passage.text)


def label_of(question: Question, passage: Passage) -> float:
    """+1.0 if the passage is from the page of the question's subject, else -1.0 (CRAG §4.2 and appendix B.2)."""
    if question.article_id is None:
        raise RagError(f"question {question.id!r} names no article: it can't serve to train or test the evaluator")
    return 1.0 if passage.article_id == question.article_id else -1.0


def same_split(question: Question, passage: Passage) -> bool:
    """Whether the passage's article is of the same split as the question's."""
    return split_of(passage.article_id) == split_of(question.article_id)


def label_passage(question: Question, passage: Passage) -> LabelledPair:
    """A question and a passage as a labelled pair."""
    return LabelledPair(make_pair(question, passage), label_of(question, passage), question.id, passage.id)


def label_hits(questions: list[Question], retrieved: list[list[Hit]]) -> list[list[LabelledPair]]:
    """The retrieved passages of each question, labelled: the test of the evaluator on what it will meet."""
    return [[label_passage(q, hit.passage) for hit in hits] for q, hits in zip(questions, retrieved, strict=True)]


def load_pairs(path: Path) -> list[LabelledPair]:
    """Labelled pairs from a file of JSON lines: `{"question", "ctxs": [{"title", "text", "label"}]}`, `id` optional.

    A label is 1 (relevant), or 0 or -1 (not). Raises `RagError` that names the file and the first bad row.
    """
    labels = {1: 1.0, 0: -1.0, -1: -1.0}
    pairs: dict[str, LabelledPair] = {}
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, row {number}"
        try:
            row = json.loads(line)
            own_id, question = str(row.get("id", number)), row["question"]
            for place, context in enumerate(row["ctxs"]):
                pair = Pair(question, context["title"], context["text"])
                labelled = LabelledPair(pair, labels[context["label"]], own_id, f"{own_id}#{place}")
                if not all(isinstance(part, str) for part in (question, pair.title, pair.text)):
                    raise TypeError("question, title and text must be strings")
                if not question.strip() or not pair.text.strip():
                    raise RagError(f"{where}: question or text is empty: fill it in or remove it")
                if labelled.passage_id in pairs:
                    raise RagError(f"{where}: question id {own_id!r} occurs twice: ids must be unique")
                pairs[labelled.passage_id] = labelled
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise RagError(
                f"{where}: a row needs question and ctxs with title, text and label 1, 0 or -1 ({error!r})"
            ) from error
    if not pairs:
        raise RagError(f"{path} holds no pairs")
    return list(pairs.values())


def sample_pairs(pairs: list[LabelledPair], size: int) -> list[LabelledPair]:
    """At most `size` of the pairs, in their order, drawn by a fixed random order: for what is slow."""

    def by_chance(place: int) -> float:
        return fraction(f"sample/{pairs[place].question_id}/{pairs[place].passage_id}")

    return [pairs[place] for place in sorted(sorted(range(len(pairs)), key=by_chance)[:size])]


def training_pairs(
    questions: list[Question], pages: Mapping[str, list[Passage]], retriever: Retriever, negatives: int, depth: int = 20
) -> list[LabelledPair]:
    """For each question one passage of its own page, and `negatives` hard negatives.

    `pages` maps an article id to its passages. The negatives are drawn, by a fixed random order, from the `depth`
    best hits of other pages of the question's own split; a question with fewer such hits gives fewer.
    """
    pairs = []
    retrieved = retriever.retrieve([question.text for question in questions], depth)
    for question, hits in zip(questions, retrieved, strict=True):

        def by_chance(passage: Passage, question: Question = question) -> float:
            return fraction(f"pair/{question.id}/{passage.id}")

        own = sorted(pages[question.article_id], key=by_chance)[:1]
        others = [
            hit.passage for hit in hits if label_of(question, hit.passage) < 0 and same_split(question, hit.passage)
        ]
        chosen = own + sorted(others, key=by_chance)[:negatives]
        pairs += [label_passage(question, passage) for passage in chosen]
    return pairs
