"""Scores of long answers to ambiguous questions (ASQA; Stelmakh et al. 2022; DIVA §4) and of what was retrieved for them.

Every score is a share in [0, 1]; papers print them times 100. A score of a question is the mean over its pairs of a
disambiguated question and its gold answers, a corpus value the mean over questions.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import cache

import numpy as np

from rag.errors import RagError
from rag.scoring.readers import AnswerReader
from rag.scoring.text import comparable, contains_answer, normalise, token_f1
from rag.types import Answer, Hit, Interpretation, Question


class Matching(StrEnum):
    """What counts as an answer in a passage: a substring, or a run of whole tokens ("war" is in "Warsaw" as a substring
    only). It is part of a figure: on one run the two give different recalls."""

    SUBSTRING = "substring"
    TOKEN = "token"


class Coverage(StrEnum):
    """How many of a question's gold answers its passages hold (DIVA, Figure 3)."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


def checked(interpretations: Sequence[Interpretation]) -> Sequence[Interpretation]:
    """Return the pairs, or raise `RagError` if there are none: such a question has no score."""
    if not interpretations:
        raise RagError("a question without interpretations has no score: give it its disambiguated questions")
    return interpretations


def found_answers(output: str, interpretations: Sequence[Interpretation]) -> list[bool]:
    """Whether each pair has an alias in the output, both normalised, in order."""
    return [contains_answer(output, pair.answers) for pair in checked(interpretations)]


def str_em(output: str, interpretations: Sequence[Interpretation]) -> float:
    """STR-EM: the share of pairs of which an alias is a substring of the output, both normalised."""
    return float(np.mean(found_answers(output, interpretations)))


def pair_f1(
    outputs: Sequence[str], interpretations: Sequence[Sequence[Interpretation]], reader: AnswerReader
) -> list[list[float]]:
    """Token F1 of what the reader takes from each output for each of its pairs, the best over the pair's aliases.

    All pairs of all outputs are one batch for the reader. No answer scores 0: a pair always has a gold answer.
    """
    pairs = [(pair, output) for output, own in zip(outputs, interpretations, strict=True) for pair in checked(own)]
    read = reader.read([pair.text for pair, _ in pairs], [output for _, output in pairs])
    scores = iter([token_f1(text, pair.answers) for text, (pair, _) in zip(read, pairs, strict=True)])
    return [[next(scores) for _ in own] for own in interpretations]


def disambig_f1(
    outputs: Sequence[str], interpretations: Sequence[Sequence[Interpretation]], reader: AnswerReader
) -> np.ndarray:
    """Disambig-F1 of each output, shape (len(outputs),): the mean of its pairs' F1 as the reader reads it.

    Comparable only between outputs that one reader read: name it (`reader.name`) beside every figure.
    """
    return np.array([np.mean(own) for own in pair_f1(outputs, interpretations, reader)])


@cache
def _rouge():
    # Imported late: it loads all of NLTK.
    from nltk.tokenize.punkt import PunktSentenceTokenizer
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeLsum"], use_stemmer=True), PunktSentenceTokenizer()


def rouge_lines(text: str) -> str:
    """The text in lower case, a sentence a line, as rougeLsum takes it.

    Split after lowering, as the published figures were: splitting before it moves a corpus value by up to 0.9 points.
    Punkt runs without its trained English model, which must be downloaded; on ASQA that moves a corpus value by less
    than 0.01.
    """
    return "\n".join(_rouge()[1].tokenize(text.lower()))


def rouge_l(output: str, references: Sequence[str]) -> float:
    """ROUGE-L of a long answer: the F measure of rougeLsum with Porter's stems, by the better of the references."""
    if not references:
        raise RagError("ROUGE-L needs at least one reference: give the question its long answers")
    lines = [rouge_lines(reference) for reference in references]
    return _rouge()[0].score_multi(lines, rouge_lines(output))["rougeLsum"].fmeasure


