"""Corrective RAG (CRAG, Algorithm 1), one batch a stage: `Corrector` makes the knowledge, `Crag` answers from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from crag.actions import Action, Thresholds, decide
from crag.evaluator import Evaluator
from crag.pairs import make_pair
from crag.refinement import Strip, decompose, filter_strips, recompose, whole
from crag.rewriting import NoRewriter, Rewriter
from crag.web.types import WebSearch
from rag.cost import Cost, cost_trace, spent
from rag.retrieval import Retriever
from rag.systems import Correction, Reader
from rag.types import Answer, Hit, Question

# Unselected web text is cut here: whole pages would overflow a prompt.
MAX_UNSELECTED_WORDS = 600


@dataclass(frozen=True)
class Variant:
    """A version of the method, as data; the default is the method itself.

    `instead` maps an action to the one that is taken in its place. Without `refine` internal knowledge is the passages as they
    are, without `rewrite` the question itself is searched for, without `select` external knowledge is all that the pages
    say (CRAG Table 3). `thresholds` replace the fitted ones.
    """

    name: str = "crag"
    instead: Mapping[Action, Action] = field(default_factory=dict)
    refine: bool = True
    rewrite: bool = True
    select: bool = True
    thresholds: Thresholds | None = None


@dataclass(frozen=True)
class External:
    """What the web gave for one question: strips to choose from, and what happened on the way. `note` and `cost` are the
    rewriter's."""

    query: str
    note: str | None
    strips: list[Strip]
    errors: list[str]
    cost: Cost


@dataclass(frozen=True)
class Knowledge:
    """What there is to answer one question from, and how it came about."""

    action: Action
    scores: list[float]
    internal: list[Strip]
    external: list[Strip]
    web: External | None

    @property
    def strips(self) -> list[Strip]:
        """Internal, then external (CRAG Algorithm 1)."""
        return self.internal + self.external

    @property
    def text(self) -> str:
        return "\n".join(filter(None, (recompose(self.internal), recompose(self.external))))

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids and addresses that the strips are from, each once."""
        return tuple(dict.fromkeys(strip.source for strip in self.strips))

    @property
    def cost(self) -> Cost:
        """What the rewriter cost, where a language model rewrote the question."""
        return self.web.cost if self.web else {}

    @property
    def trace(self) -> dict:
        """All but the texts and the cost, in JSON values."""
        return {
            "action": self.action.value,
            "scores": self.scores,
            "strips": [[strip.source, strip.score] for strip in self.strips],
            "query": self.web.query if self.web else None,
            "rewriting": self.web.note if self.web else None,
            "errors": self.web.errors if self.web else [],
        }


class Corrector:
    """Score the retrieved passages, act on the scores, gather the knowledge that the action asks for.

    Correct: the passages' refined strips. Incorrect: strips from the web instead. Ambiguous: both. Where nothing is left
    (no strip passed, the search failed) the knowledge is empty and its trace says so.
    """

    def __init__(
        self,
        retriever: Retriever,
        evaluator: Evaluator,
        rewriter: Rewriter,
        web: WebSearch,
        thresholds: Thresholds,
        top_k: int,
    ):
        self.retriever = retriever
        self.evaluator = evaluator
        self.rewriter = rewriter
        self.web = web
        self.thresholds = thresholds
        self.top_k = top_k

    def correct(self, questions: list[Question], variant: Variant) -> list[Knowledge]:
        """The knowledge for each question, in order."""
        texts = [question.text for question in questions]
        retrieved = self.retriever.retrieve(texts, self.top_k)
        scores = score_hits(questions, retrieved, self.evaluator)
        thresholds = variant.thresholds or self.thresholds
        decided = [decide(own, thresholds) for own in scores]
        actions = [variant.instead.get(action, action) for action in decided]

        cut = decompose if variant.refine else whole
        internal = [
            cut([hit.passage for hit in hits]) if action != Action.INCORRECT else []
            for hits, action in zip(retrieved, actions, strict=True)
        ]
        searched = [i for i, action in enumerate(actions) if action != Action.CORRECT]
        found = dict(zip(searched, self._search([texts[i] for i in searched], variant.rewrite), strict=True))
        external = [found[i].strips if i in found else [] for i in range(len(questions))]
        # One call for both kinds: the evaluator sees every strip of every question in one batch.
        kept = filter_strips(
            texts + texts,
            (internal if variant.refine else [[] for _ in texts])
            + (external if variant.select else [[] for _ in texts]),
            self.evaluator,
        )
        if variant.refine:
            internal = kept[: len(texts)]
        external = kept[len(texts) :] if variant.select else [_first_words(strips) for strips in external]
        return [Knowledge(actions[i], scores[i], internal[i], external[i], found.get(i)) for i in range(len(questions))]

    def _search(self, questions: list[str], rewrite: bool) -> list[External]:
        """The paragraphs that a web search gives for each question, in the order of results and pages (CRAG §4.5)."""
        rewrites = (self.rewriter if rewrite else NoRewriter()).rewrite(questions)
        outcomes = self.web.search([rewritten.query for rewritten in rewrites])
        pages = self.web.read([result.url for outcome in outcomes for result in outcome.results])
        gathered = []
        for rewritten, outcome in zip(rewrites, outcomes, strict=True):
            found = [pages[result.url] for result in outcome.results]
            strips = [Strip(page.title, text, page.url) for page in found for text in page.paragraphs]
            errors = [error for error in [outcome.error, *(page.error for page in found)] if error]
            gathered.append(External(outcome.query, rewritten.note, strips, errors, rewritten.cost))
        return gathered


def _first_words(strips: list[Strip]) -> list[Strip]:
    """The first strips up to the limit of words."""
    ends = np.cumsum([len(strip.text.split()) for strip in strips])
    return strips[: int(np.searchsorted(ends, MAX_UNSELECTED_WORDS, side="right"))]


class Crag:
    """Answer from the corrected knowledge; without any, the generator answers alone and the trace says so."""

    def __init__(self, corrector: Corrector, reader: Reader, variant: Variant | None = None):
        self.corrector = corrector
        self.reader = reader
        self.variant = variant or Variant()
        self.name = self.variant.name

    def answer(self, questions: list[Question]) -> list[Answer]:
        knowledge = self.corrector.correct(questions, self.variant)
        read = self.reader.read(questions, [known.text for known in knowledge])
        return [
            Answer(
                question.id,
                own.text,
                known.sources,
                {**known.trace, **cost_trace(known.cost, {"answer": spent([own])})},
            )
            for question, known, own in zip(questions, knowledge, read, strict=True)
        ]


class CragCorrection:
    """The corrected knowledge for other systems: a `Corrective`."""

    def __init__(self, corrector: Corrector, variant: Variant | None = None):
        self.corrector = corrector
        self.variant = variant or Variant()

    def correct(self, questions: list[Question]) -> list[Correction]:
        knowledge = self.corrector.correct(questions, self.variant)
        return [Correction(known.text, known.sources, known.trace, known.cost) for known in knowledge]


def score_hits(questions: list[Question], retrieved: list[list[Hit]], evaluator: Evaluator) -> list[list[float]]:
    """The evaluator's scores of each question's passages, all pairs in one call."""
    pairs = [make_pair(q, hit.passage) for q, hits in zip(questions, retrieved, strict=True) for hit in hits]
    ends = np.cumsum([len(hits) for hits in retrieved])
    return [own.tolist() for own in np.split(evaluator.score(pairs), ends)[: len(retrieved)]]
