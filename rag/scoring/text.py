"""Scores of one answer against its gold aliases, each in [0, 1].

`normalise` is the SQuAD one: lower case, no punctuation, no articles, single blanks; accents are kept. Every metric of
short answers works on normalised text, so "True" equals "true". An alias that normalises to nothing (a bare "A", a band
called "!!!") is compared as it is written.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from rag.errors import RagError
from rag.types import Question, Task

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower case, punctuation and articles dropped, blanks folded (SQuAD; Rajpurkar et al. 2016)."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def comparable(text: str) -> str:
    """The normalised text; where nothing is left of it, its articles stay, and if need be its marks."""
    return normalise(text) or text.lower().translate(PUNCTUATION).strip() or text.strip()


def contains_answer(output: str, answers: Sequence[str]) -> bool:
    """Whether any alias is a substring of the output, both normalised (CRAG §5.2; STR-EM in ASQA).

    An alias that normalises to nothing counts where it stands as written with no word behind it: the article in "A dog"
    does not name the answer "A".
    """
    text = normalise(output)
    return any(
        alias in text if (alias := normalise(answer)) else re.search(rf"(?<!\w){re.escape(answer)}(?!\s*\w)", output)
        for answer in answers
    )


def accuracy(output: str, answers: Sequence[str]) -> float:
    """1.0 if any alias occurs in the output (CRAG §5.2), else 0.0."""
    return float(contains_answer(output, answers))


def exact_match(output: str, answers: Sequence[str]) -> float:
    """1.0 if the whole normalised output equals a normalised alias, else 0.0 (SQuAD)."""
    return float(any(comparable(output) == comparable(answer) for answer in answers))


def token_f1(output: str, answers: Sequence[str]) -> float:
    """The best F1 of bags of normalised tokens over the aliases (SQuAD); no answer equals an empty alias (SQuAD2)."""
    return max(_f1(comparable(output).split(), comparable(answer).split()) for answer in answers)


def _f1(output: list[str], gold: list[str]) -> float:
    if not (output or gold):
        return 1.0
    shared = sum((Counter(output) & Counter(gold)).values())
    return 2 * shared / (len(output) + len(gold))


def settles(question: Question, text: str) -> bool:
    """Whether a text holds what the question asks for: an answer, or for claims and choices the fact behind it."""
    return contains_answer(text, question.evidence or question.answers)


UNDECIDED = re.compile(r"\b(?:true|false) n?or (?:true|false)\b")
VERDICT = re.compile(
    r"\b(?P<negated>(?:not|cannot|(?:is|was|are|ca|could)n['’]?t) (?:be |(?!only )\w+ly )*)?(?P<word>true|false|untrue)\b"
)


def verdict(output: str) -> str | None:
    """What an output first calls a claim, "true" or "false", in any case; None where it does neither.

    "Not true" and "untrue" are false; "true or false", the choice that the prompt gives, is neither.
    """
    found = VERDICT.search(UNDECIDED.sub(" ", normalise(output)))
    return str((found["word"] == "true") != bool(found["negated"])).lower() if found else None


def chosen(output: str, choices: Mapping[str, str]) -> str | None:
    """The label of the choice that an output names; None where it names none, or several.

    A label counts where it is all of the output or leads it with a mark behind ("B: Rome", "(b)"), and after "option",
    "choice" or "answer is"; the article in "A dog", the number in "1.5 km" and the beginning of a choice's own text
    ("E. coli") are no labels. Without a label the texts of the choices are looked for, as whole words.
    """
    said = output.strip()
    label = rf"[\s(\[\"'*]*({'|'.join(map(re.escape, choices))})"
    if alone := re.fullmatch(rf"{label}[\s)\]\"'*.,:]*", said, re.IGNORECASE):
        return _as_written(alone[1], choices)
    leads = re.compile(rf"{label}(?:[\s\"'*]*[:)\]](?!\d)|\.(?!\S))", re.IGNORECASE)
    own_text = any(leads.match(text) and folded(said).startswith(folded(text)) for text in choices.values())
    if not own_text and (leading := leads.match(said)):
        return _as_written(leading[1], choices)
    pointed = re.findall(rf"\b(?i:option|choice){label}\b|\b(?i:answer(?: is)?:?){label}(?!\s*\w|[.,:]\d)", output)
    named = {name for pair in pointed for name in pair if name} or set(_texts_in(output, choices))
    return named.pop() if len(named) == 1 else None


def _as_written(found: str, choices: Mapping[str, str]) -> str:
    return found if found in choices else next(label for label in choices if label.lower() == found.lower())


def folded(text: str) -> str:
    """A choice's text without case, an article before it and a full stop behind it. Signs, points and hyphens stay: "-5",
    "5" and "0.5" are different choices."""
    return re.sub(r"^(?:an?|the) (?=.)", "", " ".join(text.casefold().split()).rstrip(" ."))


def _texts_in(output: str, choices: Mapping[str, str]) -> list[str]:
    """The labels of the choices whose text stands in the output; one inside another that does is passed over."""
    said = " ".join(output.casefold().split())
    found = {
        label: text
        for label, text in ((label, folded(text)) for label, text in choices.items())
        if text and re.search(rf"(?<![\w+-])(?<!\d[.,]){re.escape(text)}(?!\w|[.,]\d|-\w)", said)
    }
    return [label for label, text in found.items() if not any(text in t and text != t for t in found.values())]


SHORT_ANSWER_METRICS = {"accuracy": accuracy, "exact_match": exact_match, "token_f1": token_f1}


def score_text(question: Question, output: str) -> dict[str, float]:
    """The metrics of one answer by name, each in [0, 1]; `accuracy` is the one that CRAG reports for the task (§5.2).

    Raises `RagError` for a biography, which its text alone doesn't score (see `rag.scoring.factscore`), and for an ambiguous
    question, which has metrics of its own (see `rag.scoring.ambiguous`).
    """
    if question.task == Task.AMBIGUOUS:
        raise RagError(f"question {question.id!r} is ambiguous: score it by rag.scoring.ambiguous")
    if question.task == Task.BIOGRAPHY:
        raise RagError(f"question {question.id!r} asks for a biography: score it by rag.scoring.factscore.FactScorer")
    if question.task == Task.CLAIM:
        return {"accuracy": float(verdict(output) == question.answers[0])}
    if question.task == Task.CHOICE:
        return {"accuracy": float(chosen(output, question.choices) == question.answers[0])}
    return {name: metric(output, question.answers) for name, metric in SHORT_ANSWER_METRICS.items()}
