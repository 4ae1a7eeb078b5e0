"""The ablations of the paper, as data: which variant leaves out what (CRAG Tables 2, 3, 5, 11 and Figure 3)."""

from collections.abc import Mapping

from crag.actions import Action, Thresholds
from crag.pairs import label_of
from crag.system import Variant
from rag.corpus import fraction
from rag.retrieval import Retriever
from rag.scoring.text import settles
from rag.types import Hit, Passage, Question

CORRECT, INCORRECT, AMBIGUOUS = Action.CORRECT, Action.INCORRECT, Action.AMBIGUOUS
# The share of the questions that keep their accurate passages.
ACCURACY_KEPT = (1.0, 0.75, 0.5, 0.25, 0.0)
DEPTH = 20  # how deep a degraded retrieval looks for other passages


def only(action: Action) -> dict[Action, Action]:
    """One action, whatever was decided."""
    return dict.fromkeys(Action, action)


def removed_actions(single: float) -> list[Variant]:
    """One action removed (Table 2): Correct or Incorrect becomes Ambiguous; one threshold leaves no Ambiguous."""
    return [
        Variant("without correct", {CORRECT: AMBIGUOUS}),
        Variant("without incorrect", {INCORRECT: AMBIGUOUS}),
        Variant("without ambiguous", thresholds=Thresholds(single, single)),
    ]


SINGLE_ACTIONS = [Variant(f"only {action.value}", only(action)) for action in Action]
"""One action for every question (Table 11)."""

REMOVED_OPERATIONS = [
    Variant("without refinement", refine=False),
    Variant("without rewriting", rewrite=False),
    Variant("without selection", select=False),
]
"""One operation removed (Table 3)."""


def web_always(name: str) -> Variant:
    """All retrieved passages and the web's knowledge for every question, without a decision (Table 5)."""
    return Variant(name, only(AMBIGUOUS), refine=False)


class DegradedRetriever:
    """Retrieval that lost its accurate passages for a share of the questions (Figure 3).

    `questions` are those that will be asked, by their text. Which lose theirs is drawn once a question, so what is lost at one level is
    lost at every lower one. Other passages move up from below.
    """

    def __init__(self, retriever: Retriever, questions: list[Question], kept: float):
        self.retriever = retriever
        self.questions: Mapping[str, Question] = {question.text: question for question in questions}
        self.kept = kept
        self.name = f"{retriever.name}, {kept:.0%} kept"

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        found = self.retriever.retrieve(queries, k + DEPTH)
        return [self._degrade(self.questions[query], hits)[:k] for query, hits in zip(queries, found, strict=True)]

    def _degrade(self, question: Question, hits: list[Hit]) -> list[Hit]:
        if fraction(f"degraded/{question.id}") < self.kept:
            return hits
        return [hit for hit in hits if not accurate(question, hit.passage)]


def accurate(question: Question, passage: Passage) -> bool:
    """Whether a passage is of the right page, or holds the answer where the question names no page."""
    return label_of(question, passage) > 0 if question.article_id else settles(question, passage.text)
