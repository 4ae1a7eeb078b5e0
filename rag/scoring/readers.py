"""Readers that take a short answer out of a text, for Disambig-F1. A figure holds for the reader that it was made with."""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from rag.corpus import sentences
from rag.errors import RagError


class AnswerReader(Protocol):
    """Anything that reads texts for questions. `name` stands beside every figure that it made."""

    name: str

    def read(self, questions: list[str], texts: list[str]) -> list[str]:
        """What each text answers to the question of its place; an empty string where it gives no answer."""


class ExtractiveReader:
    """A transformer with a span head (SQuAD2; Rajpurkar et al. 2018), from a folder or the hub.

    A text of more than `max_tokens` with its question is read in windows that overlap by `stride` tokens. The answer is
    the span of at most `max_answer_tokens` with the highest sum of start and end logits over all windows, widened to
    whole words; there is none where the sum of the token that stands for no answer, the lowest of the windows, is at
    least as high.
    """

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        batch_size: int = 32,
        max_tokens: int = 384,
        stride: int = 128,
        max_answer_tokens: int = 15,
    ):
        self.model = model
        self.revision = revision
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.stride = stride
        self.max_answer_tokens = max_answer_tokens
        self.name = model.rstrip("/").rpartition("/")[2]

    @cached_property
    def _loaded(self):
        import torch
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self.model, revision=self.revision)
            model = AutoModelForQuestionAnswering.from_pretrained(self.model, revision=self.revision).eval()
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RagError(
                f"cannot load reader {self.model!r} ({reason}): name a model folder, or a hub model where there is a hub"
            ) from error
        return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu")

    def read(self, questions: list[str], texts: list[str]) -> list[str]:
        answers = [""] * len(questions)
        pairs = [(question.strip(), text) for question, text in zip(questions, texts, strict=True)]
        # A blank text has nothing to point at. Batches of like length waste the least on padding.
        order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: (-len(texts[i]), i))
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            for i, answer in zip(batch, self._read([pairs[i] for i in batch]), strict=True):
                answers[i] = answer
        return answers

    def _read(self, pairs: list[tuple[str, str]]) -> list[str]:
        import torch

        tokenizer, model = self._loaded
        limit = min(self.max_tokens, tokenizer.model_max_length)
        room = limit - self.stride - tokenizer.num_special_tokens_to_add(pair=True)
        for question, _ in pairs:
            if len(tokenizer.encode(question, add_special_tokens=False)) >= room:
                raise RagError(f"question {question[:50]!r}… leaves reader {self.name} no room for a text: shorten it")
        inputs = tokenizer(
            [question for question, _ in pairs],
            [text for _, text in pairs],
            truncation="only_second",
            max_length=limit,
            stride=self.stride,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        owners = inputs.pop("overflow_to_sample_mapping").tolist()
        with torch.inference_mode():
            output = model(**inputs.to(model.device))
        starts, ends = (logits.float().cpu().numpy() for logits in (output.start_logits, output.end_logits))
        best: list[tuple[float, str]] = [(-np.inf, "")] * len(pairs)
        none = np.full(len(pairs), np.inf)
        for window, owner in enumerate(owners):
            null = inputs["input_ids"][window].tolist().index(tokenizer.cls_token_id)
            none[owner] = min(none[owner], starts[window, null] + ends[window, null])
            inside = np.array([part == 1 for part in inputs.sequence_ids(window)])
            score, first, last = best_span(starts[window], ends[window], inside, self.max_answer_tokens)
            if score > best[owner][0]:
                words = (inputs.token_to_word(window, token) for token in (first, last))
                begin, end = (inputs.word_to_chars(window, word, sequence_index=1) for word in words)
                best[owner] = score, pairs[owner][1][begin.start : end.end].strip()
        return [text if score > no else "" for (score, text), no in zip(best, none, strict=True)]


def best_span(starts: np.ndarray, ends: np.ndarray, inside: np.ndarray, max_tokens: int) -> tuple[float, int, int]:
    """The highest sum of a start and an end logit, and the positions of both, shape (length,) each.

    Only spans of 1 to `max_tokens` tokens whose ends are `inside`; the first of equal ones. Minus infinity where none is.
    """
    positions = np.arange(len(starts))
    size = positions[None, :] - positions[:, None] + 1
    allowed = (size >= 1) & (size <= max_tokens) & inside[:, None] & inside[None, :]
    scores = np.where(allowed, starts[:, None] + ends[None, :], -np.inf)
    first, last = np.unravel_index(int(scores.argmax()), scores.shape)
    return float(scores[first, last]), int(first), int(last)


MONTHS = frozenset("January February March April May June July August September October November December".split())
TOKEN = re.compile(r"[A-Z]\.(?=\s?[A-Z])|\w+(?:['’./:]\w+|,\d+|-[^\W\d]+)*|[^\w\s]")
# Words that tell nothing of what is asked for; scikit-learn's list lacks some forms of "do".
COMMON_WORDS = ENGLISH_STOP_WORDS | {"did", "does"}
LINKS = frozenset("of the de van von der du la le al bin".split())
BREAKS = frozenset([",", ";", ":", "and", "but", "while", "whereas", "or"])
WHAT = r"(?:what|which) (?:(?:is|was|are|were) )?(?:the )?(?:\w+ )?"
ASKS_NUMBER = re.compile(
    rf"\b(?:when|how (?:many|much|old|long|far|tall|high|big)|{WHAT}(?:year|date|day|month|time|number|age|season))\b",
    re.IGNORECASE,
)
ASKS_NAME = re.compile(
    rf"\b(?:who|whom|whose|where|{WHAT}(?:country|continent|city|town|capital|nationality|team|club|name|actor|actress|"
    r"singer|artist|person|state))\b",
    re.IGNORECASE,
)
ASKS_END = re.compile(r"\b(?:die|died|death|end|ended)\b", re.IGNORECASE)
# Shapes: N a name's word, M a month, D a number, W another word, L a link in names, A a name of the question's, - a dash, x the rest.
NUMBERS = re.compile(r"MD(?:,?D)?|DMD?|D")
NAMES = re.compile(r"N(?:L{0,2}N|D)*")
PHRASES = re.compile(r"[NMDW]+")
KINDS = {NUMBERS: ASKS_NUMBER, NAMES: ASKS_NAME}
NAME_WEIGHT = 2
BREAK_DISTANCE = 4


@cache
def stem(word: str) -> str:
    """Porter's stem of a word, in lower case."""
    return _stemmer().stem(word.rstrip("."))


@cache
def _stemmer():
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def asked_words(question: str) -> dict[str, int]:
    """Stems of the question's telling words with their weights: names tell senses apart better than other words."""
    found = TOKEN.findall(question)
    weights: dict[str, int] = {}
    for position, word in enumerate(found):
        if word[0].isalnum() and word.lower() not in COMMON_WORDS:
            weight = NAME_WEIGHT if position and word[0].isupper() else 1
            weights[stem(word)] = max(weight, weights.get(stem(word), 0))
    return weights


def shape(word: str, asked: dict[str, int]) -> str:
    """What a word of a text may be part of, as a letter; words that the question has itself are no answer to it."""
    if word in ",-–":
        return "," if word == "," else "-"
    if not word[0].isalnum():
        return "x"
    if stem(word) in asked:
        return "A" if word[0].isupper() else "x"
    if word[0].isdigit():
        return "D"
    if word in MONTHS:
        return "M"
    if word in LINKS:
        return "L"
    if word.lower() in COMMON_WORDS:
        return "x"
    return "N" if word[0].isupper() else "W"


def asked_kind(question: str) -> re.Pattern[str]:
    """The shape of what the question asks for, by the question word that comes first: numbers, names or any phrase."""
    cues = [(cue.start(), kind) for kind, asks in KINDS.items() if (cue := asks.search(question))]
    return min(cues, key=lambda cue: cue[0])[1] if cues else PHRASES


def spans(question: str, words: list[str], asked: dict[str, int]) -> Iterator[tuple[int, int]]:
    """First and last positions of what a sentence may answer to the question."""
    kind = asked_kind(question)
    shapes = "".join(shape(word, asked) for word in words)
    for found in kind.finditer(shapes):
        first, last = found.start(), found.end() - 1
        before, after = shapes[max(first - 2, 0) : first], shapes[last + 1 : last + 3]
        if kind is not NUMBERS:
            # "Ada" before the question's "Stone" is part of that name, not an answer.
            if before[-1:] != "A" and after[:1] != "A":
                yield first, last
        # Of "1801–1870" the question asks for one year.
        elif not (after == "-D" if ASKS_END.search(question) else before == "D-"):
            yield first, last


class LexicalReader:
    """A reader without a model: of the sentence that shares most words with the question, the number, name or phrase
    (as the question asks for) that stands nearest to those words.

    It finds less than a trained reader does, and what it finds depends on how plainly the text is written.
    """

    name = "lexical"

    def read(self, questions: list[str], texts: list[str]) -> list[str]:
        return [self._read(question, text) for question, text in zip(questions, texts, strict=True)]

    def _read(self, question: str, text: str) -> str:
        asked = asked_words(question)
        best, answer = (0.0, 0.0), ""
        for sentence in sentences(text):
            tokens = list(TOKEN.finditer(sentence))
            words = [token[0] for token in tokens]
            at = np.cumsum([BREAK_DISTANCE if word in BREAKS else 1 for word in words])
            places = {one: [i for i, word in enumerate(words) if stem(word) == one] for one in asked}
            shared = {one: own for one, own in places.items() if own}
            told = sum(asked[one] for one in shared)
            for first, last in spans(question, words, asked):
                distance = {
                    one: min(at[first] - at[i] if i < first else at[i] - at[last] for i in own)
                    for one, own in shared.items()
                }
                near = sum(asked[one] / (1 + distance[one]) for one in shared)
                if told and (told, near) > best:
                    best, answer = (told, near), sentence[tokens[first].start() : tokens[last].end()]
        return answer
