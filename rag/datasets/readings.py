"""Readings of names: what a name can mean that lacks what would tell its bearers apart, with the fact that is asked.

| form | the name | for example |
|---|---|---|
| surname | a family name | Bernoulli |
| sense | a title without its bracket, or a family name that is a title too (`senses.py`) | Mercury, Pascal |
| ruler | a regnal name without its numeral | King Edward |
| office | an office, for who held it (in a century, where there were many) | King of Siam |
| event | an event without its ordinal | the Opium War |
| work | works of one kind by one maker | the opera by Wolfgang Amadeus Mozart |

The rules read titles, descriptions and first sentences, and prefer saying nothing to saying something wrong.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rag.corpus import lead
from rag.datasets.embedded import MIN_ANSWER_CHARS
from rag.datasets.facts import LIFESPAN, Fact, occupations, plain_title, with_article, work_facts
from rag.datasets.vocabulary import (
    CAPITALS,
    NATIONALITIES,
    NO_ANSWERS,
    NO_PERSONS,
    NO_SURNAMES,
    OCCUPATIONS,
    ORIGINS,
    RANKS,
    SURNAME_FIRST,
)
from rag.scoring.text import contains_answer, normalise
from rag.types import Article

GIVEN_NAME = "given name"
MANY_HOLDERS = 6
FIRST_CENTURY = 4  # Before it, years have too few digits to be looked for.
MONARCH = re.compile(
    r"^(?:Holy |Roman |Byzantine |German |Mughal |Gupta )*"
    r"(?P<rank>King|Queen|[Ee]mperor|Empress|Tsar|Sultan|Pharaoh|Shah|(?:Grand )?Prince)\b"
)
OFFICE = re.compile(
    rf"{MONARCH.pattern}"
    r"|^(?:Pope|President|Prime Minister|Chancellor|Leader|Ruler|Archbishop|UN Secretary-General|Rashidun caliph)\b"
)
NO_RULE = re.compile(r"^(?:Archbishop|Pope|Queen of France|UN )")
TERM = r"(?:c\. |AD )?\d{2,4} (?:to|until) (?:c\. )?\d{2,4}"
OFFICE_YEARS = re.compile(
    r"^(?P<office>[A-Z][^();,\d]*?)(?:,[^();]*)? (?:"
    rf"from (?P<spans>{TERM}(?: and from {TERM})*)(?P<bc> BCE?)?"
    r"|(?P<since>since \d{4})"
    r"|\((?:r\. (?P<reign>\d[^()]*)|(?P<terms>[^()]*(?:;|since|present|, )[^()]*))\))"
    r"(?P<more>(?:,| and) [A-Z].*)?$"
)
REGNAL = re.compile(r"^(?:Pope |Emperor |King |Queen )?(?P<name>[^\W\d]+)(?: [IVX]+\b| of | the |,|$| [A-Z]\w+$)")
PARTICLES = re.compile(r"\b(?:of|the|and|ibn|al|de|da|di|van|der|la|le|[IVX]+)\b")
ORDINAL = re.compile(r"^(?:First|Second|Third) | (?:I|II)$")
YEARS = re.compile(r"\b(?P<start>\d{4})(?:[–-]| to )(?P<end>\d{4})\b(?! BC)")
JOB_WORDS = {"martial", *(word for job in OCCUPATIONS for word in job.split("-"))}


@dataclass(frozen=True)
class Reading:
    """One of the things that `name`, as it is asked, can mean; the fact's `clear` name leaves no doubt. Readings with
    the same `key` share a name."""

    name: str
    key: str
    form: str
    article: Article
    fact: Fact


def stated(article: Article, relation: str, answers: Iterable[str], clear: str, **fields: str) -> Fact | None:
    """A fact with those of its answers that stand in the article and are long enough; None if none are left."""
    text = f"{lead(article)} {article.extract}"
    found = tuple(
        dict.fromkeys(a for a in answers if len(normalise(a)) >= MIN_ANSWER_CHARS and contains_answer(text, [a]))
    )
    return Fact(relation, found, {"clear": clear}, fields) if found else None


def named(name: str, key: str, form: str, article: Article, facts: Iterable[Fact | None]) -> Iterator[Reading]:
    """The readings of an article by a name, one a fact."""
    yield from (Reading(name, key.casefold(), form, article, fact) for fact in facts if fact)


def in_a_sentence(text: str) -> str:
    """A description without its capital, unless that is a name's."""
    first, second = (*text.split(), "")[:2]
    origin = re.split("[-–/]", first)[0]
    keeps = origin in NATIONALITIES | CAPITALS or not text[1:2].islower() or second[:1].isupper() and first != "Ancient"
    return text if keeps else text[0].lower() + text[1:]


