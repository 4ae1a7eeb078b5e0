"""Retrieval through Pyserini on a small real index, and fusion by hand."""

import numpy as np
import pytest
from diva_fakes import WordEncoder

from rag import retrieval
from rag.cache import Cache, NoCache
from rag.corpus import split_article
from rag.encoding import CachedEncoder, SentenceEncoder, texts_digest
from rag.errors import RagError
from rag.retrieval import Bm25Retriever, DenseRetriever, HybridRetriever, collection_digest, fuse, indexed_text
from rag.scoring.ranking import ranking_rows, relevant_passages
from rag.types import Hit, Passage, Question


@pytest.fixture
def passages(articles):
    return [passage for article in articles for passage in split_article(article)]


class HashEncoder:
    """Unit vectors by word, without a model."""

    name = "hash"

    def encode(self, texts):
        import numpy as np

        vectors = np.full((len(texts), 16), 0.01, dtype="float32")
        for i, text in enumerate(texts):
            for word in text.lower().replace(".", " ").replace("?", " ").split():
                vectors[i, sum(word.encode()) % 16] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_bm25_finds_and_builds_once(passages, cache_folder):
    retriever = Bm25Retriever(passages)
    best, none = retriever.retrieve(["Which chemist discovered a blue dye?", "zzz"], k=2)
    assert best[0].passage.article_id == "Ada_Stone"
    assert best[0].score >= best[1].score > 0
    assert none == []
    built = retriever.folder.stat().st_mtime_ns
    assert Bm25Retriever(passages).folder.stat().st_mtime_ns == built
    assert [path.name for path in retriever.folder.parent.glob("[!.]*")] == [retriever.folder.name]
    assert retriever.retrieve([], k=2) == []


def test_another_collection_has_another_index(passages):
    assert collection_digest(passages) != collection_digest(passages[:-1])
    moved = [Passage(passages[0].id, passages[0].title + passages[0].text, ""), *passages[1:]]
    assert collection_digest(passages) != collection_digest(moved)
    assert texts_digest("ab", "c") != texts_digest("a", "bc")


def test_dense_is_exact_inner_product(passages, cache_folder):
    encoder = HashEncoder()
    retriever = DenseRetriever(passages, encoder)
    query = "capital of Azuria"
    hits = retriever.retrieve([query], k=3)[0]
    texts = [f"{p.title}\n{p.text}" for p in passages]
    expected = sorted((encoder.encode(texts) @ encoder.encode([query])[0]).tolist(), reverse=True)[:3]
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-6)
    assert len(retriever.retrieve([query], k=1000)[0]) == len(passages)


def test_embeddings_that_another_index_has_are_taken_from_it(passages, cache_folder):
    asked = []

    class Counting(HashEncoder):
        def encode(self, texts):
            asked.extend(texts)
            return super().encode(texts)

    other, more = passages[:4], [passages[2], *passages[4:6], passages[0]]
    retriever = DenseRetriever(more, Counting(), DenseRetriever(other, Counting()))
    assert retriever.folder.is_dir()
    assert asked == [indexed_text(passage) for passage in passages[:6]]
    query = "capital of Azuria"
    found, alone = (own.retrieve([query], 4)[0] for own in (retriever, DenseRetriever(more, HashEncoder())))
    assert [(hit.passage, hit.score) for hit in found] == [(hit.passage, hit.score) for hit in alone]


def test_a_killed_encoding_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "PART", 2)
    asked = []

    class Dying(HashEncoder):
        def encode(self, texts):
            if len(asked) == 4:
                raise KeyboardInterrupt
            asked.extend(texts)
            return super().encode(texts)

    class Counting(HashEncoder):
        def encode(self, texts):
            asked.extend(texts)
            return super().encode(texts)

    texts = ["one", "two", "three", "four", "five"]
    with pytest.raises(KeyboardInterrupt):
        retrieval.encode_in_parts(texts, Dying(), tmp_path / "parts")
    vectors = retrieval.encode_in_parts(texts, Counting(), tmp_path / "parts")
    assert asked == texts
    assert vectors == pytest.approx(HashEncoder().encode(texts))


