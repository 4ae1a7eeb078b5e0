"""Published question sets of the four tasks, from a file or the hub.

| task | columns of a row (JSON lines, or the hub's) | published as |
|---|---|---|
| short answers | `question`, `answers` (a list) or `possible_answers` (a JSON list in a string) | PopQA |
| claims | `claim` or `question`, `label` or `answers` (one of them): true or false, in any case | PubHealth |
| choices | `question`, `choices` (`{label: text}` or `{"text": […], "label": […]}`), `answer` or `answerKey` | ARC-Challenge |
| biographies | `entity` or `topic`; in a `.txt` file each line is an entity | FActScore |
| ambiguous questions | `question`, `qa_pairs` (`question`, `short_answers`), `annotations` (`long_answer`) | ASQA |
| | `question`, `context_answer_pairs` (`edited_question`, `answers`) | SituatedQA |
| | `question`, `disambig_entity`, `gold_answers` (one each), `documents`, `wrong_answers` | RAMDocs |

Rows are told apart by `id` (`claim_id`, `index`, `sample_id`; an entity is its own) and, only where they have none, by
their number.
Published questions name no article: `article_id` is the embedded encyclopedia's.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.corpus import read_lines
from rag.datasets.wording import BIOGRAPHY
from rag.errors import RagError
from rag.scoring.text import normalise
from rag.types import Interpretation, Passage, Question, Task, all_answers

HUB = "hub:"
HUB_SPLIT = "test"
ID_COLUMNS = ("id", "claim_id", "index", "sample_id")
# PubHealth's other labels: such claims are neither true nor false, and CRAG's 987 test claims leave them out.
UNDECIDED = ("mixture", "unproven")
NEEDED = {
    Task.SHORT_ANSWER: "question and answers",
    Task.CLAIM: "claim and label (true or false)",
    Task.CHOICE: "question, choices and answer",
    Task.BIOGRAPHY: "entity",
    Task.AMBIGUOUS: "question and its interpretations, each with answers",
}

DOCUMENT_KINDS = ("correct", "misinfo", "noise")

log = logging.getLogger(__name__)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class DocumentSet:
    """A question with the documents to answer it from (RAMDocs). `kinds` says of each document whether it is "correct",
    "misinfo" (it says one of the `wrong_answers`) or "noise"."""

    question: Question
    passages: tuple[Passage, ...]
    kinds: tuple[str, ...]
    wrong_answers: tuple[str, ...]


def load_questions(
    source: str | Path, task: Task, limit: int | None = None, page_views_below: int | None = None
) -> list[Question]:
    """The first `limit` questions of a file or of `hub:<owner>/<data set>[/<configuration>]` (its test split), in order.

    `page_views_below` keeps only questions whose subject has fewer page views a month (PopQA's `s_pop`): the paper's
    long tail of 1,399 is below 100. Rows that are left out are counted in the log. Raises `RagError` that names the row
    for one that doesn't fit its task, and for an id that occurs twice.
    """
    questions: dict[str, Question] = {}
    left_out: Counter[str] = Counter()
    for number, row in enumerate(_rows(source, task), start=1):
        if limit is not None and len(questions) == limit:
            break
        where = f"{source}, row {number}"
        with _named(where, f"a row of task {task} needs {NEEDED[task]}"):
            if reason := _left_out(row, task, page_views_below):
                left_out[reason] += 1
                continue
            question = PARSERS[task](row, str(number))
        if question.id in questions:
            raise RagError(f"{where}: question id {question.id!r} occurs twice: ids must be unique")
        questions[question.id] = question
    if not questions:
        raise RagError(f"{source} holds no questions of task {task}")
    if left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()))
        log.warning("%s: %s rows left out: %s", source, f"{left_out.total():,}", reasons)
    return list(questions.values())


@contextmanager
def _named(where: str, needed: str) -> Iterator[None]:
    """Errors of a row as a `RagError` that names it."""
    try:
        yield
    except RagError as error:
        raise RagError(f"{where}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RagError(f"{where}: {needed} ({error!r})") from error


def _left_out(row: Row, task: Task, page_views_below: int | None) -> str | None:
    """Why a sound row is not asked, if so."""
    if task == Task.CLAIM and "label" in row:
        if row["label"] in (None, ""):
            return "unlabelled"
        if (label := str(row["label"]).strip().lower()) in UNDECIDED:
            return label
    if task == Task.AMBIGUOUS and row.get("context_answer_pairs") == []:
        return "without interpretations"
    if page_views_below is not None and row["s_pop"] >= page_views_below:
        return f"with {page_views_below} or more page views"
    return None


def parse_short_answer(row: Row, number: str) -> Question:
    """A short question; PopQA's `prop` is its relation."""
    answers = row["answers"] if "answers" in row else json.loads(row["possible_answers"])
    if not isinstance(answers, list) or not all(isinstance(answer, str | int) for answer in answers):
        raise TypeError("answers must be a list of strings")
    relation = str(row.get("prop", "other"))
    return Question(
        _id(row, number), _text(row, "question"), tuple(map(str, answers)), relation=relation, form="published"
    )


def parse_claim(row: Row, number: str) -> Question:
    """A claim; its label may be a string in any case or a JSON truth value."""
    (label,) = [row["label"]] if "label" in row else row["answers"]
    text, gold = _text(row, "claim", "question"), str(label).strip().lower()
    return Question(_id(row, number), text, (gold,), form="published", task=Task.CLAIM)


def parse_choice(row: Row, number: str) -> Question:
    """A multiple choice, in our own form of the choices or in the hub's."""
    choices, gold = row["choices"], row["answer"] if "answer" in row else row["answerKey"]
    if set(choices) == {"text", "label"}:
        pairs = list(zip(choices["label"], choices["text"], strict=True))
    else:
        pairs = list(choices.items())
    labels = [str(label) for label, _ in pairs]
    if len(set(labels)) < len(labels) or not all(len(label) == 1 and label.isalnum() for label in labels):
        raise ValueError(f"labels {labels} are not different letters or digits")
    if not all(isinstance(text, str) and text.strip() for _, text in pairs):
        raise ValueError("a choice has no text")
    by_label = dict(zip(labels, (text for _, text in pairs), strict=True))
    text = _text(row, "question")
    return Question(_id(row, number), text, (str(gold),), form="published", task=Task.CHOICE, choices=by_label)


def parse_biography(row: Row, _: str) -> Question:
    """A biography to be written, of a person by name."""
    entity = " ".join(_text(row, "entity", "topic").split())
    if not entity:
        raise ValueError("the entity has no name")
    text = BIOGRAPHY.format(x=entity)
    return Question(_id(row, entity), text, (entity,), None, "biography", "published", Task.BIOGRAPHY)


def parse_ambiguous(row: Row, number: str) -> Question:
    """An ambiguous question. Interpretations with equal answers, such as SituatedQA's of several years, are one."""
    if "qa_pairs" in row:
        pairs = [(_text(pair, "question"), _strings(pair, "short_answers")) for pair in row["qa_pairs"]]
    elif "context_answer_pairs" in row:
        dated = [(_text(pair, "edited_question"), _strings(pair, "answers")) for pair in row["context_answer_pairs"]]
        by_answers: dict[frozenset[str], tuple[str, tuple[str, ...]]] = {}
        for text, answers in dated:
            by_answers.setdefault(frozenset(map(normalise, answers)), (text, answers))
        pairs = list(by_answers.values())
    else:
        named = zip(_strings(row, "disambig_entity"), _strings(row, "gold_answers"), strict=True)
        pairs = [(f"{_text(row, 'question')} ({entity})", (answer,)) for entity, answer in named]
    interpretations = tuple(Interpretation(text, answers) for text, answers in pairs)
    return Question(
        _id(row, number),
        _text(row, "ambiguous_question", "question"),
        all_answers(interpretations),
        form="published",
        task=Task.AMBIGUOUS,
        interpretations=interpretations,
        references=tuple(_text(annotation, "long_answer") for annotation in row.get("annotations", [])),
    )


def load_document_sets(path: Path) -> list[DocumentSet]:
    """The rows of a RAMDocs file, in order. Raises `RagError` that names the row for one that doesn't fit."""
    sets = []
    for number, row in enumerate(_file_rows(path), start=1):
        with _named(f"{path}, row {number}", "a row of RAMDocs needs question, documents, gold_answers, wrong_answers"):
            question, documents = parse_ambiguous(row, str(number)), row["documents"]
            kinds = tuple(_text(document, "type") for document in documents)
            if not kinds or not set(kinds) <= set(DOCUMENT_KINDS):
                raise ValueError(f"documents are of the types {', '.join(DOCUMENT_KINDS)}")
            texts = [_text(document, "text") for document in documents]
            passages = tuple(Passage(f"{question.id}#{i}", "", text) for i, text in enumerate(texts))
            sets.append(DocumentSet(question, passages, kinds, _strings(row, "wrong_answers")))
    return sets


PARSERS: dict[Task, Callable[[Row, str], Question]] = {
    Task.SHORT_ANSWER: parse_short_answer,
    Task.CLAIM: parse_claim,
    Task.CHOICE: parse_choice,
    Task.BIOGRAPHY: parse_biography,
    Task.AMBIGUOUS: parse_ambiguous,
}


def _text(row: Row, *names: str) -> str:
    """The first of these columns that the row has."""
    text = row[next((name for name in names if name in row), names[0])]
    if not isinstance(text, str):
        raise TypeError(f"{' or '.join(names)} must be a string")
    return text


def _strings(row: Row, name: str) -> tuple[str, ...]:
    """A column that is a list of strings."""
    if not isinstance(row[name], list) or not all(isinstance(value, str) for value in row[name]):
        raise TypeError(f"{name} must be a list of strings")
    return tuple(row[name])


def _id(row: Row, default: str) -> str:
    return str(next((row[name] for name in ID_COLUMNS if row.get(name) is not None), default))


def _rows(source: str | Path, task: Task) -> Iterator[Row]:
    if str(source).startswith(HUB):
        return _hub_rows(str(source).removeprefix(HUB))
    path = Path(source)
    if task == Task.BIOGRAPHY and path.suffix == ".txt":
        return ({"entity": line} for line in read_lines(path))
    return _file_rows(path)


def _file_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise RagError(f"{path}, row {number}: not JSON ({error}): one object a line is expected") from error


def _hub_rows(name: str) -> Iterator[Row]:
    """The rows of a data set of the hub, with class names in place of their indices (-1 is no class)."""
    from datasets import ClassLabel, load_dataset

    owner, _, rest = name.partition("/")
    data_set, _, configuration = rest.partition("/")
    try:
        rows = load_dataset(f"{owner}/{data_set}", configuration or None, split=HUB_SPLIT)
    except Exception as error:  # the hub's client raises errors of many libraries; all mean the same here
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RagError(
            f"cannot load {name!r} from the hub ({reason}): is there a network, and is the name right?"
        ) from error
    classes = {column: kind.names for column, kind in rows.features.items() if isinstance(kind, ClassLabel)}
    for row in rows:
        named = {
            column: names[row[column]] if row[column] not in (None, -1) else "" for column, names in classes.items()
        }
        yield {**row, **named}
