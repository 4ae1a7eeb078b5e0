"""Facts read off an article by rule: what can be asked about it, with the gold answers.

The rules read the short description ("German mathematician (1805–1859)", "1968 film by Stanley Kubrick", "Capital of
Kazakhstan") and the first sentence. They prefer saying nothing to saying something wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rag.corpus import sentences
from rag.datasets.vocabulary import (
    CONTINENTS,
    COUNTRY_ALIASES,
    MAKER_RELATIONS,
    NATIONALITIES,
    OCCUPATIONS,
    PLACE_KINDS,
    RELATION_OF_KIND,
)
from rag.types import Article

LIFESPAN = re.compile(r" \((?:born (?P<only>\d{4})|(?P<birth>\d{4})[–-](?P<death>\d{4}))\)$")
REIGN = re.compile(
    r"^(?P<office>(?:Holy |Roman |Byzantine |Eastern |Western )*"
    r"(?:King|Queen|Emperor|emperor|Empress|Tsar|Sultan|Pope|Pharaoh|Shah|Prime Minister|President|Chancellor)"
    r"(?: (?:of|regnant of) (?:the )?[A-Z]\w+(?: [A-Z]\w+)*)?) from (?P<start>\d{4}) (?:to|until) \d{4}$"
)
WORK = re.compile(
    r"^(?:(?P<year>\d{4}) )?(?P<kind>[A-Za-z][\w'’ -]*?) (?:(?:written|composed|painted|directed) )?by "
    r"(?P<maker>[A-Z][\w.’'-]*(?: (?:[A-Z][\w.’'-]*|de|da|van|von|der|la|le))*)$"
)
CAPITAL = re.compile(
    r"^Capital(?: city)?(?: and (?:the )?(?:largest|most populous) city)? of (?:the )?(?P<of>[A-Z][\w .,'-]*)$"
)
PLACE = re.compile(r"^(?P<kind>[A-Z][\w ,'–-]*?) (?:in|of) (?P<where>.*)$")
LANGUAGE = re.compile(r"^(?P<family>[A-Z][\w–-]+(?: [A-Z][\w–-]+)?) language\b")
ELEMENT = re.compile(
    r"^(?P<name>[A-Z][a-z]+)\b.*?chemical element.*?symbol (?P<symbol>[A-Z][a-z]?)\b.*?atomic number (?P<number>\d+)\b"
)


@dataclass(frozen=True)
class Fact:
    """One thing to ask of an article. `names` maps a form (title, alias, surname, description, symbol, hop) to the way the
    question calls its subject; `fields` are further parts of the wording. A hop names the subject by another article:
    a person as the author of a novel, a country by its capital."""

    relation: str
    answers: tuple[str, ...]
    names: dict[str, str]
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def clear(self) -> str:
        """The name that leaves no doubt, of the facts behind ambiguous questions."""
        return self.names["clear"]


def plain_title(article: Article) -> str:
    """The title without what only tells it apart: "Psycho (1960 film)" is "Psycho", "Tripoli, Libya" is "Tripoli"."""
    title = re.sub(r" \([^()]*\)$", "", article.title)
    return re.sub(r", (?!D\.C\.).*$", "", title) if article.topic == "Geography" else title


def with_article(article: Article) -> str:
    """The plain title, behind "the" where the text has it so: "the Golden Temple"."""
    title = plain_title(article)
    return f"the {title}" if article.extract.startswith(f"The {title} ") else title


def find_occupations(text: str) -> list[str]:
    """The listed occupations that end a part of an enumeration: "inventor", "businessman"."""
    found = []
    for part in re.split(r",? and |, (?:and )?|/| & ", text):
        words = part.split()
        for size in (2, 1):
            if len(words) >= size and "-".join(words[-size:]).lower() in OCCUPATIONS:
                found.append(" ".join(words[-size:]).lower())
                break
    return found


def occupations(article: Article) -> list[str]:
    """A person's occupations: those of the description, then those of the first sentence's "was a …"."""
    found = find_occupations(LIFESPAN.sub("", article.description))
    first = re.search(r" (?:was|is) an? ([^.;()]*)", (sentences(article.extract) or [""])[0])
    return list(dict.fromkeys(found + (find_occupations(first[1].split(" who ")[0]) if found and first else [])))


def alias(article: Article) -> str | None:
    """Another full name of a person: the subject of the first sentence, where it differs from the title."""
    first = (sentences(article.extract) or [""])[0]
    part = r"(?:[A-Z][\w.’'-]+|de|da|van|von|der|di|la|le|del|of)"
    match = re.match(rf"({part}(?: {part})+),? (?:was|is) (?:an?|the) ", first)
    if not match:
        return None
    name = match[1]
    different = set(name.lower().split()) ^ set(plain_title(article).lower().split())
    return name if different and len(name.split()) <= 6 else None


@dataclass(frozen=True)
class Background:
    """What a rule must know of the other articles: how many people share a surname (and an occupation), what people made,
    which capital a country has, and which countries there are."""

    surnames: Counter[str]
    surnames_with_job: Counter[tuple[str, str]]
    works: dict[str, str]
    capitals: dict[str, str]
    countries: frozenset[str]


def background(articles: Iterable[Article]) -> Background:
    """Gather the background of a corpus."""
    surnames: Counter[str] = Counter()
    with_job: Counter[tuple[str, str]] = Counter()
    works: dict[str, str] = {}
    capitals: dict[str, str] = {}
    countries = {"England", "Scotland", "Wales"}
    for article in articles:
        if LIFESPAN.search(article.description):
            last = plain_title(article).split()[-1]
            surnames[last] += 1
            with_job.update((last, job) for job in occupations(article))
        if re.match(r"(?:Island |Landlocked )?[Cc]ountry\b", article.description):
            countries.add(article.title)
        if (match := CAPITAL.match(article.description)) and "," not in match["of"]:
            capitals[match["of"]] = plain_title(article)
        for fact in work_facts(article):
            if fact.relation in MAKER_RELATIONS:
                works[fact.answers[0]] = f"the {fact.relation} of {fact.names['title']}"
    return Background(surnames, with_job, works, capitals, frozenset(countries))


def surname(article: Article) -> str | None:
    """The family name by which the article itself goes on to call the person."""
    words = plain_title(article).split()
    if len(words) < 2 or re.search(r"\b(?:of|the|I|II|III|IV|V)\b", article.title):
        return None
    if not re.fullmatch(r"[A-Z][\w’'-]{3,}", words[-1]):
        return None
    used = re.search(rf"(?<!{re.escape(words[-2])} )\b{re.escape(words[-1])}(?:'s|’s)? [a-z]", article.extract)
    return words[-1] if used else None


CLUE = re.compile(
    r"^(?:He|She) (?P<tail>(?:"
    r"(?:is|was) (?:best |widely |perhaps best )?(?:known|remembered|noted|famous|credited) (?:for|as|with)"
    r"|discovered|invented|founded|wrote|composed|directed|designed|proved|formulated|led|won|developed|introduced"
    r"|published|pioneered|starred|established|painted|created|served|became|received|proposed|coined"
    r") [^,;:()]+)$"
)


def clue(article: Article) -> str | None:
    """What the person did, in the article's words but without any of their names: "was best known for …"."""
    names = {word.lower() for word in re.findall(r"\w{3,}", f"{article.title} {alias(article) or ''}")}
    for sentence in sentences(article.extract)[1:]:
        if match := CLUE.match(sentence):
            tail = match["tail"].rstrip(". ")
            words = tail.split()
            if 6 <= len(words) <= 22 and not names & {word.lower() for word in re.findall(r"\w{3,}", tail)}:
                return tail
    return None


