"""Ambiguous questions from the embedded encyclopedia (in ASQA's form; Stelmakh et al. 2022): a question that several
articles answer in different ways, all its disambiguated questions with their answers, and two reference answers.

Every fifth question of a split is unambiguous: asked in the same forms, with one interpretation. All questions on a
name and on the articles that it can mean are of one split.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.corpus import fraction
from rag.datasets.embedded import round_robin
from rag.datasets.facts import Fact, surname
from rag.datasets.readings import Reading, events, given_names, indefinite, offices, rulers, surnames, works
from rag.datasets.senses import senses
from rag.datasets.wording import AMBIGUOUS
from rag.scoring.text import contains_answer
from rag.types import Article, Interpretation, Question, Task, all_answers

SPLITS = {"train": 0.5, "dev": 0.62, "test": 1.0}  # upper ends of the shares of names
MAX_READINGS = 6
UNAMBIGUOUS = "unambiguous"
UNAMBIGUOUS_EVERY = 5
SENTENCE_READINGS = 3
# Training takes each question in two wordings.
WORDINGS_OF = {"train": 2, "dev": 1, "test": 1}
# An answer of these that two readings share makes them one. Of the others it only counts for neither.
WHOLE = ("nationality", "holder")


@dataclass(frozen=True)
class Family:
    """The readings that one question asks for."""

    readings: tuple[Reading, ...]

    @property
    def first(self) -> Reading:
        return self.readings[0]

    @property
    def name(self) -> str:
        """The name as it is asked: with a capital if any reading has it so."""
        return next((r.name for r in self.readings if r.name[0].isupper()), self.first.name)

    @property
    def id(self) -> str:
        return f"{self.first.fact.relation}/{self.first.form}/{self.name}"


def build_ambiguous(articles: list[Article]) -> dict[str, list[Question]]:
    """The questions by split. In every prefix of a split they go round the forms and relations, and a fifth is
    unambiguous.

    Names are ambiguous in the articles that are given: a sample of the encyclopedia has few.
    """
    families, singles = find_all(articles)
    sets = {}
    for split in SPLITS:
        ambiguous = round_robin(by_relation(families[split], WORDINGS_OF[split]))
        sets[split] = interleave(ambiguous, round_robin(by_relation(singles[split], wordings=1)))
    return sets


def build_named_singles(articles: list[Article], split: str) -> list[Question]:
    """Unambiguous questions of a split, one an article, each interpreted by the clear name: to learn names from, of which
    few are ambiguous."""
    by_article: dict[str, list[Family]] = defaultdict(list)
    for single in find_all(articles)[1][split]:
        by_article[single.first.article.id].append(single)
    chosen = [own[int(fraction(f"single/{i}") * len(own))] for i, own in sorted(by_article.items())]
    return [question for single in chosen for question in ask(single, 1, named=True)]


def build_given_names(articles: list[Article], split: str) -> list[Question]:
    """Questions of a split on people by their given names, with one to six of them as interpretations: to learn from how
    to tell names apart, of which few are ambiguous. A name with one bearer is asked for once, others for all that is known.

    They only mean people of the split: of a name there may be more.
    """
    families, _ = find_all(articles)
    split_of_article = {
        reading.article.id: other for other, own in families.items() for family in own for reading in family.readings
    }
    elsewhere = {family.first.key for other, own in families.items() if other != split for family in own}
    groups: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for reading in given_names(sorted(articles, key=lambda article: article.id)):
        article = reading.article.id
        if split_of_article.get(article, split_of(article)) == split and reading.key not in elsewhere:
            groups[reading.name, reading.fact.relation].append(reading)
    asked: dict[str, list[Family]] = defaultdict(list)
    for (name, _), readings in groups.items():
        chosen = sorted(readings, key=lambda reading: fraction(f"given name/{reading.article.id}"))[:MAX_READINGS]
        asked[name].append(Family(tuple(chosen)))
    kept = []
    for name, own in sorted(asked.items()):
        shared = [family for family in own if len(family.readings) > 1]
        kept += shared or [own[int(fraction(f"given name/{name}") * len(own))]]
    return [question for family in kept for question in ask(family, 1, named=True)]


def find_all(articles: list[Article]) -> tuple[dict[str, list[Family]], dict[str, list[Family]]]:
    """The ambiguous families and the unambiguous ones, by split."""
    readings = find_readings(sorted(articles, key=lambda article: article.id))
    families = split_families(find_families(readings))
    taken = {reading.article.id for own in families.values() for family in own for reading in family.readings}
    singles: dict[str, list[Family]] = {split: [] for split in SPLITS}
    for single in find_singles(readings, articles, taken):
        singles[split_of(single.first.article.id)].append(single)
    return families, singles


def split_of(key: str) -> str:
    """The split of a name."""
    return next(split for split, end in SPLITS.items() if fraction(f"name/{key}") < end)


def find_readings(articles: list[Article]) -> list[Reading]:
    """The readings of all names, form by form."""
    forms = (surnames, senses, rulers, offices, events, works)
    return [reading for form in forms for reading in form(articles)]


def find_families(readings: list[Reading]) -> list[Family]:
    """The readings of a name and relation where there are two to six, and their answers can be told apart."""
    groups: dict[tuple[str, ...], list[Reading]] = defaultdict(list)
    for reading in readings:
        fact = reading.fact
        office = fact.fields["office"] if fact.relation == "reign start" else ""
        groups[reading.form, reading.name.casefold(), fact.relation, office].append(reading)
    sized = [group for group in groups.values() if 2 <= len(group) <= MAX_READINGS]
    named_apart = [group for group in sized if all(r.fact.clear != r.name for r in group)]
    return [Family(tuple(apart)) for group in named_apart if len(apart := tell_apart(group)) == len(group)]


def tell_apart(readings: list[Reading]) -> list[Reading]:
    """The readings without the answers that could be another's: only those that have an answer left, and a clear name
    that is theirs alone and doesn't give it away."""
    kept = []
    for reading in readings:
        fact = reading.fact
        others = [other.fact for other in readings if other is not reading]
        own = tuple(answer for answer in fact.answers if not any(is_shared(answer, other) for other in others))
        lost = not own or fact.relation in WHOLE and own != fact.answers
        if not lost and not any(is_same(fact, other) for other in others) and not contains_answer(fact.clear, own):
            kept.append(replace(reading, fact=replace(fact, answers=own)))
    return kept


