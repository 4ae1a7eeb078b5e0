"""The reflection tokens of Self-RAG, as its published models spell them, and the prompt around them."""

import re

from rag.prompts import CLOSED_BOOK, asked
from rag.types import Question, Task

RETRIEVAL, NO_RETRIEVAL, CONTINUE = "[Retrieval]", "[No Retrieval]", "[Continue to Use Evidence]"
RELEVANT, IRRELEVANT = "[Relevant]", "[Irrelevant]"
FULLY, PARTIALLY, UNSUPPORTED = "[Fully supported]", "[Partially supported]", "[No support / Contradictory]"
UTILITY = tuple(f"[Utility:{value}]" for value in range(1, 6))
OPEN_PARAGRAPH, CLOSE_PARAGRAPH = "<paragraph>", "</paragraph>"

RETRIEVE_GROUP = (RETRIEVAL, NO_RETRIEVAL, CONTINUE)
RELEVANCE_GROUP = (RELEVANT, IRRELEVANT)
SUPPORT_GROUP = (FULLY, PARTIALLY, UNSUPPORTED)
ALL_TOKENS = (*RETRIEVE_GROUP, *RELEVANCE_GROUP, *SUPPORT_GROUP, *UTILITY, OPEN_PARAGRAPH, CLOSE_PARAGRAPH)
# Where one segment of a long answer ends and the next begins.
SEGMENT_ENDS = RETRIEVE_GROUP

_ANY_TOKEN = re.compile("|".join(map(re.escape, ALL_TOKENS)))


def instruction(question: Question) -> str:
    """What is asked: the bare question, or for claims and choices with the form that the answer takes."""
    if question.task in (Task.SHORT_ANSWER, Task.BIOGRAPHY, Task.AMBIGUOUS):
        return question.text
    return f"{CLOSED_BOOK[question.task]}\n\n{asked(question)}"


def opening(question: Question) -> str:
    """The prompt up to where the model's own text begins."""
    return f"### Instruction:\n{instruction(question)}\n\n### Response:\n"


def paragraph(text: str) -> str:
    """A retrieved text as the model reads it, behind its decision to retrieve."""
    return f"{OPEN_PARAGRAPH}{text}{CLOSE_PARAGRAPH}"


def without_tokens(text: str) -> str:
    """A text without its reflection tokens."""
    return " ".join(_ANY_TOKEN.sub(" ", text).split())