def person_facts(article: Article, known: Background) -> Iterator[Fact]:
    """Years, occupation and nationality of a person with a lifespan (or birth year) in the description."""
    life = LIFESPAN.search(article.description)
    jobs = occupations(article)
    if not life or not jobs:
        return
    names = {"title": plain_title(article)}
    if other := alias(article):
        names["alias"] = other
    named = dict(names)
    family = surname(article)
    if family and known.surnames[family] == 1:
        names["surname"] = family
    if family and known.surnames_with_job[family, jobs[0]] == 1:
        # A surname alone is how nobody asks; with the occupation it says who is meant.
        named["surname"] = f"the {jobs[0]} {family}"
    if what := clue(article):
        named["description"] = f"the {jobs[0]} who {what}"
    if work := known.works.get(plain_title(article)):
        named["hop"] = work
    if life["birth"]:
        if int(life["birth"]) < int(life["death"]):
            yield Fact("birth year", (life["birth"],), named)
            yield Fact("death year", (life["death"],), named)
    else:
        yield Fact("birth year", (life["only"],), named)
    bare = {form: name for form, name in names.items() if not any(job in name.lower() for job in jobs)}
    heads = [job.split()[-1] for job in jobs if job.split()[-1] in OCCUPATIONS]
    yield Fact("occupation", tuple(dict.fromkeys(jobs + heads)), bare)
    nation = article.description.split()[0]
    if nation in NATIONALITIES and re.search(rf"\b{nation}\b", article.extract):
        british = ("British",) if nation in {"English", "Scottish", "Welsh"} else ()
        yield Fact("nationality", (nation, *british), named)


