"""The embedded question sets: short factual questions built from facts, split so that no article is shared."""

from collections import defaultdict
from dataclasses import replace

from rag.corpus import fraction, lead
from rag.datasets.facts import (
    Background,
    Fact,
    background,
    element_facts,
    language_facts,
    person_facts,
    place_facts,
    reign_facts,
    work_facts,
)
from rag.datasets.wording import WORDINGS
from rag.scoring.text import contains_answer, normalise
from rag.types import Article, Question

SPLITS = {"train": 0.5, "dev": 0.6, "test": 1.0}  # upper ends of the shares of articles
QUESTIONS_PER_ARTICLE = 2
MIN_ANSWER_CHARS = 4


def split_of(article_id: str) -> str:
    """The split of an article and of every question on it."""
    return next(split for split, end in SPLITS.items() if fraction(f"split/{article_id}") < end)


def facts_of(article: Article, known: Background) -> list[Fact]:
    """All facts of an article whose answer is written in the article.

    Aliases of fewer than four characters are dropped: accuracy looks for substrings, and finds "US" in "Russia".
    """
    facts = [
        *person_facts(article, known),
        *reign_facts(article),
        *work_facts(article),
        *place_facts(article, known),
        *language_facts(article),
        *element_facts(article),
    ]
    text = f"{lead(article)} {article.extract}"
    long_enough = [
        replace(fact, answers=tuple(answer for answer in fact.answers if len(normalise(answer)) >= MIN_ANSWER_CHARS))
        for fact in facts
    ]
    return [fact for fact in long_enough if fact.answers and contains_answer(text, fact.answers)]


def build_questions(articles: list[Article]) -> dict[str, list[Question]]:
    """The question sets by split.

    Up to two questions an article, about different facts. Within a split the questions go round the relations, so
    every prefix of a split is a balanced sample and a small profile's test set is part of a large one's.
    """
    known = background(articles)
    pools: dict[str, dict[str, list[Question]]] = {split: defaultdict(list) for split in SPLITS}
    for article in articles:
        candidates = {}
        for fact in facts_of(article, known):
            for form, name in fact.names.items():
                key = f"{fact.relation}/{article.id}/{form}"
                wordings = WORDINGS[fact.relation]
                wording = wordings[int(fraction(f"wording/{key}") * len(wordings))]
                text = wording.format(x=name, **fact.fields)
                candidates[key] = Question(
                    key, text[0].upper() + text[1:], fact.answers, article.id, fact.relation, form
                )
        chosen: dict[str, Question] = {}
        for question in sorted(candidates.values(), key=preference):
            if len(chosen) < QUESTIONS_PER_ARTICLE:
                chosen.setdefault(question.relation, question)
        for question in chosen.values():
            pools[split_of(article.id)][question.relation].append(question)
    return {split: round_robin(pool) for split, pool in pools.items()}


def preference(question: Question) -> float:
    """Order in which an article's questions are taken: random, but other forms more often than the plain title."""
    return fraction(question.id) * (1.0 if question.form == "title" else 0.5)


def round_robin(pool: dict[str, list[Question]]) -> list[Question]:
    """One question of each relation in turn, each relation in a fixed random order, until all are used."""
    queues = [
        sorted(pool[relation], key=lambda question: fraction(f"order/{question.id}")) for relation in sorted(pool)
    ]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
