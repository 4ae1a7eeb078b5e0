"""Results of stages, kept by content.

The key of an entry is a hash of the stage (its name, model and parameters) and of the item it worked on: never of a
bare query, so another model, retriever or setting can't find an old result. Entries are written in transactions after
each chunk: a killed run loses at most the chunk it was working on.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rag.paths import cache_dir
from rag.progress import progress

LOCK_TIMEOUT_S = 60
CHUNK = 32


def key_of(stage: Mapping[str, Any], item: Any) -> str:
    """The cache key of an item at a stage; both are JSON values."""
    return hashlib.sha256(json.dumps([stage, item], sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class Cache:
    """A file of stage results. Several processes may share one."""

    def __init__(self, path: Path | None = None):
        self.path = path or cache_dir() / "results.sqlite"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connect() as database:
            database.execute("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value TEXT NOT NULL)")

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_S)) as database, database:
            yield database

    def map(
        self,
        stage: Mapping[str, Any],
        items: Sequence[Any],
        compute: Callable[[list[Any]], Sequence[Any]],
        size: Callable[[Any], int] = lambda item: len(str(item)),
    ) -> list[Any]:
        """`compute` over the items, one JSON value each, in their order; only what is not kept yet is computed.

        Equal items are computed once. Missing items go to `compute` longest first, in chunks, so that batches hold
        items of like length and the estimate of the progress bar errs on the safe side.
        """
        keys = [key_of(stage, item) for item in items]
        known: dict[str, Any] = {}
        with self._connect() as database:
            for key in set(keys):
                if row := database.execute("SELECT value FROM results WHERE key = ?", (key,)).fetchone():
                    known[key] = json.loads(row[0])
        missing = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
        order = sorted(missing, key=lambda key: (-size(missing[key]), key))
        chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
        for chunk in progress(chunks, stage["stage"]):
            values = compute([missing[key] for key in chunk])
            with self._connect() as database:
                for key, value in zip(chunk, values, strict=True):
                    known[key] = value
                    database.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, json.dumps(value)))
        return [known[key] for key in keys]


class NoCache(Cache):
    """Keeps nothing, so that everything is computed anew: for measuring time."""

    def __init__(self):
        pass

    def map(self, stage, items, compute, size=None):
        return list(compute(list(items))) if items else []
