"""Retrieval for all interpretations, and which passages of it are kept (DIVA §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from diva.pruning import KEEP, mean_cosines, prune
from rag.encoding import Encoder
from rag.retrieval import Retriever, fuse, indexed_text
from rag.systems import as_knowledge
from rag.types import Hit, Passage

TOP_K = 5


@dataclass(frozen=True)
class Candidates:
    """What was retrieved for a question. `hits` are by interpretation, best first; `pool` is their union by fused rank,
    cut at its size."""

    interpretations: tuple[str, ...]
    hits: tuple[tuple[Hit, ...], ...]
    pool: tuple[Passage, ...]


@dataclass(frozen=True)
class Kept:
    """The passages that are read, best first. `scores` are S(p), empty without pruning; `dropped` are those left out, the
    last ones, for the context to fit."""

    passages: tuple[Passage, ...]
    scores: tuple[float, ...] = ()
    dropped: tuple[Passage, ...] = ()


def diversify(
    interpretations: Sequence[Sequence[str]], retriever: Retriever, top_k: int = TOP_K, pool: int | None = None
) -> list[Candidates]:
    """Retrieve `top_k` passages for every interpretation of every question in one call, and take the union.

    Where a union has more than `pool` passages, those that reciprocal rank fusion puts first stay; None keeps all.
    """
    found = iter(retriever.retrieve([text for own in interpretations for text in own], top_k))
    candidates = []
    for own in interpretations:
        hits = tuple(tuple(next(found)) for _ in own)
        fused = fuse(tuple(map(list, hits)))[:pool]
        candidates.append(Candidates(tuple(own), hits, tuple(hit.passage for hit in fused)))
    return candidates


def keep_best(candidates: Sequence[Candidates], encoder: Encoder, keep: int = KEEP) -> list[Kept]:
    """The `keep` passages of each pool with the highest S(p). All texts of all questions are encoded in one call."""
    texts = [[*own.interpretations, *map(indexed_text, own.pool)] for own in candidates if own.pool]
    distinct = {text: row for row, text in enumerate(dict.fromkeys(text for own in texts for text in own))}
    vectors = encoder.encode(list(distinct)) if distinct else None
    kept = []
    for own in candidates:
        if not own.pool:
            kept.append(Kept(()))
            continue
        asked = vectors[[distinct[text] for text in own.interpretations]]
        passages = vectors[[distinct[indexed_text(passage)] for passage in own.pool]]
        scores = mean_cosines(asked, passages)
        best = prune(scores, keep)
        kept.append(Kept(tuple(own.pool[i] for i in best), tuple(float(scores[i]) for i in best)))
    return kept


def keep_first(candidates: Sequence[Candidates], keep: int) -> list[Kept]:
    """Without pruning: the first `keep` distinct passages of each pool, in turn from each interpretation's ranking."""
    return [Kept(tuple(_in_turn(own)[:keep])) for own in candidates]


def _in_turn(candidates: Candidates) -> list[Passage]:
    pool = set(candidates.pool)
    ranks = zip_longest(*candidates.hits)
    return list(dict.fromkeys(hit.passage for rank in ranks for hit in rank if hit and hit.passage in pool))


def fit(kept: Kept, max_words: int | None) -> Kept:
    """The passages that fit into so many words of a prompt, dropped from the last one up until the rest does."""
    if max_words is None:
        return kept
    passages = list(kept.passages)
    while passages and len(as_knowledge(passages).split()) > max_words:
        passages.pop()
    count = len(passages)
    return Kept(kept.passages[:count], kept.scores[:count], kept.passages[count:])
