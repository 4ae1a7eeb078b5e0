"""Rewriting a question into a search query."""

import re

# Words that only make a question a question: searching for them finds nothing.
QUESTION_WORDS = frozenset(
    (
        "a an the of in on at to by for from with and or is are was were be did do does have has had it its what which "
        "who whom whose when where why how that this those these year part living"
    ).split()
)


def keywords(question: str) -> str:
    """The question's words without function words, in order. The baseline that needs no model."""
    words = re.findall(r"[\w'’.-]*\w", question)
    return " ".join(word for word in words if word.lower() not in QUESTION_WORDS) or question
