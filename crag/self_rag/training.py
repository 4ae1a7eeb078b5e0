"""The adapter that teaches the embedded language model to reflect: its examples, made by rule from the train questions.

Self-RAG labels its training texts with a large critic model (§3.2). Here the facts behind the questions are known, so
the labels follow by rule: a passage of the subject's page is relevant; it supports an answer that stands in it; an answer is of
full use where it is supported, of less where it can't be checked. `make train` makes the adapter again.
"""

from collections.abc import Iterator

from crag.pairs import label_of, same_split
from crag.self_rag.tokens import (
    ALL_TOKENS,
    CONTINUE,
    FULLY,
    IRRELEVANT,
    NO_RETRIEVAL,
    PARTIALLY,
    RELEVANT,
    RETRIEVAL,
    UNSUPPORTED,
    UTILITY,
    opening,
    paragraph,
)
from rag.adapters import AdapterSettings, Example, train_adapter
from rag.corpus import fraction, sentences, titled
from rag.generation import LanguageModel
from rag.paths import ADAPTERS
from rag.scoring.text import settles
from rag.setup import Setup, load_setup
from rag.systems import ClosedBook, GeneratorReader, as_knowledge
from rag.types import Passage, Question, Task

ADAPTER = ADAPTERS / "self-rag"
EXAMPLES = {Task.SHORT_ANSWER: 360, Task.CLAIM: 280, Task.CHOICE: 150, Task.BIOGRAPHY: 45}
DEV_EXAMPLES = {Task.SHORT_ANSWER: 20, Task.CLAIM: 12, Task.CHOICE: 12, Task.BIOGRAPHY: 4}
# On so many short questions the model is first asked without a text: where it is right, it learns not to retrieve.
ASKED_FIRST = 64
# Of the others so many are answered without a text all the same, for the model must be able to.
UNREAD = 0.1
# Shares of what is put before the model: a passage of the subject's page, several retrieved passages, else a passage that misleads.
OWN, SEVERAL = 0.6, 0.15
SEVERAL_PASSAGES = 3
DEPTH = 10
BIOGRAPHY_SENTENCES = 4


def response(question: Question) -> str:
    """The answer that is learnt: of a choice its text, of a claim first the fact and then the verdict. So a small model copies
    before it judges; `verdict` and `chosen` of the metrics read both."""
    answer = question.answers[0]
    if question.task == Task.CLAIM:
        return f"{question.evidence[0]}: {answer}"
    return question.choices[answer] if question.task == Task.CHOICE else answer


def reflected(prompt: str, text: str, answer: str, *labels: str) -> Example:
    """What is written after one retrieved text: its relevance, the answer, then the other labels.

    An answer that the text doesn't support is read, not learnt: nothing in front of the model could tell it.
    """
    relevance, support, *others = labels
    return Example(
        (
            (prompt, False),
            (RETRIEVAL, True),
            (paragraph(text), False),
            (relevance, True),
            (answer, support == FULLY),
            (support + "".join(others), True),
        )
    )


def judged(question: Question, text: str, relevant: bool) -> Example:
    """An answer after one text, with the labels that follow from both."""
    supported = settles(question, text)
    return reflected(
        opening(question),
        text,
        response(question),
        RELEVANT if relevant else IRRELEVANT,
        FULLY if supported else UNSUPPORTED,
        UTILITY[4 if supported else 2 if relevant else 0],
    )


