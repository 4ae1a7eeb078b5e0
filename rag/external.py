"""The command line of what runs on real data outside the repository, in the folder that RAG_EXTERNAL_DATA names."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rag.corpus import fraction

VARIABLE = "RAG_EXTERNAL_DATA"
T = TypeVar("T")


@dataclass(frozen=True)
class ExternalRun:
    """Which profile runs, on how many questions of a data set (none: all), and where the data lies."""

    profile: str
    questions: int | None
    folder: Path


def external_run(description: str, questions: int | None = None) -> ExternalRun:
    """What the command line asks for; `questions` is how many there are by default.

    Without a folder, or without any questions, it is one line on stderr and an exit status above 0.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("profile", nargs="?", default="full")
    parser.add_argument(
        "--questions",
        type=int,
        default=questions,
        help="so many of a data set's questions, drawn by a hash of their ids",
    )
    arguments = parser.parse_args()
    if arguments.questions is not None and arguments.questions < 1:
        parser.error(f"--questions is {arguments.questions}: it is at least 1")
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise SystemExit(f"error: set {VARIABLE} to the folder with the external data")
    if not Path(folder).is_dir():
        raise SystemExit(
            f"error: {VARIABLE} names {folder}, which is no folder: set it to the one with the external data"
        )
    return ExternalRun(arguments.profile, arguments.questions, Path(folder))


def draw(rows: Sequence[T], count: int | None, question_id: Callable[[T], str]) -> list[T]:
    """The first `count` rows by a hash of their question's id, or all (None), in the order of the hash."""
    return sorted(rows, key=lambda row: fraction(f"external/{question_id(row)}"))[:count]
