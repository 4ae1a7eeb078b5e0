"""Reading lists that language models write. One line with " | " between the items is asked for; anything may come."""

import json
import re
from dataclasses import dataclass

from rag.scoring.text import normalise

SEPARATOR = " | "
ARROW = " -> "
MIN_WORDS = 2
MAX_ITEM_CHARS = 300

FENCE = re.compile(r"```(?:json|text)?")
INTRODUCTION = re.compile(
    r"^(?:(?:here|these|sure|certainly)\b[^:?|\n]*"
    r"|(?:pseudo-?)?(?:interpretations?|questions?|meanings?|list|pairs?|q)\s*\d*)\s*:\s*",
    re.IGNORECASE,
)
MARKER = re.compile(r"^(?:[-–—](?!\d)|\(?\d{1,2}[).:](?:\s+|$))")
OPENING = " \t\r\n\"'“”‘’`[]{},;|*•#"
CLOSING = " \t\r\n\"'“”‘’`,;|*•"
ARROWS = re.compile(r"\s*(?:->|=>|→|⇒)\s*")
NOTHING = frozenset(
    "none|na|nothing|unknown|not known|not given|not stated|not mentioned|not specified|not in text|unclear|"
    "no answer|no ambiguity|no interpretations|unambiguous|not ambiguous".split("|")
)


@dataclass(frozen=True)
class Pair:
    """A disambiguated question with its answer."""

    question: str
    answer: str


def parse_questions(text: str, limit: int, besides: str = "") -> list[str]:
    """At most `limit` different questions of a list, in order.

    The list may be numbered, bulleted, quoted, JSON (whole or cut off), one item a line, or plain questions one after
    the other. Passed over are repeats (after normalising), the question `besides`, items of one word or of over 300
    characters, and prose that asks nothing.
    """
    pieces = _pieces(text)
    if len(pieces) == 1:
        # Without separators an item ends with a question mark; the rest is talk, also about a quoted question.
        sentences = re.split(r"(?<=\?)[\"'”’]*[\s,;]+(?![a-z])", pieces[0])
        pieces = [sentence for sentence in sentences if sentence.rstrip(CLOSING).endswith("?")]
    found: dict[str, str] = {}
    for item in map(_clean, pieces):
        key = normalise(item)
        if len(key.split()) >= MIN_WORDS and len(item) <= MAX_ITEM_CHARS and key not in NOTHING:
            found.setdefault(key, item)
    found.pop(normalise(besides), None)
    return list(found.values())[:limit]


def parse_pairs(text: str, limit: int) -> list[Pair]:
    """At most `limit` pairs of a list whose items are "question -> answer", the first one of each question.

    Without an arrow the answer is what stands behind the first question mark, or else the last colon. Items without an
    answer, or that say there is none, are passed over.
    """
    pieces = _pieces(text)
    if len(pieces) == 1 and len(ARROWS.findall(pieces[0])) > 1:
        pieces = pieces[0].split(";")
    found: dict[str, Pair] = {}
    for piece in pieces:
        question, answer = _halves(_clean(piece))
        # An answer may begin like an item of a list does: "-5", "1. FC Köln".
        pair = Pair(_clean(question), " ".join(answer.strip(CLOSING).split()))
        key = normalise(pair.question)
        if key and pair.answer and normalise(pair.answer) not in NOTHING and len(pair.question) <= MAX_ITEM_CHARS:
            found.setdefault(key, pair)
    return list(found.values())[:limit]


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or one of the ways to say that there is nothing."""
    return not normalise(text) or normalise(text) in NOTHING


def first_line(text: str) -> str:
    """The first line that isn't blank, without blanks around it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _halves(piece: str) -> tuple[str, str]:
    """Question and answer; without an answer, two empty texts."""
    if ARROWS.search(piece):
        question, answer = ARROWS.split(piece, maxsplit=1)
        return question, answer
    if found := re.search(r"\?[\"'”’)]*[\s:=–—-]+(?=\S)", piece):
        return piece[: found.start() + 1], piece[found.end() :]
    question, colon, answer = piece.rpartition(": ")
    return (question, answer) if colon else ("", "")


def _pieces(text: str) -> list[str]:
    """The text cut into items, uncleaned: by the strongest separator that it has."""
    text = INTRODUCTION.sub("", FENCE.sub(" ", text).strip()).strip()
    if text.startswith("["):
        return _json_items(text)
    if len(pieces := [piece for piece in re.split(r"[|\n•]", text) if piece.strip()]) > 1:
        return pieces
    return _numbered(text)


def _json_items(text: str) -> list[str]:
    try:
        loaded = json.loads(text[: text.rindex("]") + 1])
    except (ValueError, RecursionError):
        # Cut off, or not JSON but like it.
        return re.split(r"[\"'”’]\s*,\s*[\"'“‘]|(?<=\?)\s*,\s|[|\n]", text)
    return [piece for item in loaded if isinstance(item, str) for piece in re.split(r"[|\n]", item)]


def _numbered(text: str) -> list[str]:
    """The items of "1. … 2. … 3. …", without what stands before; else the text itself.

    Only the number that is next begins an item, and a list begins with "1." or has a "2." too: "No. 5." is no list.
    """
    pieces, rest = [], text
    while found := re.search(rf"(?:^|\s)\(?{len(pieces) + 1}[).:](?:\s+|$)", rest):
        pieces.append(rest[: found.start()])
        rest = rest[found.end() :]
    return [*pieces, rest][1:] if len(pieces) > 1 or pieces == [""] else [text]


def _clean(item: str) -> str:
    """The item without markers, labels and quotes around it."""
    before = None
    while item != before:
        before = item
        item = INTRODUCTION.sub("", MARKER.sub("", item.lstrip(OPENING)))
        item = item.rstrip(CLOSING)
        for opening, closing in ("[]", "{}", "()"):
            if item.endswith(closing) and opening not in item:
                item = item[:-1]
    return " ".join(item.split())
