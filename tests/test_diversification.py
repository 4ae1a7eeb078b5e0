"""Candidates of all interpretations, by hand."""

import pytest
from diva_fakes import ADA, ADA_BORN, AZURE, BEN, BEN_BORN, SEA, CountingRetriever, WordEncoder

from diva.diversification import Candidates, Kept, diversify, fit, keep_best, keep_first
from rag.retrieval import indexed_text
from rag.types import Hit, Passage

P = [Passage(f"p{i}#0", f"T{i}", f"text {i}") for i in range(8)]


def ids(passages):
    return [passage.id[:2] for passage in passages]


def test_one_retrieval_for_all_interpretations_of_all_questions():
    retriever = CountingRetriever({"a": [P[0], P[1]], "b": [P[1], P[2]], "c": [P[3]]})
    first, second, third = diversify([["a", "b"], ["c", "nothing"], ["nothing"]], retriever, top_k=2, pool=9)
    assert retriever.calls == [["a", "b", "c", "nothing", "nothing"]]
    assert [ids(hit.passage for hit in hits) for hits in first.hits] == [["p0", "p1"], ["p1", "p2"]]
    # 1/61 + 1/62 for p1, 1/61 for p0, 1/62 for p2.
    assert ids(first.pool) == ["p1", "p0", "p2"]
    assert (ids(second.pool), [len(hits) for hits in second.hits]) == (["p3"], [1, 0])
    assert (third.pool, third.hits) == ((), ((),))
    assert diversify([], retriever, 2, 9) == []


def test_the_pool_is_cut_by_fused_rank():
    retriever = CountingRetriever({"a": [P[0], P[1], P[2]], "b": [P[3], P[1], P[4]]})
    sizes = {pool: ids(diversify([["a", "b"]], retriever, 3, pool)[0].pool) for pool in (9, 3, 1)}
    # Equal scores are ordered by id, as in the fusion of retrievers.
    assert sizes == {9: ["p1", "p0", "p3", "p2", "p4"], 3: ["p1", "p0", "p3"], 1: ["p1"]}


def candidates(interpretations, *rankings, pool):
    hits = tuple(tuple(Hit(passage, 1.0) for passage in ranking) for ranking in rankings)
    return Candidates(tuple(interpretations), hits, tuple(pool))


def test_pruning_keeps_what_serves_all_interpretations_in_one_encoder_call():
    encoder = WordEncoder("born", "chemist", "painter", "capital", "azuria")
    stone = candidates([ADA_BORN, BEN_BORN], [SEA, ADA], [BEN], pool=[SEA, BEN, ADA])
    azure = candidates(["capital Azuria"], [AZURE], pool=[AZURE])
    none = candidates(["x"], [], pool=[])
    kept = keep_best([stone, none, azure], encoder, keep=2)
    # Each person's passage has cosine 1 to the own interpretation and 1/2 to the other; the tie keeps the pool's order.
    assert [(ids(own.passages), own.scores) for own in kept] == [
        (["Be", "Ad"], (0.75, 0.75)),
        ([], ()),
        (["Po"], (1.0,)),
    ]
    (call,) = encoder.calls
    assert sorted(call) == sorted([ADA_BORN, BEN_BORN, "capital Azuria", *map(indexed_text, (SEA, BEN, ADA, AZURE))])
    assert keep_best([none], encoder, keep=2) == [Kept(())] and len(encoder.calls) == 1


def test_a_passage_of_one_wrong_interpretation_is_pruned():
    encoder = WordEncoder("born", "nun", "painter", "chemist")
    interpretations = ["painter born", "chemist born", "nun"]
    nun = Passage("n#0", "N", "nun")
    own = candidates(interpretations, [BEN], [ADA], [nun], pool=[nun, BEN, ADA])
    (kept,) = keep_best([own], encoder, keep=2)
    # (1 + 1/2 + 0) / 3 against (0 + 0 + 1) / 3.
    assert ids(kept.passages) == ["Be", "Ad"]
    assert kept.scores == pytest.approx((0.5, 0.5), abs=1e-3)


def test_without_pruning_the_interpretations_take_turns():
    own = candidates(["a", "b", "c"], [P[0], P[1], P[2]], [P[0], P[3]], [P[4], P[5]], pool=P[:5])
    assert ids(keep_first([own], 9)[0].passages) == ["p0", "p4", "p1", "p3", "p2"]  # p5 is not in the pool
    (kept,) = keep_first([own], 3)
    assert (ids(kept.passages), kept.scores) == (["p0", "p4", "p1"], ())
    assert keep_first([candidates(["a"], [], pool=[])], 3) == [Kept(())]


@pytest.mark.parametrize(
    ("words", "kept", "dropped"),
    [
        (None, ["p0", "p1", "p2"], []),
        (9, ["p0", "p1", "p2"], []),  # three words each, "T0: text 0"
        (8, ["p0", "p1"], ["p2"]),
        (3, ["p0"], ["p1", "p2"]),
        (2, [], ["p0", "p1", "p2"]),
    ],
)
def test_the_last_passages_are_dropped_until_the_rest_fits(words, kept, dropped):
    fitted = fit(Kept(tuple(P[:3]), (0.9, 0.8, 0.7)), words)
    assert (ids(fitted.passages), ids(fitted.dropped)) == (kept, dropped)
    assert fitted.scores == (0.9, 0.8, 0.7)[: len(kept)]
