"""Knowledge refinement: decompose into strips, filter them by the evaluator, recompose in text order (CRAG §4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from crag.evaluator import Evaluator
from crag.pairs import Pair
from rag.corpus import sentences, titled
from rag.types import Passage

STRIP_SENTENCES = 2
MIN_SCORE = -0.5
TOP_STRIPS = 5


@dataclass(frozen=True)
class Strip:
    """A piece of knowledge. `source` is a passage id or an address; `score` is the evaluator's."""

    title: str
    text: str
    source: str
    score: float = 0.0


def decompose(passages: Sequence[Passage]) -> list[Strip]:
    """Passages as strips of at most two sentences: a passage of one or two sentences is one strip (CRAG §4.4)."""
    strips = []
    for passage in passages:
        parts = sentences(passage.text)
        for start in range(0, len(parts), STRIP_SENTENCES):
            strips.append(Strip(passage.title, " ".join(parts[start : start + STRIP_SENTENCES]), passage.id))
    return strips


def whole(passages: Sequence[Passage]) -> list[Strip]:
    """Passages uncut, each as one strip: knowledge without refinement."""
    return [Strip(passage.title, passage.text, passage.id) for passage in passages]


def filter_strips(questions: Sequence[str], strips: Sequence[list[Strip]], evaluator: Evaluator) -> list[list[Strip]]:
    """For each question its best strips: at most five, none below -0.5, in their original order.

    All strips of all questions are scored in one call. Where no strip passes, the list is empty.
    """
    pairs = [Pair(q, strip.title, strip.text) for q, own in zip(questions, strips, strict=True) for strip in own]
    scores = iter(evaluator.score(pairs))
    kept = []
    for own in strips:
        scored = [Strip(strip.title, strip.text, strip.source, float(next(scores))) for strip in own]
        ranked = sorted(range(len(scored)), key=lambda i: (-scored[i].score, i))[:TOP_STRIPS]
        kept.append([scored[i] for i in sorted(ranked) if scored[i].score >= MIN_SCORE])
    return kept


def recompose(strips: Sequence[Strip]) -> str:
    """Strips as text: those of one source on one line behind its title."""
    lines: dict[tuple[str, str], list[str]] = {}
    for strip in strips:
        lines.setdefault((strip.source, strip.title), []).append(strip.text)
    return "\n".join(titled(title, " ".join(texts)) for (_, title), texts in lines.items())
