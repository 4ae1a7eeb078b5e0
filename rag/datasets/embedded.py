"""The embedded question sets, built from facts and split so that no article is shared: short factual questions, true and
false claims, multiple choice and biographies (the four tasks of CRAG §5.1)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from rag.corpus import fraction, lead, sentences
from rag.datasets.facts import (
    LIFESPAN,
    Background,
    Fact,
    background,
    element_facts,
    language_facts,
    person_facts,
    place_facts,
    plain_title,
    reign_facts,
    work_facts,
)
from rag.datasets.wording import BIOGRAPHY, STATEMENTS, WORDINGS
from rag.scoring.text import contains_answer, normalise
from rag.types import Article, Question, Task

SPLITS = {"train": 0.5, "dev": 0.6, "test": 1.0}  # upper ends of the shares of articles
QUESTIONS_PER_ARTICLE = 2
MIN_ANSWER_CHARS = 4
MIN_BIOGRAPHY_SENTENCES = 4
# A wrong year is taken from this near the right one: farther off, a claim gives itself away.
MAX_YEARS_APART = 60
LETTERS, DIGITS = "ABCDE", "12345"


@dataclass(frozen=True)
class Item:
    """A fact asked in one form: what all tasks are made from. `key` is unique."""

    key: str
    article: Article
    fact: Fact
    form: str

    def fill(self, wording: str, **more: str) -> str:
        """A wording with this item's names in it, beginning with a capital."""
        text = wording.format(x=self.fact.names[self.form], **self.fact.fields, **more)
        return text[0].upper() + text[1:]


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


def items_of(article: Article, facts: list[Fact], purpose: str = "") -> list[Item]:
    """Up to two items of an article, about different ones of its facts. Another `purpose` draws others."""
    items = [Item(f"{fact.relation}/{article.id}/{form}", article, fact, form) for fact in facts for form in fact.names]
    chosen: dict[str, Item] = {}
    for item in sorted(items, key=lambda item: preference(item, purpose)):
        if len(chosen) < QUESTIONS_PER_ARTICLE:
            chosen.setdefault(item.fact.relation, item)
    return list(chosen.values())


def preference(item: Item, purpose: str) -> float:
    """Order in which an article's items are taken: random, but other forms more often than the plain title."""
    return fraction(f"{purpose}{item.key}") * (1.0 if item.form == "title" else 0.5)


def build_questions(articles: list[Article]) -> dict[Task, dict[str, list[Question]]]:
    """The question sets by task and split.

    Within a split the questions go round the relations, so every prefix is a balanced sample and a small profile's
    test set is part of a large one's.
    """
    known = background(articles)
    facts = [(article, facts_of(article, known)) for article in articles]
    short = [short_question(item) for article, own in facts for item in items_of(article, own)]
    claims = [item for article, own in facts for item in items_of(article, own, "claim/")]
    choices = [item for article, own in facts for item in items_of(article, own, "choice/")]
    return {
        Task.SHORT_ANSWER: by_split(short),
        Task.CLAIM: by_split(build_each(claims, claim)),
        Task.CHOICE: by_split(build_each(choices, choice)),
        Task.BIOGRAPHY: by_split(biographies(articles)),
    }


def short_question(item: Item) -> Question:
    """A question with its gold aliases."""
    wordings = WORDINGS[item.fact.relation]
    text = item.fill(wordings[int(fraction(f"wording/{item.key}") * len(wordings))])
    return Question(item.key, text, item.fact.answers, item.article.id, item.fact.relation, item.form)


def build_each(items: list[Item], build: Callable[[Item, list[str]], Question | None]) -> Iterator[Question]:
    """`build(item, wrong answers)` over the items; wrong answers are those of the same relation, kind and split."""

    def pool_of(item: Item) -> tuple[str, str, str]:
        return split_of(item.article.id), item.fact.relation, item.fact.fields.get("kind", "")

    pools: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for item in items:
        pools[pool_of(item)].add(item.fact.answers[0])
    for item in items:
        if question := build(item, wrong_answers(item, pools[pool_of(item)])):
            yield question


def wrong_answers(item: Item, pool: Iterable[str]) -> list[str]:
    """Answers to the same question about others, in a fixed random order and no more than a choice can hold; none is, holds
    or is held by a right one."""

    def near(answer: str) -> bool:
        right = item.fact.answers[0]
        return not (right.isdigit() and answer.isdigit()) or 2 <= abs(int(right) - int(answer)) <= MAX_YEARS_APART

    def apart(answer: str) -> bool:
        return not contains_answer(answer, item.fact.answers) and not any(
            contains_answer(right, [answer]) for right in item.fact.answers
        )

    ordered = sorted(pool, key=lambda answer: fraction(f"{item.key}/{answer}"))
    return list(islice((answer for answer in ordered if near(answer) and apart(answer)), len(LETTERS) - 1))


def claim(item: Item, wrong: list[str]) -> Question | None:
    """The fact as a statement, every second one with a wrong answer in it (PubHealth's form; CRAG §5.1)."""
    true = fraction(f"truth/{item.key}") < 0.5
    if not true and not wrong:
        return None
    answer = item.fact.answers[0] if true else wrong[0]
    an = "an" if answer[0].lower() in "aeiou" else "a"
    text = item.fill(STATEMENTS[item.fact.relation], answer=answer, an=an)
    gold = (str(true).lower(),)
    return Question(
        f"claim/{item.key}",
        text,
        gold,
        item.article.id,
        item.fact.relation,
        item.form,
        Task.CLAIM,
        evidence=item.fact.answers,
    )


def choice(item: Item, wrong: list[str]) -> Question | None:
    """The question with three to five choices, labelled with letters or, now and then, digits (as ARC-Challenge is)."""
    key = f"choice/{item.key}"
    size = 3 + (fraction(f"size/{key}") > 0.1) + (fraction(f"size/{key}") > 0.9)
    if len(wrong) < size - 1:
        return None
    texts = sorted([item.fact.answers[0], *wrong[: size - 1]], key=lambda text: fraction(f"{key}/{text}"))
    choices = dict(zip(DIGITS if fraction(f"labels/{key}") < 0.1 else LETTERS, texts, strict=False))
    gold = next(label for label, text in choices.items() if text == item.fact.answers[0])
    short = short_question(item)
    return replace(short, id=key, answers=(gold,), task=Task.CHOICE, choices=choices, evidence=item.fact.answers)


def biographies(articles: list[Article]) -> Iterator[Question]:
    """The people with a lifespan and an article of some length."""
    for article in articles:
        if LIFESPAN.search(article.description) and len(sentences(article.extract)) >= MIN_BIOGRAPHY_SENTENCES:
            name = plain_title(article)
            text = BIOGRAPHY.format(x=name)
            key = f"biography/{article.id}"
            yield Question(key, text, (name,), article.id, "biography", "title", Task.BIOGRAPHY)


def by_split(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """Questions by the split of their article, each split going round the relations."""
    pools: dict[str, dict[str, list[Question]]] = {split: defaultdict(list) for split in SPLITS}
    for question in questions:
        pools[split_of(question.article_id)][question.relation].append(question)
    return {split: round_robin(pool) for split, pool in pools.items()}


def round_robin(pool: dict[str, list[Question]]) -> list[Question]:
    """One question of each relation in turn, each relation in a fixed random order, until all are used."""
    queues = [
        sorted(pool[relation], key=lambda question: fraction(f"order/{question.id}")) for relation in sorted(pool)
    ]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