def indefinite(text: str) -> str:
    """The text behind "a" or "an"."""
    vowel = re.match(r"[aeiouAEIOU]|SI\b|X-|18\d\d\b", text) and not re.match(r"uni|eu|one", text, re.IGNORECASE)
    return f"{'an' if vowel else 'a'} {text}"


# People


def is_person(article: Article) -> bool:
    """Whether the article is on one person whose profession the rules can read."""
    if article.topic not in ("People", "Uncategorized") or NO_PERSONS.search(plain_title(article)):
        return False
    dated = article.topic == "People" and LIFESPAN.search(article.description)
    return bool((dated or occupations(article) or find_reign(article)) and profession(article))


def profession(article: Article) -> str | None:
    """What the description says that a person was, without where they came from: "jazz trumpeter", or an office that is
    no monarch's."""
    if reign := find_reign(article):
        return None if MONARCH.match(reign.office) else reign.office
    words = LIFESPAN.sub("", article.description).split()
    start = 0
    while start < len(words) and all(part in NATIONALITIES | ORIGINS for part in re.split("[-–]", words[start])):
        start += 1
    found = re.split(r", |(?<!track) and | of | in |/", " ".join(words[start:]))[0].removeprefix("former ")
    if not found or NO_PERSONS.search(found) or OFFICE.match(found) or found.split()[0] in RANKS:
        return None
    first = found.split()[0].lower()
    starts_a_job = first in JOB_WORDS and found[1:].islower()
    return first + found[len(first) :] if starts_a_job else found


def professions(article: Article) -> list[str]:
    """What a person was in the words of the description, in one word, and as the first sentence has it."""
    job = profession(article)
    short = job.partition(" of ")[0] if OFFICE.match(job) else job.split()[-1]
    plain = short.islower() or OFFICE.match(job)
    return [job, *([short] if plain and short not in NO_ANSWERS else []), *occupations(article)]


def family_name(article: Article) -> str | None:
    """The last word of a person's name where it is a family name."""
    title = plain_title(article).removesuffix(" Jr.")
    words = title.split()
    if len(words) < 2 or PARTICLES.search(title) or words[-1] in NO_SURNAMES or not is_person(article):
        return None
    if article.description.split()[0] in SURNAME_FIRST:
        return None
    return words[-1] if re.fullmatch(r"[A-Z][\w’'-]{2,}", words[-1]) else None


def surnames(articles: list[Article]) -> Iterator[Reading]:
    """People by their family name, but for names that are rather given names."""
    given = Counter(article.title.split()[0] for article in articles if is_person(article))
    names = {article.id: name for article in articles if (name := family_name(article))}
    bearers = Counter(names.values())
    for article in articles:
        name = names.get(article.id)
        if name and given[name] <= bearers[name]:
            yield from named(name, name, "surname", article, life(article))


def given_names(articles: list[Article]) -> Iterator[Reading]:
    """People by the first word of their name. Nobody asks for most of them in this way: it is to learn from."""
    for article in articles:
        name = article.title.split()[0]
        if family_name(article) and re.fullmatch(r"[A-Z]\w{2,}", name):
            yield from named(name, name, GIVEN_NAME, article, life(article))