def read_example(question: Question, own: list[Passage], hits: list[Passage]) -> Example:
    """The example of a short answer, claim or choice: a passage of its own page, several retrieved ones, or one that misleads."""
    draw = fraction(f"self-rag/{question.id}")
    holding = [passage for passage in own if settles(question, passage.text)]
    others = [hit for hit in hits if label_of(question, hit) < 0 and not settles(question, hit.text)]
    if draw < OWN or not others:
        # Mostly the passage with the answer, now and then another one of the page.
        passage = (holding or own)[0] if draw < OWN * 0.85 else own[-1]
        return judged(question, titled(passage.title, passage.text), relevant=True)
    if draw < OWN + SEVERAL:
        several = [*holding[:1], *others][:SEVERAL_PASSAGES]
        shuffled = sorted(several, key=lambda passage: fraction(f"{question.id}/{passage.id}"))
        return judged(question, as_knowledge(shuffled), relevant=bool(holding))
    passage = others[int(fraction(f"other/{question.id}") * len(others))]
    return judged(question, titled(passage.title, passage.text), relevant=False)


def unread_example(question: Question, known: bool) -> Example:
    """An answer from memory. Not to retrieve is learnt only where the model is `known` to be right without a text."""
    return Example(((opening(question), False), (NO_RETRIEVAL, known), (response(question) + UTILITY[4], True)))


def biography_examples(question: Question, own: list[Passage], hits: list[Passage]) -> Iterator[Example]:
    """Segments of a biography, each a sentence of the subject's page after the ones before it.

    Most are written from the passage that holds the sentence; some from another passage of the page, which supports it
    in part, and some from a passage of another page.
    """
    # The first line of a page is its short description.
    told = [(p, sentence) for i, p in enumerate(own) for sentence in sentences(p.text)[1 if i == 0 else 0 :]]
    told = told[:BIOGRAPHY_SENTENCES]
    others = [hit for hit in hits if label_of(question, hit) < 0]
    for place, (passage, sentence) in enumerate(told):
        draw = fraction(f"segment/{question.id}/{place}")
        labels = [RELEVANT, FULLY]
        if draw < 0.25 and others:
            passage, labels = others[place % len(others)], [IRRELEVANT, UNSUPPORTED]
        elif draw < 0.35 and len(own) > 1:
            passage, labels = next(p for p in own if p != passage), [RELEVANT, PARTIALLY]
        if place + 1 == len(told):
            labels.append(UTILITY[4])
        else:
            labels.append(CONTINUE if told[place + 1][0] == passage else RETRIEVAL)
        before = "".join(f"{earlier} " for _, earlier in told[:place])
        yield reflected(opening(question) + before, titled(passage.title, passage.text), sentence, *labels)


def known_questions(setup: Setup, questions: list[Question]) -> set[str]:
    """The ids of the questions that the model answers rightly without a text."""
    answers = ClosedBook(GeneratorReader(setup.generator())).answer(questions)
    return {q.id for q, answer in zip(questions, answers, strict=True) if settles(q, answer.text)}


def build_examples(setup: Setup, split: str, sizes: dict[Task, int]) -> list[Example]:
    """The examples of a split, so many questions of each task. No article of another split is in them, not even to mislead."""
    examples = []
    for task, size in sizes.items():
        questions = setup.all_questions[task][split][:size]
        retrieved = setup.embedded_retriever.retrieve([question.text for question in questions], DEPTH)
        known = known_questions(setup, questions[:ASKED_FIRST]) if task == Task.SHORT_ANSWER else set()
        for question, found in zip(questions, retrieved, strict=True):
            own = setup.pages[question.article_id]
            hits = [hit.passage for hit in found if same_split(question, hit.passage)]
            if task == Task.BIOGRAPHY:
                examples += biography_examples(question, own, hits)
            elif question.id in known or fraction(f"unread/{question.id}") < UNREAD:
                examples.append(unread_example(question, question.id in known))
            else:
                examples.append(read_example(question, own, hits))
    return examples


def train_self_rag(setup: Setup) -> None:
    """Train the adapter and write it to `data/adapters/`, if it isn't there."""
    train = build_examples(setup, "train", EXAMPLES)
    dev = build_examples(setup, "dev", DEV_EXAMPLES)
    train_adapter(LanguageModel(), train, dev, ALL_TOKENS, AdapterSettings(), ADAPTER)


if __name__ == "__main__":
    train_self_rag(load_setup("full"))