def is_same(fact: Fact, other: Fact) -> bool:
    """Whether two facts go by one clear name, or by two names of one people: English and British."""
    people = fact.fields.get("people")
    return fact.clear == other.clear or people is not None and people == other.fields.get("people")


def is_shared(answer: str, other: Fact) -> bool:
    """Whether an answer holds one of another fact's, or is held by it."""
    return contains_answer(answer, other.answers) or any(contains_answer(theirs, [answer]) for theirs in other.answers)


def split_families(families: list[Family]) -> dict[str, list[Family]]:
    """The families by split; one whose articles are of different splits already is left out."""
    split_of_mark: dict[str, str] = {}
    sets: dict[str, list[Family]] = {split: [] for split in SPLITS}
    for family in families:
        marks = [f"name/{family.first.key}", *(reading.article.id for reading in family.readings)]
        splits = {split_of_mark[mark] for mark in marks if mark in split_of_mark} or {split_of(family.first.key)}
        if len(splits) == 1:
            (split,) = splits
            sets[split].append(family)
            split_of_mark.update(dict.fromkeys(marks, split))
    return sets


def find_singles(readings: list[Reading], articles: list[Article], taken: set[str]) -> list[Family]:
    """Readings of names that mean one thing, of articles that are in no family."""
    bearers: dict[str, set[str]] = defaultdict(set)
    for reading in readings:
        bearers[reading.key].add(reading.article.id)
    titles = Counter(part for article in articles for part in title_parts(article))
    asked = Counter((reading.name.casefold(), reading.fact.relation) for reading in readings)
    return [
        Family((replace(reading, form=UNAMBIGUOUS),))
        for reading in readings
        if reading.article.id not in taken
        and len(bearers[reading.key]) == 1
        and titles[reading.key] <= 1
        and asked[reading.name.casefold(), reading.fact.relation] == 1
        and is_usual(reading)
        and tell_apart([reading])
    ]


