"""Retrieval through Pyserini: BM25 (Lucene), dense (FAISS) and their fusion.

Indexes are built in process on first use, below the cache folder, under a name that holds the hash of the collection.
"""

import json
import shutil
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from rag.assets import build_folder
from rag.corpus import check_collection
from rag.encoding import Encoder, texts_digest
from rag.java import pyserini, start_jvm
from rag.paths import cache_dir
from rag.types import Hit, Passage

# Pyserini's defaults for passages, written down because scores depend on them.
BM25_K1 = 0.9
BM25_B = 0.4
STEMMER = "porter"
STOPWORDS = "Lucene's default English list"
THREADS = 2
RRF_K = 60  # Cormack et al. 2009
RRF_DEPTH = 100
PART = 2048


class Retriever(Protocol):
    """Anything that finds passages. `name` says which, in result files."""

    name: str

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        """For each query at most `k` hits, best first."""


def collection_digest(passages: list[Passage]) -> str:
    """Content hash of a collection; it names the indexes."""
    return texts_digest(*(part for passage in passages for part in (passage.id, passage.title, passage.text)))


def indexed_text(passage: Passage) -> str:
    """What an index sees of a passage."""
    return f"{passage.title}\n{passage.text}"


class Bm25Retriever:
    """Lucene BM25 over title and text (k1, b, stemmer and stop words as above)."""

    name = "bm25"

    def __init__(self, passages: list[Passage]):
        self.passages = {passage.id: passage for passage in check_collection(passages, self.name)}

    @cached_property
    def folder(self) -> Path:
        """The index, built on first use."""
        passages = list(self.passages.values())
        target = cache_dir() / "indexes" / f"bm25-{STEMMER}-{collection_digest(passages)}"
        return build_folder(target, lambda folder: build_lucene_index(passages, folder))

    @cached_property
    def _searcher(self):
        searcher = pyserini("search.lucene").LuceneSearcher(str(self.folder))
        searcher.set_bm25(BM25_K1, BM25_B)
        return searcher

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        ids = [str(i) for i in range(len(queries))]
        found = self._searcher.batch_search(queries, ids, k=k, threads=THREADS) if queries else {}
        return [[Hit(self.passages[hit.docid], hit.score) for hit in found[i]] for i in ids]


def build_lucene_index(passages: list[Passage], folder: Path) -> None:
    """Write a Lucene index of the passages into `folder`, with one thread so that document order is fixed."""
    start_jvm()
    from jnius import autoclass

    source = folder / "documents"
    source.mkdir()
    with (source / "passages.jsonl").open("w", encoding="utf-8") as file:
        for passage in passages:
            file.write(json.dumps({"id": passage.id, "contents": indexed_text(passage)}) + "\n")
    arguments = f"-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1 -stemmer {STEMMER}"
    autoclass("io.anserini.index.IndexCollection").main(
        [*arguments.split(), "-quiet", "-input", str(source), "-index", str(folder)]
    )
    (source / "passages.jsonl").unlink()
    source.rmdir()


class DenseRetriever:
    """Exact inner product over sentence embeddings of title and text (FAISS flat index).

    Embeddings of texts that `other` has too are taken from its index.
    """

    name = "dense"

    def __init__(self, passages: list[Passage], encoder: Encoder, other: "DenseRetriever | None" = None):
        self.passages = {passage.id: passage for passage in check_collection(passages, self.name)}
        self.encoder = encoder
        self.other = other

    @cached_property
    def folder(self) -> Path:
        """The index, built on first use."""
        passages = list(self.passages.values())
        name = f"dense-{texts_digest(self.encoder.name)}-{collection_digest(passages)}"

        parts = cache_dir() / "vectors" / name

        def build(folder: Path) -> None:
            import faiss

            texts = [indexed_text(passage) for passage in passages]
            known = self.other.vectors() if self.other else {}
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            known |= zip(missing, encode_in_parts(missing, self.encoder, parts), strict=True)
            vectors = np.stack([known[text] for text in texts])
            index = faiss.IndexFlatIP(vectors.shape[1])
            index.add(vectors)
            faiss.write_index(index, str(folder / "index"))
            (folder / "docid").write_text("\n".join(passage.id for passage in passages) + "\n", encoding="utf-8")

        index = build_folder(cache_dir() / "indexes" / name, build)
        shutil.rmtree(parts, ignore_errors=True)
        return index

    def vectors(self) -> dict[str, np.ndarray]:
        """The embedding of each indexed text."""
        import faiss

        index = faiss.read_index(str(self.folder / "index"))
        texts = map(indexed_text, self.passages.values())
        return dict(zip(texts, index.reconstruct_n(0, index.ntotal), strict=True))

    @cached_property
    def _searcher(self):
        return pyserini("search.faiss").FaissSearcher(str(self.folder), self.encoder)

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        if not queries:
            return []
        ids = [str(i) for i in range(len(queries))]
        k = min(k, len(self.passages))
        found = self._searcher.batch_search(self.encoder.encode(queries), ids, k=k, threads=THREADS)
        return [[Hit(self.passages[hit.docid], float(hit.score)) for hit in found[i]] for i in ids]


def encode_in_parts(texts: list[str], encoder: Encoder, folder: Path) -> np.ndarray:
    """Embeddings of the texts, shape (len(texts), dimension). Each part of 2,048 is kept in `folder` as soon as it is
    done, so that a killed run doesn't encode it again."""
    vectors = [encoder.encode([])]
    for start in range(0, len(texts), PART):
        part = texts[start : start + PART]
        kept = build_folder(
            folder / str(start), lambda new, part=part: np.save(new / "vectors.npy", encoder.encode(part))
        )
        vectors.append(np.load(kept / "vectors.npy"))
    return np.concatenate(vectors)


class HybridRetriever:
    """Reciprocal rank fusion of several retrievers (Cormack et al. 2009): the score is Σ 1 / (60 + rank)."""

    name = "hybrid"

    def __init__(self, *retrievers: Retriever):
        self.retrievers = retrievers

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        runs = [retriever.retrieve(queries, max(k, RRF_DEPTH)) for retriever in self.retrievers]
        return [fuse(rankings)[:k] for rankings in zip(*runs, strict=True)]


def fuse(rankings: tuple[list[Hit], ...]) -> list[Hit]:
    """Fuse the rankings of one query; equal scores are ordered by passage id."""
    scores: dict[str, float] = defaultdict(float)
    passages = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.passage.id] += 1 / (RRF_K + rank)
            passages[hit.passage.id] = hit.passage
    return [Hit(passages[i], scores[i]) for i in sorted(scores, key=lambda i: (-scores[i], i))]
