"""Sentence embeddings, one definition for passages and queries."""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from rag import assets
from rag.cache import Cache
from rag.progress import progress

BATCH_SIZE = 32
CHUNK = 512


class Encoder(Protocol):
    """Anything that turns texts into vectors. `name` says which, in cache keys."""

    name: str

    def encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors of the texts, float32 of shape (len(texts), dimension)."""


class SentenceEncoder:
    """A frozen sentence encoder: a folder or a hub name; without one, the embedded all-MiniLM-L6-v2."""

    def __init__(self, model: str | None = None):
        self.model = model
        self.name = model_identity(model) if model else assets.ENCODER.name

    @cached_property
    def _transformer(self):
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(self.model or str(assets.encoder_folder()))

    def encode(self, texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda i: (-len(texts[i]), i))
        vectors = np.empty((len(texts), self._transformer.get_embedding_dimension()), dtype=np.float32)
        chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
        for chunk in progress(chunks, "encode"):
            vectors[chunk] = self._transformer.encode(
                [texts[i] for i in chunk], batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
            )
        return vectors


class CachedEncoder:
    """An encoder that never encodes the same text twice: the passages of one collection come up again and again."""

    def __init__(self, encoder: Encoder, cache: Cache):
        self.encoder = encoder
        self.cache = cache
        self.name = encoder.name

    def encode(self, texts: list[str]) -> np.ndarray:
        def compute(missing: list[str]) -> list[list[float]]:
            return self.encoder.encode(missing).tolist()

        if not texts:
            return self.encoder.encode(texts)
        return np.array(self.cache.map({"stage": "encode", "encoder": self.name}, texts, compute), dtype=np.float32)


def texts_digest(*parts: str) -> str:
    """A short content hash that tells ("ab", "c") from ("a", "bc")."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def model_identity(model: str) -> str:
    """What a model is called in cache keys: a hub model by its name, a folder by its name and a hash of what lies in it
    (names, sizes and times of change: weights are too large to read each time)."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    facts = (f"{path.relative_to(folder)} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)
    return f"{folder.resolve().name}-{texts_digest(*facts)}"


def file_digest(path: Path) -> str:
    """A short content hash of a file; for files of some megabytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