def dr(d_f1: float, rouge_l: float) -> float:
    """DR: the geometric mean of Disambig-F1 and ROUGE-L. For corpus values, not for single questions."""
    return math.sqrt(d_f1 * rouge_l)


def holds(text: str, answers: Sequence[str], matching: Matching) -> bool:
    """Whether a passage holds an alias, under a matching rule, both normalised."""
    if Matching(matching) == Matching.SUBSTRING:
        return contains_answer(text, answers)
    tokens = f" {normalise(text)} "
    return any(f" {comparable(answer)} " in tokens for answer in answers)


def covered(
    passages: Sequence[str], interpretations: Sequence[Interpretation], matching: Matching = Matching.SUBSTRING
) -> list[bool]:
    """Whether each pair has an alias in one of the passages (their texts), in order."""
    return [any(holds(text, pair.answers, matching) for text in passages) for pair in checked(interpretations)]


def mrecall(
    passages: Sequence[str],
    interpretations: Sequence[Interpretation],
    k: int,
    matching: Matching = Matching.SUBSTRING,
) -> float:
    """MRecall@k (Min et al. 2021): 1.0 if the first k passages hold at least min(k, n) of the n gold answers, else 0.0."""
    if k < 1:
        raise RagError(f"MRecall@{k} is not defined: k is at least 1")
    return float(sum(covered(passages[:k], interpretations, matching)) >= min(k, len(interpretations)))


def coverage_labels(questions: Sequence[Question], found: Sequence[Sequence[Hit]]) -> dict[str, str]:
    """The coverage of each question's gold answers by what was found for it, by the question's id."""
    return {
        question.id: coverage([hit.passage.text for hit in hits], question.interpretations).value
        for question, hits in zip(questions, found, strict=True)
    }


def coverage(
    passages: Sequence[str], interpretations: Sequence[Interpretation], matching: Matching = Matching.SUBSTRING
) -> Coverage:
    """Whether the passages hold all, some or none of the gold answers."""
    found = covered(passages, interpretations, matching)
    return Coverage.FULL if all(found) else Coverage.PARTIAL if any(found) else Coverage.NONE


def set_f1(answers: Sequence[str], gold: Sequence[Sequence[str]]) -> float:
    """F1 of a set of short answers against the gold ones, each given by its aliases (SituatedQA).

    In order, each answer takes the first gold answer that is still free and of which an alias equals it, both
    normalised. Equal answers count once, and so do gold answers with the same aliases.
    """
    if not gold or not all(gold):
        raise RagError("a question without gold answers has no F1: give it one, with at least one alias")
    free = list(dict.fromkeys(frozenset(map(comparable, aliases)) for aliases in gold))
    said = list(dict.fromkeys(text for text in map(comparable, answers) if text))
    size = len(said) + len(free)
    matched = 0
    for text in said:
        if (hit := next((aliases for aliases in free if text in aliases), None)) is not None:
            free.remove(hit)
            matched += 1
    return 2 * matched / size


class AmbiguousScorer:
    """The `Scorer` of ambiguous questions: `str_em`, `d_f1` and `rouge_l` of each answer, all in [0, 1].

    Raises `RagError` that names the question for one without interpretations or references.
    """

    def __init__(self, reader: AnswerReader):
        self.reader = reader

    def __call__(self, questions: list[Question], answers: list[Answer]) -> list[dict[str, float]]:
        for question in questions:
            if not (question.interpretations and question.references):
                raise RagError(f"question {question.id!r} lacks interpretations or references: it can't be scored")
        outputs = [answer.text for answer in answers]
        f1 = disambig_f1(outputs, [question.interpretations for question in questions], self.reader)
        return [
            {
                "str_em": str_em(output, question.interpretations),
                "d_f1": float(read),
                "rouge_l": rouge_l(output, question.references),
            }
            for question, output, read in zip(questions, outputs, f1, strict=True)
        ]
