"""The local judge of FActScore: a small cross-encoder, trained here to tell whether a passage supports a statement.

The embedded language model is no judge (notebook 4 reports what it scores). The judge is trained like the evaluator, on pairs
made by rule from the train articles: claims with their truth, and sentences of biographies as they stand or with a fact
changed.
"""

import re
from collections.abc import Iterator

from crag.pairs import LabelledPair, Pair
from rag.corpus import fraction, sentences
from rag.datasets.vocabulary import NATIONALITIES, OCCUPATIONS
from rag.scoring.text import settles
from rag.types import Passage, Question

YEAR = re.compile(r"\b1\d{3}\b|\b20[012]\d\b")
ONE_WORD_OCCUPATIONS = frozenset(name for name in OCCUPATIONS if "-" not in name)
MAX_YEARS_CHANGED = 40
VOWELS = "AEIOUaeiou"


def claim_pairs(claims: list[Question], pages: dict[str, list[Passage]]) -> Iterator[LabelledPair]:
    """Each claim with the passage that settles it, labelled by its truth, and with another that doesn't: unsupported."""
    for claim in claims:
        own = pages[claim.article_id]
        holding = [passage for passage in own if settles(claim, passage.text)]
        if holding:
            yield _pair(claim.text, holding[0], claim.answers == ("true",), claim.id)
        if others := [passage for passage in own if not settles(claim, passage.text)]:
            yield _pair(claim.text, others[0], False, claim.id)


def sentence_pairs(people: list[Question], pages: dict[str, list[Passage]]) -> Iterator[LabelledPair]:
    """Sentences of each person's article: with their passage (supported), with a fact changed, and with another person's
    passage (both unsupported)."""
    for place, person in enumerate(people):
        other = pages[people[(place + 1) % len(people)].article_id][0]
        for passage in pages[person.article_id]:
            for sentence in sentences(passage.text):
                if sentence.startswith(f"{passage.title}:"):
                    continue  # the line of description
                key = f"{person.id}/{sentence}"
                yield _pair(sentence, passage, True, person.id)
                changed = with_changed_fact(sentence, key)
                if changed:
                    yield _pair(changed, passage, False, person.id)
                elif len(people) > 1 and fraction(f"other/{key}") < 0.5:
                    yield _pair(sentence, other, False, person.id)


def with_changed_fact(sentence: str, key: str) -> str | None:
    """The sentence with its first year, nationality or occupation replaced by another; None where it has none."""
    if year := YEAR.search(sentence):
        shift = 1 + int(fraction(f"shift/{key}") * MAX_YEARS_CHANGED)
        sign = 1 if fraction(f"sign/{key}") < 0.5 else -1
        return f"{sentence[: year.start()]}{int(year[0]) + sign * shift}{sentence[year.end() :]}"
    for kind in (NATIONALITIES, ONE_WORD_OCCUPATIONS):
        for found in re.finditer(r"[\w-]+", sentence):
            if (word := found[0]) in kind:
                # Of the same kind of initial, or "an French" would give the change away.
                others = sorted(other for other in kind - {word} if (other[0] in VOWELS) == (word[0] in VOWELS))
                other = others[int(fraction(f"{word}/{key}") * len(others))]
                return f"{sentence[: found.start()]}{other}{sentence[found.end() :]}"
    return None


def _pair(statement: str, passage: Passage, supported: bool, question_id: str) -> LabelledPair:
    return LabelledPair(
        Pair(statement, passage.title, passage.text), 1.0 if supported else -1.0, question_id, passage.id
    )
