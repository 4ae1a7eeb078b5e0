"""Question sets from a JSON-lines file or the hub.

A row has `question` and its gold answers as `answers` (a list) or, as PopQA has it, `possible_answers` (a JSON list in
a string); `id` is optional. Rows are joined to anything else by id, never by line number.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rag.corpus import read_lines
from rag.errors import RagError
from rag.types import Question

HUB = "hub:"


def load_questions(source: str | Path, limit: int | None = None) -> list[Question]:
    """The first `limit` questions of a file or of `hub:<data set>`, in file order. Bad rows raise `RagError` by number."""
    rows = _hub_rows(str(source).removeprefix(HUB)) if str(source).startswith(HUB) else _file_rows(Path(source))
    questions: dict[str, Question] = {}
    for number, row in enumerate(rows, start=1):
        if limit is not None and len(questions) == limit:
            break
        question = parse_row(row, f"{source}, row {number}", str(number))
        if question.id in questions:
            raise RagError(f"{source}, row {number}: question id {question.id!r} occurs twice: ids must be unique")
        questions[question.id] = question
    if not questions:
        raise RagError(f"{source} holds no questions")
    return list(questions.values())


def parse_row(row: Mapping[str, Any], where: str, default_id: str) -> Question:
    """One row as a `Question`; raises `RagError` that starts with `where`."""
    try:
        answers = row["answers"] if "answers" in row else json.loads(row["possible_answers"])
        if not isinstance(row["question"], str) or not isinstance(answers, list):
            raise TypeError("question must be a string and answers a list")
        return Question(str(row.get("id", default_id)), row["question"], tuple(map(str, answers)), form="published")
    except RagError as error:
        raise RagError(f"{where}: {error}") from error
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise RagError(f"{where}: a row needs question and answers ({error!r})") from error


def _file_rows(path: Path) -> Iterable[dict]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise RagError(f"{path}, row {number}: not JSON ({error}): one object a line is expected") from error


def _hub_rows(name: str) -> Iterable[dict]:
    from datasets import load_dataset

    try:
        return load_dataset(name, split="test")
    except Exception as error:  # the hub's client raises errors of many libraries; all mean the same here
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RagError(
            f"cannot load {name!r} from the hub ({reason}): is there a network, and is the name right?"
        ) from error
