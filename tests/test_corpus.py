"""Passages, splits and user collections."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.corpus import fraction, in_collection, lead, load_collection, pack, sentences, split_article
from rag.errors import RagError


def test_sentences_keep_abbreviations_and_ends():
    assert sentences("Dr. Smith came.  He left at 5 p.m. on Sunday. Why?") == [
        "Dr. Smith came.",
        "He left at 5 p.m. on Sunday.",
        "Why?",
    ]


def test_pack_keeps_order_and_bound():
    assert pack(["a b", "c d", "e"], max_words=4) == ["a b c d", "e"]
    assert pack(["a b c d e f", "g"], max_words=4) == ["a b c d e f", "g"]
    assert pack([], max_words=4) == []


@given(st.lists(st.text(alphabet="xy ", min_size=1).filter(str.strip), max_size=12), st.integers(1, 20))
def test_pack_loses_nothing(units, max_words):
    assert " ".join(pack(units, max_words)).split() == " ".join(units).split()


def test_passages_have_stable_ids_and_hold_the_whole_article(articles):
    passages = split_article(articles[0])
    assert [passage.id for passage in passages] == [f"Ada_Stone#{i}" for i in range(len(passages))]
    assert passages[0].text.startswith("Ada Stone: English chemist (1801–1870). Ada Maria Stone was")
    assert " ".join(passage.text for passage in passages) == f"{lead(articles[0])} {articles[0].extract}"
    assert passages[0].article_id == "Ada_Stone"


def test_fraction_is_fixed():
    # First eight bytes of sha256("x") as a share of 2**64.
    assert fraction("x") == int("2d711642b726b044", 16) / 2**64
    assert in_collection("x") == (fraction("collection/x") < 0.6)


def test_user_collection(tmp_path):
    path = tmp_path / "mine.jsonl"
    rows = [{"id": "a", "title": "A", "text": "line\u2028two"}, {"id": "b#3", "text": "no title"}]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", encoding="utf-8")
    assert [(p.id, p.title, p.text) for p in load_collection(path)] == [
        ("a#0", "A", "line\u2028two"),
        ("b#3", "", "no title"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ('{"id": "a", "text": "x"}\n{"id": "b"}\n', "mine.jsonl:2: not a passage"),
        ('{"id": "a", "text": "x"}\nnonsense\n', "mine.jsonl:2: not a passage"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', "mine.jsonl:2: passage id 'a#0' occurs twice"),
    ],
)
def test_bad_collections_are_named(tmp_path, text, says):
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(RagError, match=says):
        load_collection(path)


def test_missing_collection_is_named(tmp_path):
    with pytest.raises(RagError, match=r"cannot read .*none\.jsonl"):
        load_collection(tmp_path / "none.jsonl")
