"""Checks on real public data outside the repository: set RAG_EXTERNAL_DATA to its folder. Skipped without it."""

import os
import re
import tarfile
from pathlib import Path

import ir_measures
import lxml.html
import pytest
from ir_measures import AP, P, ScoredDoc

from crag.pairs import load_pairs
from rag.datasets.published import load_questions
from rag.retrieval import Bm25Retriever
from rag.types import Passage

FOLDER = Path(os.environ.get("RAG_EXTERNAL_DATA", "none"))

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="RAG_EXTERNAL_DATA names no folder of external data"),
]


def test_bm25_equals_anserinis_published_figures_on_cacm(cache_folder):
    with tarfile.open(FOLDER / "ir" / "cacm.tar.gz") as archive:
        files = {
            Path(member.name).stem: archive.extractfile(member).read().decode() for member in archive if member.isfile()
        }
    passages = [
        Passage(name, "", lxml.html.document_fromstring(text).text_content()) for name, text in sorted(files.items())
    ]
    topics = re.findall(r"<DOCNO>\s*(\d+)\s*</DOCNO>(.*?)</DOC>", (FOLDER / "ir" / "topics.cacm.txt").read_text(), re.S)
    retrieved = Bm25Retriever(passages).retrieve([" ".join(text.split()) for _, text in topics], k=1000)
    run = [
        ScoredDoc(topic, hit.passage.id, hit.score)
        for (topic, _), hits in zip(topics, retrieved, strict=True)
        for hit in hits
    ]
    qrels = list(ir_measures.read_trec_qrels(str(FOLDER / "ir" / "qrels.cacm.txt")))
    found = ir_measures.calc_aggregate([AP, P @ 30], qrels, run)
    assert found[AP] == pytest.approx(0.3123, abs=0.0005)
    assert found[P @ 30] == pytest.approx(0.1942, abs=0.0005)


@pytest.mark.parametrize(("name", "rows"), [("popqa/wiki18_pairs.jsonl", 350), ("popqa/crag_knowledge.jsonl", 558)])
def test_published_question_files_load_whole(name, rows):
    questions = load_questions(FOLDER / name)
    assert len(questions) == rows
    assert len({question.id for question in questions}) == rows


def test_labelled_popqa_pairs_load_whole():
    pairs = load_pairs(FOLDER / "popqa" / "wiki18_pairs.jsonl")
    assert len(pairs) == 949 and len({pair.question_id for pair in pairs}) == 350
    assert sum(pair.label > 0 for pair in pairs) == 374
