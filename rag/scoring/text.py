"""Scores of one answer against its gold aliases, each in [0, 1].

`normalise` is the SQuAD one: lower case, no punctuation, no articles, single blanks; accents are kept. Every metric
here works on normalised text, so "True" equals "true". An alias that normalises to nothing (a bare "A") is compared
in lower case without normalising.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower case, punctuation and articles dropped, blanks folded (SQuAD; Rajpurkar et al. 2016)."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def contains_answer(output: str, answers: Sequence[str]) -> bool:
    """Whether any alias is a substring of the output, both normalised (CRAG §5.2; STR-EM in ASQA)."""
    text = normalise(output)
    return any(
        alias in text if (alias := normalise(answer)) else answer.lower() in output.lower() for answer in answers
    )


def accuracy(output: str, answers: Sequence[str]) -> float:
    """1.0 if any alias occurs in the output (CRAG §5.2), else 0.0."""
    return float(contains_answer(output, answers))


def exact_match(output: str, answers: Sequence[str]) -> float:
    """1.0 if the whole normalised output equals a normalised alias, else 0.0 (SQuAD)."""
    return float(any(normalise(output) == normalise(answer) for answer in answers))


def token_f1(output: str, answers: Sequence[str]) -> float:
    """The best F1 of bags of normalised tokens over the aliases (SQuAD); 1.0 where both are empty."""
    return max(_f1(normalise(output).split(), normalise(answer).split()) for answer in answers)


def _f1(output: list[str], gold: list[str]) -> float:
    if not output or not gold:
        return float(output == gold)
    shared = sum((Counter(output) & Counter(gold)).values())
    return 2 * shared / (len(output) + len(gold))


METRICS = {"accuracy": accuracy, "exact_match": exact_match, "token_f1": token_f1}
