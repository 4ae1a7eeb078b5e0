"""Scores of rankings through ir_measures (trec_eval's definitions)."""

import ir_measures
import pandas as pd
from ir_measures import RR, R, ScoredDoc, nDCG

from rag.scoring.text import contains_answer
from rag.types import Hit, Passage, Question

MEASURES = {"recall": R, "mrr": RR, "ndcg": nDCG}


def relevant_passages(question: Question, pages: dict[str, list[Passage]]) -> list[str]:
    """Ids of the passages of the question's own article that hold an answer."""
    own = pages.get(question.article_id, [])
    return [passage.id for passage in own if contains_answer(passage.text, question.answers)]


def ranking_rows(
    questions: list[Question], retrieved: list[list[Hit]], pages: dict[str, list[Passage]], k: int
) -> pd.DataFrame:
    """Recall@k, reciprocal rank@k and nDCG@k of each question: columns question_id, recall, mrr, ndcg.

    `pages` holds the collection's passages by article. Every question must have a relevant passage in it.
    """
    qrels = {question.id: dict.fromkeys(relevant_passages(question, pages), 1) for question in questions}
    # The rank decides, not the score: -position keeps a retriever's order of ties.
    run = [
        ScoredDoc(question.id, hit.passage.id, -position)
        for question, hits in zip(questions, retrieved, strict=True)
        for position, hit in enumerate(hits[:k])
    ]
    rows = {question.id: dict.fromkeys(MEASURES, 0.0) for question in questions}
    names = {measure @ k: name for name, measure in MEASURES.items()}
    for score in ir_measures.iter_calc(list(names), qrels, run):
        rows[score.query_id][names[score.measure]] = score.value
    return pd.DataFrame([{"question_id": i, **scores} for i, scores in rows.items()])
