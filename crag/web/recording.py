"""A search session kept in a file, and played again without a network.

The file is JSON lines: a search outcome or a page each. It holds text of other people's pages: keep it to yourself.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from crag.web.types import Page, SearchOutcome, WebSearch
from rag.errors import RagError

CHUNK = 32
LINE = TypeAdapter(SearchOutcome | Page)

T = TypeVar("T")


class RecordingWeb(WebSearch):
    """A web that writes down what it answers, failures included.

    Lines are added in one write after every 32 queries or pages, so a killed run loses those at most; a half-written
    last line is cut off when the recording goes on. Raises `RagError` if the file can't be written.
    """

    def __init__(self, web: WebSearch, path: Path):
        self.web = web
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            whole = path.read_bytes().rfind(b"\n") + 1
            os.truncate(path, whole)
        except OSError as error:
            raise RagError(f"cannot record to {path} ({error.strerror}): name another file in web.record") from error

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        return self._in_chunks(queries, self.web.search)

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        distinct = list(dict.fromkeys(urls))
        return dict(zip(distinct, self._in_chunks(distinct, self._read), strict=True))

    def _read(self, urls: Sequence[str]) -> list[Page]:
        pages = self.web.read(urls)
        return [pages[url] for url in urls]

    def _in_chunks(self, items: Sequence[str], ask: Callable[[Sequence[str]], list[T]]) -> list[T]:
        answers = []
        for start in range(0, len(items), CHUNK):
            new = ask(items[start : start + CHUNK])
            with self.path.open("ab") as file:
                file.write(b"".join(LINE.dump_json(answer) + b"\n" for answer in new))
            answers += new
        return answers


class ReplayWeb(WebSearch):
    """The web as it was recorded; of several answers to one question the last.

    Raises `RagError` for a file that is missing or damaged, naming the line, and for what was not recorded.
    """

    def __init__(self, path: Path):
        self.path = path
        self.outcomes: dict[str, SearchOutcome] = {}
        self.pages: dict[str, Page] = {}
        try:
            *lines, _unfinished = path.read_bytes().split(b"\n")
        except OSError as error:
            raise RagError(f"cannot replay {path} ({error.strerror}): record a session with web.record") from error
        for number, line in enumerate(lines, start=1):
            try:
                entry = LINE.validate_json(line, strict=True)
            except ValidationError as error:
                raise RagError(f"{path} line {number} is damaged: remove the line or record again") from error
            if isinstance(entry, Page):
                self.pages[entry.url] = entry
            else:
                self.outcomes[entry.query] = entry

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        return [self._recorded(self.outcomes, query, "query") for query in queries]

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        return {url: self._recorded(self.pages, url, "page") for url in urls}

    def _recorded(self, entries: dict[str, T], key: str, kind: str) -> T:
        if key not in entries:
            raise RagError(f"{kind} {key!r} is not in {self.path}: record it with web.record")
        return entries[key]