def life(article: Article) -> Iterator[Fact | None]:
    """A person's years, profession, nationality and what they are known as."""
    title, job = plain_title(article), profession(article)
    known_as = article.description[: article.description.lower().index(job.lower()) + len(job)]
    yield stated(article, "occupation", professions(article), title)
    yield stated(article, "identity", [known_as, *professions(article)], title)
    clear = f"the {job} {title}"
    if years := LIFESPAN.search(article.description):
        yield stated(article, "birth year", [years["birth"] or years["only"]], clear)
        yield stated(article, "death year", [years["death"]] if years["death"] else [], clear)
    nation, second = (*article.description.split(), "")[:2]
    if nation in NATIONALITIES and second not in NATIONALITIES | {"and"} and contains_answer(article.extract, [nation]):
        people = "British" if nation in ("English", "Scottish", "Welsh") else nation
        yield stated(article, "nationality", [nation], clear, people=people)
    if reign := find_reign(article):
        yield stated(article, "reign start", [reign.start], title, office=reign.office)


# Rulers and offices


@dataclass(frozen=True)
class Reign:
    """An office, when it was held (as a phrase), and the first and last year; the last is empty while it goes on. The
    years are `sure` to be those of the whole rule unless they are BC or another office is named beside."""

    office: str
    when: str
    start: str
    end: str
    sure: bool = True

    def centuries(self) -> range:
        """Those that the reign touches."""
        return range((int(self.start) - 1) // 100 + 1, (int(self.end or self.start) - 1) // 100 + 2)


def find_reign(article: Article) -> Reign | None:
    """The office that the description begins with, where years follow it."""
    match = OFFICE_YEARS.match(article.description.replace("Head of the Catholic Church", "Pope"))
    if not match or not OFFICE.match(match["office"]) or " and Dictator" in match["office"]:
        return None
    text = match["spans"] or match["since"] or match["reign"] or match["terms"]
    terms = [parse_term(part) for part in re.split(r"; |, | and from ", text)]
    when = " and ".join(in_years(*term) for term in terms) + (match["bc"] or "")
    return Reign(match["office"], when, terms[0][0], terms[-1][1], not match["bc"] and not match["more"])


def parse_term(text: str) -> tuple[str, str]:
    """First and last year of a term: "1998–99" is 1998 and 1999; the last is empty while it goes on."""
    start, *rest = re.findall(r"\d+", text)
    if text.startswith("since") or text.endswith("present"):
        return start, ""
    end = rest[0] if rest else start
    return start, start[: len(start) - len(end)] + end if len(end) == 2 and "–" in text else end


def in_years(start: str, end: str) -> str:
    """The phrase for a term."""
    return f"since {start}" if not end else f"in {start}" if start == end else f"from {start} to {end}"


def rulers(articles: list[Article]) -> Iterator[Reading]:
    """Monarchs by the name without a numeral."""
    found: dict[str, list[tuple[str, Article, Reign]]] = defaultdict(list)
    for article in articles:
        reign, regnal = find_reign(article), REGNAL.match(article.title)
        if reign and regnal and (rank := MONARCH.match(reign.office)):
            found[regnal["name"]].append((rank["rank"].capitalize(), article, reign))
    for name, members in found.items():
        ranks = {rank for rank, _, _ in members}
        asked = f"{ranks.pop()} {name}" if len(ranks) == 1 else f"the monarch {name}"
        for _, article, reign in members:
            head, comma, rest = article.title.partition(", ")
            clear = head if not comma else f"{head}, {rest}," if " of " in rest else f"the {rest} {head}"
            yield from named(asked, name, "ruler", article, rule(article, reign, clear))


def rule(article: Article, reign: Reign, clear: str) -> Iterator[Fact | None]:
    """When a rule began and ended."""
    if reign.sure:
        yield stated(article, "rule start", [reign.start], clear)
        yield stated(article, "rule end", [reign.end] if reign.end else [], clear)


def offices(articles: list[Article]) -> Iterator[Reading]:
    """Who held an office, and from when to when; where many held it, who did in one century."""
    holders: dict[str, list[tuple[Article, Reign]]] = defaultdict(list)
    for article in articles:
        if reign := find_reign(article):
            holders[reign.office].append((article, reign))
    texts = {article.id: article.extract.casefold() for article in articles}
    for office, members in holders.items():
        if others_held(office, {article.id for article, _ in members}, texts):
            continue
        for article, reign in members:
            names = holder_names(article)
            be = "was" if reign.end else "has been"
            held = [stated(article, "holder", names, f"{office} {reign.when}", office=office, when=reign.when, be=be)]
            if len(members) > MANY_HOLDERS:
                for century in reign.centuries() if "BC" not in reign.when else ():
                    if century >= FIRST_CENTURY:
                        asked = f"{office} in the {century}{'st' if century == 21 else 'th'} century"
                        yield from named(asked, office, "office", article, held)
                continue
            yield from named(office, office, "office", article, held)
            if not NO_RULE.match(office):
                clear = f"{names[0]}, {office},"
                yield from named(f"the {office}", office, "office", article, rule(article, reign, clear))


def others_held(office: str, known: set[str], texts: dict[str, str]) -> bool:
    """Whether further articles say that somebody held the office: then the known holders aren't all that is meant.
    Rulers of older times, of whom there are always more, are let pass."""
    if office == "Pope" or MONARCH.match(office) and len(known) > MANY_HOLDERS:
        return False
    name = office.casefold()
    held = re.compile(
        rf"\b(?:was|as|became|elected)(?: the)?(?: [a-z]+| \d+(?:st|nd|rd|th))? (?<!holy ){re.escape(name)}\b"
    )
    return any(name in text and held.search(text) for i, text in texts.items() if i not in known)


def holder_names(article: Article) -> list[str]:
    """The name of who held an office, without and with the office."""
    name = re.sub(r", .*$| of (?!the ).*$", "", article.title)
    return list(dict.fromkeys([re.sub(r"^(?:Pope|King|Queen|Emperor) | Emperor$", "", name), name]))


# Events and works


def events(articles: list[Article]) -> Iterator[Reading]:
    """Wars, states and the like by the name without an ordinal."""
    titles = {article.title for article in articles}
    for article in articles:
        years = YEARS.search(article.description)
        if not years or article.topic not in ("History", "Uncategorized") or is_person(article):
            continue
        title = plain_title(article)
        nation, _, rest = title.partition(" ")
        name = rest if nation in NATIONALITIES and rest in titles and " " in rest else ORDINAL.sub("", title)
        name = re.sub(r"^War of the \w+ Succession$", "War of Succession", name)
        name = re.sub(r"^\w+ War of Independence$", "War of Independence", name)
        origin = article.description.split()[0]
        clear = f"{origin} {title}" if name == title and origin in NATIONALITIES else title
        the = "the " if re.search(rf"\bthe {re.escape(title)}\b", article.extract, re.IGNORECASE) else ""
        facts = [stated(article, f"event {bound}", [years[bound]], the + clear) for bound in ("start", "end")]
        yield from named(("the " if the or name != title else "") + name, name, "event", article, facts)


def works(articles: list[Article]) -> Iterator[Reading]:
    """Works of one kind by one maker, by their years."""
    for article in articles:
        for fact in work_facts(article):
            if fact.relation == "title of work":
                name = f"the {fact.fields['kind']} by {fact.fields['maker']}"
                clear = f"{with_article(article)} by {fact.fields['maker']}"
                facts = [
                    stated(article, "title", fact.answers, f"{name} from {fact.fields['year']}", **fact.fields),
                    stated(article, "work year", [fact.fields["year"]], clear),
                ]
                yield from named(name, fact.fields["maker"], "work", article, facts)