def is_usual(reading: Reading) -> bool:
    """Whether the name is how the article calls its subject: the family name that it goes on with, or the whole title."""
    if reading.form == "surname":
        return surname(reading.article) == reading.name
    return reading.form != "sense" or reading.article.title.isalpha()


def title_parts(article: Article) -> set[str]:
    """All runs of up to four words of a title."""
    words = article.title.casefold().replace(",", "").split()
    return {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 5, len(words) + 1))}


def by_relation(families: list[Family], wordings: int) -> dict[str, list[Question]]:
    """The families' questions by form and relation."""
    pool: dict[str, list[Question]] = defaultdict(list)
    for family in families:
        for question in ask(family, wordings):
            pool[f"{question.form}/{question.relation}"].append(question)
    return pool


def ask(family: Family, count: int, named: bool = False) -> Iterator[Question]:
    """The family's question, in up to so many wordings. An unambiguous one stands for itself, or is `named` clearly."""
    wordings = AMBIGUOUS[family.first.fact.relation].asked
    start = int(fraction(f"wording/{family.id}") * len(wordings))
    for turn in range(min(count, len(wordings))):
        asked, clear = wordings[(start + turn) % len(wordings)]
        text = asked.format(x=family.name, **family.first.fact.fields)
        texts = [fill(reading, clear) for reading in family.readings] if named or len(family.readings) > 1 else [text]
        interpretations = tuple(
            Interpretation(own, reading.fact.answers, reading.article.id)
            for own, reading in zip(texts, family.readings, strict=True)
        )
        yield Question(
            f"{family.id}/{turn + 1}" if turn else family.id,
            text,
            all_answers(interpretations),
            relation=family.first.fact.relation,
            form=family.first.form,
            task=Task.AMBIGUOUS,
            interpretations=interpretations,
            references=references(family),
        )


def fill(reading: Reading, template: str) -> str:
    """A wording with the reading's clear name in it."""
    fact = reading.fact
    an = indefinite(fact.answers[0]).split()[0]
    return template.format(x=fact.clear, answer=fact.answers[0], an=an, **fact.fields)


def references(family: Family) -> tuple[str, str]:
    """Two long answers that tell every reading."""
    first, second = AMBIGUOUS[family.first.fact.relation].told
    plain = tell([fill(reading, first) for reading in family.readings])
    if len(family.readings) == 1:
        return plain, tell([fill(family.first, second)])
    what = "what" if family.first.form in ("sense", "event", "work") else "who"
    return plain, f"That depends on {what} is meant. {tell([fill(reading, second) for reading in family.readings])}"


def tell(clauses: list[str]) -> str:
    """Clauses as sentences of up to three each."""
    parts = [clauses[i : i + SENTENCE_READINGS] for i in range(0, len(clauses), SENTENCE_READINGS)]
    joined = [", while ".join(part) if len(part) < 3 else "; ".join([*part[:-1], f"and {part[-1]}"]) for part in parts]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in joined)


def interleave(ambiguous: list[Question], unambiguous: list[Question]) -> list[Question]:
    """All ambiguous questions, with an unambiguous one as every fifth."""
    questions: list[Question] = []
    rest = iter(unambiguous)
    for question in ambiguous:
        questions.append(question)
        if len(questions) % UNAMBIGUOUS_EVERY == UNAMBIGUOUS_EVERY - 1 and (single := next(rest, None)):
            questions.append(single)
    return questions
