"""Published question sets of the four tasks, from a file or the hub.

| task | columns of a row (JSON lines, or the hub's) | published as |
|---|---|---|
| short answers | `question`, `answers` (a list) or `possible_answers` (a JSON list in a string) | PopQA |
| claims | `claim` or `question`, `label` or `answers` (one of them): true or false, in any case | PubHealth |
| choices | `question`, `choices` (`{label: text}` or `{"text": […], "label": […]}`), `answer` or `answerKey` | ARC-Challenge |
| biographies | `entity` or `topic`; in a `.txt` file each line is an entity | FActScore |

Rows are told apart by `id` (`claim_id`, `index`; an entity is its own) and, only where they have none, by their number.
Published questions name no article: `article_id` is the embedded encyclopedia's.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rag.corpus import read_lines
from rag.datasets.wording import BIOGRAPHY
from rag.errors import RagError
from rag.types import Question, Task

HUB = "hub:"
HUB_SPLIT = "test"
ID_COLUMNS = ("id", "claim_id", "index")
# PubHealth's other labels: such claims are neither true nor false, and CRAG's 987 test claims leave them out.
UNDECIDED = ("mixture", "unproven")
NEEDED = {
    Task.SHORT_ANSWER: "question and answers",
    Task.CLAIM: "claim and label (true or false)",
    Task.CHOICE: "question, choices and answer",
    Task.BIOGRAPHY: "entity",
}

log = logging.getLogger(__name__)
Row = Mapping[str, Any]


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
        try:
            if reason := _left_out(row, task, page_views_below):
                left_out[reason] += 1
                continue
            question = PARSERS[task](row, str(number))
        except RagError as error:
            raise RagError(f"{where}: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RagError(f"{where}: a row of task {task} needs {NEEDED[task]} ({error!r})") from error
        if question.id in questions:
            raise RagError(f"{where}: question id {question.id!r} occurs twice: ids must be unique")
        questions[question.id] = question
    if not questions:
        raise RagError(f"{source} holds no questions of task {task}")
    if left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()))
        log.warning("%s: %s rows left out: %s", source, f"{left_out.total():,}", reasons)
    return list(questions.values())


def _left_out(row: Row, task: Task, page_views_below: int | None) -> str | None:
    """Why a sound row is not asked, if so."""
    if task == Task.CLAIM and "label" in row:
        if row["label"] in (None, ""):
            return "unlabelled"
        if (label := str(row["label"]).strip().lower()) in UNDECIDED:
            return label
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


PARSERS: dict[Task, Callable[[Row, str], Question]] = {
    Task.SHORT_ANSWER: parse_short_answer,
    Task.CLAIM: parse_claim,
    Task.CHOICE: parse_choice,
    Task.BIOGRAPHY: parse_biography,
}


def _text(row: Row, *names: str) -> str:
    """The first of these columns that the row has."""
    text = row[next((name for name in names if name in row), names[0])]
    if not isinstance(text, str):
        raise TypeError(f"{' or '.join(names)} must be a string")
    return text


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