def test_encoder_is_invariant_to_order_and_batch():
    encoder = SentenceEncoder()
    texts = ["A short text.", "A rather longer text about the rivers of Azuria and their many bridges.", "Blue"]
    together = encoder.encode(texts)
    assert together.shape == (3, 384)
    for i, text in enumerate(texts):
        assert encoder.encode([text])[0] == pytest.approx(together[i], abs=1e-5)
    assert (together**2).sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_fusion_by_hand():
    a, b, c = (Passage(f"{name}#0", name, name) for name in "abc")
    fused = fuse(([Hit(a, 9.0), Hit(b, 8.0)], [Hit(b, 0.9), Hit(c, 0.8)]))
    assert [hit.passage.title for hit in fused] == ["b", "a", "c"]
    assert [hit.score for hit in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    tied = fuse(([Hit(b, 1.0)], [Hit(a, 1.0)]))
    assert [hit.passage.title for hit in tied] == ["a", "b"]


def test_hybrid_asks_both(passages, cache_folder):
    bm25, dense = Bm25Retriever(passages), DenseRetriever(passages, HashEncoder())
    hits = HybridRetriever(bm25, dense).retrieve(["blue dye chemist"], k=2)[0]
    assert hits == fuse((bm25.retrieve(["blue dye chemist"], 100)[0], dense.retrieve(["blue dye chemist"], 100)[0]))[:2]


def test_empty_collection_is_refused():
    with pytest.raises(RagError, match="empty"):
        Bm25Retriever([])


def test_ranking_scores_by_hand():
    pages = {"x": [Passage("x#0", "x", "born 1801"), Passage("x#1", "x", "nothing"), Passage("x#2", "x", "in 1801")]}
    question = Question("q", "When?", ("1801",), "x")
    assert relevant_passages(question, pages) == ["x#0", "x#2"]
    ranking = [Hit(Passage("y#0", "y", ""), 3.0), Hit(pages["x"][2], 2.0), Hit(pages["x"][1], 1.0)]
    row = ranking_rows([question], [ranking], pages, k=3).iloc[0]
    assert row["recall"] == pytest.approx(1 / 2)
    assert row["mrr"] == pytest.approx(1 / 2)
    # DCG 1 / log2(3) over the ideal 1 + 1 / log2(3).
    assert row["ndcg"] == pytest.approx(0.63093 / 1.63093, abs=1e-4)
    missed = ranking_rows([question], [[]], pages, k=3).iloc[0]
    assert (missed["recall"], missed["mrr"], missed["ndcg"]) == (0, 0, 0)


def test_no_text_is_encoded_twice(tmp_path):
    plain = WordEncoder("stone", "sea")
    encoder = CachedEncoder(plain, Cache(tmp_path / "c.sqlite"))
    texts = ["stone stone sea", "the sea", "stone stone sea"]
    found = encoder.encode(texts)
    assert sorted(plain.calls[0]) == ["stone stone sea", "the sea"]
    assert CachedEncoder(plain, Cache(tmp_path / "c.sqlite")).encode(texts[::-1]).tolist() == found[::-1].tolist()
    assert len(plain.calls) == 1
    # To the last bit what the encoder itself gives, and of its shape for no text at all.
    assert np.array_equal(found, plain.encode(texts)) and found.dtype == np.float32
    assert encoder.encode([]).shape == plain.encode([]).shape == (0, 3)


def test_encoders_of_different_names_share_nothing(tmp_path):
    first, second = WordEncoder("stone"), WordEncoder("sea")
    second.name = "other words"
    cache = Cache(tmp_path / "c.sqlite")
    ours, theirs = (CachedEncoder(encoder, cache).encode(["sea"]) for encoder in (first, second))
    assert not np.array_equal(ours, theirs)
    assert CachedEncoder(first, cache).name == "words"


def test_without_a_cache_texts_are_encoded_anew():
    plain = WordEncoder("stone")
    encoder = CachedEncoder(plain, NoCache())
    encoder.encode(["a"])
    encoder.encode(["a"])
    assert plain.calls == [["a"], ["a"]]
