"""Corrective RAG (CRAG, Algorithm 1), one batch a stage."""

from dataclasses import dataclass

import numpy as np

from crag.actions import Action, Thresholds, decide
from crag.evaluator import Evaluator
from crag.pairs import make_pair
from crag.refinement import Strip, decompose, filter_strips, recompose
from crag.rewriting import keywords
from crag.web.client import WebSearch
from rag.generation import Generator
from rag.prompts import answer_prompt
from rag.retrieval import Retriever
from rag.types import Answer, Hit, Question


@dataclass(frozen=True)
class External:
    """What the web gave for one question: strips to choose from, and what happened on the way."""

    query: str
    strips: list[Strip]
    errors: list[str]


class Crag:
    """Score the retrieved passages, act on the scores, answer from the corrected knowledge.

    Correct: the passages' refined strips. Incorrect: strips from the web instead. Ambiguous: both. Where no knowledge
    is left (no strip passed, the search failed) the generator answers alone and the trace says so.
    """

    name = "crag"

    def __init__(
        self,
        retriever: Retriever,
        evaluator: Evaluator,
        generator: Generator,
        web: WebSearch,
        thresholds: Thresholds,
        top_k: int,
    ):
        self.retriever = retriever
        self.evaluator = evaluator
        self.generator = generator
        self.web = web
        self.thresholds = thresholds
        self.top_k = top_k

    def answer(self, questions: list[Question]) -> list[Answer]:
        texts = [question.text for question in questions]
        retrieved = self.retriever.retrieve(texts, self.top_k)
        scores = score_hits(questions, retrieved, self.evaluator)
        actions = [decide(own, self.thresholds) for own in scores]

        internal = [
            decompose([hit.passage for hit in hits]) if action != Action.INCORRECT else []
            for hits, action in zip(retrieved, actions, strict=True)
        ]
        searched = [i for i, action in enumerate(actions) if action != Action.CORRECT]
        external = dict(zip(searched, self._search([texts[i] for i in searched]), strict=True))
        web_strips = [external[i].strips if i in external else [] for i in range(len(questions))]
        # One call for both kinds: the evaluator sees every strip of every question in one batch.
        kept = filter_strips(texts + texts, internal + web_strips, self.evaluator)
        kept_internal, kept_external = kept[: len(questions)], kept[len(questions) :]

        knowledge = [
            "\n".join(filter(None, (recompose(inside), recompose(outside))))
            for inside, outside in zip(kept_internal, kept_external, strict=True)
        ]
        completions = self.generator.generate(
            [answer_prompt(text, known) for text, known in zip(texts, knowledge, strict=True)]
        )
        answers = []
        for i, (question, completion) in enumerate(zip(questions, completions, strict=True)):
            strips = kept_internal[i] + kept_external[i]
            trace = {
                "action": actions[i].value,
                "scores": scores[i],
                "strips": [[strip.source, strip.score] for strip in strips],
                "query": external[i].query if i in external else None,
                "errors": external[i].errors if i in external else [],
            }
            answers.append(Answer(question.id, completion.text, tuple(dict.fromkeys(s.source for s in strips)), trace))
        return answers

    def _search(self, questions: list[str]) -> list[External]:
        """The paragraphs that a web search gives for each question, in the order of results and pages (CRAG §4.5)."""
        outcomes = self.web.search([keywords(question) for question in questions])
        pages = self.web.read([result.url for outcome in outcomes for result in outcome.results])
        gathered = []
        for outcome in outcomes:
            found = [pages[result.url] for result in outcome.results]
            strips = [Strip(page.title, text, page.url) for page in found for text in page.paragraphs]
            errors = [error for error in [outcome.error, *(page.error for page in found)] if error]
            gathered.append(External(outcome.query, strips, errors))
        return gathered


def score_hits(questions: list[Question], retrieved: list[list[Hit]], evaluator: Evaluator) -> list[list[float]]:
    """The evaluator's scores of each question's passages, all pairs in one call."""
    pairs = [make_pair(q, hit.passage) for q, hits in zip(questions, retrieved, strict=True) for hit in hits]
    ends = np.cumsum([len(hits) for hits in retrieved])
    return [own.tolist() for own in np.split(evaluator.score(pairs), ends)[: len(retrieved)]]