def work_facts(article: Article) -> Iterator[Fact]:
    """Maker, year and title of a book, film, painting or piece of music."""
    match = WORK.match(article.description)
    if not match:
        return
    kind = match["kind"].lower().split()[-1]
    maker = match["maker"].strip()
    relation = RELATION_OF_KIND.get(kind)
    if relation is None or len(maker.split()) > 5 or " and " in maker:
        return
    title = with_article(article)
    if "No. " in title:
        return  # "Symphony No. 5" is a name that many works share.
    answers = tuple(dict.fromkeys((maker, maker.split()[-1])))
    generic = kind in ("work", "collection", "composition")
    name = title if generic or relation == "painter" or kind in title.lower() else f"the {kind} {plain_title(article)}"
    if maker.split()[-1].lower() not in title.lower():
        yield Fact(relation, answers, {"title": name})
    if match["year"]:
        yield Fact("work year", (match["year"],), {"title": name})
        if not generic:
            fields = {"year": match["year"], "kind": kind, "maker": maker}
            yield Fact("title of work", (plain_title(article),), {"description": title}, fields)


def place_facts(article: Article, known: Background) -> Iterator[Fact]:
    """Country of a place, capital of a country or region, continent of a country."""
    title = plain_title(article)
    if match := CAPITAL.match(article.description):
        of = match["of"].removesuffix(", United States").strip(" ,.")
        if "," not in of and title.lower() not in of.lower():
            the = (
                "the " if re.search(rf"\bthe {re.escape(of)}(?!\w)", f"{article.description} {article.extract}") else ""
            )
            yield Fact("capital", (title,), {"description": f"{the}{of}"})
    match = PLACE.match(article.description)
    if not match or article.topic not in ("Geography", "Uncategorized", "Arts", "History", "Technology"):
        return
    kind = match["kind"].lower()
    if kind in ("country", "island country"):
        for continent, keys in CONTINENTS.items():
            if any(key in match["where"] for key in keys) and sum(c in match["where"] for c in CONTINENTS) <= 1:
                names = {"title": with_article(article)}
                if capital := known.capitals.get(title):
                    names["hop"] = f"the country whose capital is {capital}"
                yield Fact("continent", (continent, *[k for k in keys if k != continent]), names)
                break
        return
    country = re.split(r", | in ", match["where"])[-1].removeprefix("the ").rstrip(".")
    if country in known.countries and any(word in PLACE_KINDS for word in kind.split()) and country not in title:
        if not re.search(r"\band\b", match["where"]):
            yield Fact("country", COUNTRY_ALIASES.get(country, (country,)), {"title": with_article(article)})


def language_facts(article: Article) -> Iterator[Fact]:
    """Family of a language."""
    match = LANGUAGE.match(article.description)
    if match and article.topic in ("Society and social sciences", "Uncategorized"):
        family = match["family"]
        vague = {
            "Official",
            "Extinct",
            "Ancient",
            "Constructed",
            "Classical",
            "National",
            "Indigenous",
            "Creole",
            "Auxiliary",
        }
        title = plain_title(article)
        if family.split()[0] not in vague and family not in title and not title.endswith("languages"):
            yield Fact("language family", (family,), {"title": f"the {title}" if title.endswith("language") else title})


def element_facts(article: Article) -> Iterator[Fact]:
    """A chemical element by its number or its symbol."""
    match = ELEMENT.match((sentences(article.extract) or [""])[0])
    if match and match["name"] == plain_title(article):
        name = match["name"].lower()
        names = {"description": f"the atomic number {match['number']}", "symbol": f"the symbol {match['symbol']}"}
        yield Fact("element", (name,), names)


def reign_facts(article: Article) -> Iterator[Fact]:
    """The year in which a ruler's reign began."""
    match = REIGN.match(article.description)
    if match and match["office"] not in article.title:
        yield Fact("reign start", (match["start"],), {"title": with_article(article)}, {"office": match["office"]})
