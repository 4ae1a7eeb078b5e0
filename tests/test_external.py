"""Checks on real public data outside the repository: set RAG_EXTERNAL_DATA to its folder. Skipped without it."""

import json
import os
import re
import tarfile
from pathlib import Path

import ir_measures
import lxml.html
import numpy as np
import pytest
from ir_measures import AP, P, ScoredDoc

from crag.pairs import load_pairs
from diva.external import ASQA, PASSAGES, RAMDOCS, GivenDocuments, load_asqa, own_pages, without_giveaways
from rag.corpus import load_collection, read_lines
from rag.datasets.published import load_document_sets, load_questions
from rag.retrieval import Bm25Retriever
from rag.scoring.ambiguous import disambig_f1, found_answers, rouge_l
from rag.scoring.readers import LexicalReader
from rag.types import Passage, Task

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
    questions = load_questions(FOLDER / name, Task.SHORT_ANSWER)
    assert len(questions) == rows
    assert len({question.id for question in questions}) == rows


def test_labelled_popqa_pairs_load_whole():
    pairs = load_pairs(FOLDER / "popqa" / "wiki18_pairs.jsonl")
    assert len(pairs) == 949 and len({pair.question_id for pair in pairs}) == 350
    assert sum(pair.label > 0 for pair in pairs) == 374


@pytest.fixture(scope="module")
def alce():
    """ALCE's four published systems: their outputs and per-pair scores, with the ASQA question where the folder has it."""
    asqa = {question.id: question for question in load_questions(FOLDER / ASQA, Task.AMBIGUOUS)}
    rows = [json.loads(line) for line in read_lines(FOLDER / "asqa" / "alce_human_eval_asqa_outputs.jsonl")]
    assert len(rows) == 400
    return [{**row, "gold": asqa.get(row["id"])} for row in rows]


def by_system(rows, scores):
    """The mean of the rows' scores by system, times 100, in the order of the file."""
    systems = [row["system"] for row in rows]
    return [
        100 * float(np.mean([score for system, score in zip(systems, scores, strict=True) if system == name]))
        for name in dict.fromkeys(systems)
    ]


def test_str_em_equals_the_published_value_of_every_pair(alce):
    scored = [row for row in alce if row["gold"]]
    # The folder holds the gold pairs of these: half of ASQA.
    assert len(scored) >= 216
    for row in scored:
        found = found_answers(row["output"], row["gold"].interpretations)
        assert found == row["automatic_correctness_scores"], row["id"]
    # Means over pairs, then over questions, of all 400.
    assert by_system(alce, [np.mean(row["automatic_correctness_scores"]) for row in alce]) == pytest.approx(
        [35.3, 38.2, 36.55, 26.47], abs=0.005
    )


# rougeLsum of the same 54 questions with Punkt's trained English model, which does not come with the project.
TRAINED_PUNKT = [37.69, 34.08, 36.39, 31.67]
PUBLISHED_ROUGE = [35.45, 34.16, 35.48, 33.28]


def test_rouge_l_is_that_of_the_trained_splitter(alce):
    scored = [row for row in alce if row["gold"]]
    found = by_system(scored, [rouge_l(row["output"], row["gold"].references) for row in scored])
    if len(scored) == len(alce):
        assert found == pytest.approx(PUBLISHED_ROUGE, abs=0.1)
    else:
        assert found == pytest.approx(TRAINED_PUNKT, abs=0.1)


def test_the_lexical_reader_ranks_systems_much_as_the_published_one(alce):
    scored = [row for row in alce if row["gold"]]
    f1 = disambig_f1(
        [row["output"] for row in scored], [row["gold"].interpretations for row in scored], LexicalReader()
    )
    standard, summary, reranked, vicuna = by_system(scored, f1)
    # Of all 100 questions the RoBERTa reader found: reranked 29.5, standard 28.3, summary 25.8, vicuna 22.6.
    assert min(standard, reranked) > summary > vicuna


@pytest.mark.parametrize(
    ("name", "questions", "single"),
    [
        ("asqa/asqa_dev.jsonl", 479, 0),
        ("situatedqa/raw_data.temp.test.jsonl", 397, 250),
        ("situatedqa/raw_data.geo.test.jsonl", 66, 0),
        ("ramdocs/ramdocs.jsonl", 258, 48),
    ],
)
def test_ambiguous_question_files_load_whole(name, questions, single):
    loaded = load_questions(FOLDER / name, Task.AMBIGUOUS)
    assert len(loaded) == questions
    assert sum(len(question.interpretations) == 1 for question in loaded) == single
    assert {len(question.references) for question in loaded} == ({2} if "asqa" in name else {0})


def test_ramdocs_load_whole():
    kinds = [kind for own in load_document_sets(FOLDER / RAMDOCS) for kind in own.kinds]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"correct": 991, "noise": 287, "misinfo": 170}


def test_ramdocs_give_every_text_the_documents_of_one_question():
    sets = load_document_sets(FOLDER / RAMDOCS)
    texts = [meant.text for own in sets for meant in own.question.interpretations]
    found = GivenDocuments(sets).retrieve(texts, 100)
    assert len(found) == 576
    assert [hits[0].passage.article_id for hits in found] == [
        own.question.id for own in sets for _ in own.question.interpretations
    ]
    assert len(without_giveaways(sets)) == 172


def test_asqa_questions_have_passages_of_their_own_pages():
    collection = load_collection(FOLDER / PASSAGES)
    questions, pages = load_asqa(FOLDER / ASQA, collection), own_pages(FOLDER / ASQA)
    assert len(collection) == 5531 and len(questions) == 100
    titles = {passage.title for passage in collection}
    assert all(titles & pages[question.id] for question in questions)
