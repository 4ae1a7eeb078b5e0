"""What things are, read off their descriptions: the readings of names that things of different fields share."""

import re
from collections import defaultdict
from collections.abc import Iterator

from rag.corpus import sentences
from rag.datasets.facts import Fact, plain_title
from rag.datasets.readings import (
    Reading,
    family_name,
    in_a_sentence,
    indefinite,
    is_person,
    named,
    profession,
    professions,
    stated,
)
from rag.datasets.vocabulary import (
    FIELD_OF_KIND,
    FIELDS,
    MASS_KINDS,
    NO_ANSWERS,
    PLURAL_KINDS,
    PROPER_KINDS,
)
from rag.types import Article

GENERIC = re.compile(r"(?P<name>\w+) (?:River|Empire|rainforest)")
UNIT = re.compile(r"\bunit of [a-z]+(?: [a-z]+)*?(?= in | for |$)", re.IGNORECASE)
KIND = re.compile(
    r"^(?:(?:Type|Family|Genus|Species|Form|Common name) (?:of|for) (?:several )?)?(?:\d{4} )?(?P<head>.*?)"
    r"(?= (?:of|in|from|with|by|that|who|used|for|on|to|which|and|or|at|played|located|found|native|composed|taking"
    r"|involving|produced|reserved|based|consisting)\b|;| \(|$)"
)
UNIQUE = re.compile(
    r"(?:\w*(?:first|second|third|fourth|fifth|largest|brightest|most)|chief|capital|head|transfer|continuous)\b"
)


def senses(articles: list[Article]) -> Iterator[Reading]:
    """Things, and people beside them, by a name. A name that several share is left out unless the rules can say what each
    is, and the things are of different fields."""
    groups: dict[str, list[tuple[str, Article]]] = defaultdict(list)
    for article in articles:
        specific = GENERIC.fullmatch(plain_title(article))
        for name in {plain_title(article), family_name(article), specific and specific["name"]} - {None}:
            groups[name.casefold()].append((name, article))
    for key, members in groups.items():
        things = [article for _, article in members if not is_person(article)]
        if key not in [plain_title(article).casefold() for article in things]:
            continue
        facts = [sense(name, article) for name, article in members]
        if all(facts):
            fields = [fact.fields["field"] for fact in facts if fact.fields["field"]]
            if len(set(fields)) == len(fields):
                for (name, article), fact in zip(members, facts, strict=True):
                    yield from named(fact.fields.get("written", name), key, "sense", article, [fact])


def sense(name: str, article: Article) -> Fact | None:
    """What the article's subject is: a person by profession, a thing by the head of its description."""
    if is_person(article):
        title, what = plain_title(article), indefinite(profession(article))
        return stated(
            article, "kind", professions(article), title, told=title, what=what, who="Who", be="is known as", field=""
        )
    if unit := UNIT.search(article.description):
        return thing(name, article, "measurement", "unit", [unit[0].lower()])
    head = KIND.match(article.description)["head"]
    kind = next((kind for kind in (last_words(head, 2), last_words(head, 1)) if kind in FIELD_OF_KIND), None)
    if kind is None:
        return None
    bracket = re.search(r"\((.*)\)$", article.title)
    field = bracket[1] if bracket and bracket[1] in FIELDS else FIELD_OF_KIND[kind]
    return thing(name, article, field, kind, kind_answers(article, head, kind))


def last_words(text: str, count: int) -> str:
    """The last words as one, as the vocabulary has them."""
    return "-".join(text.lower().split()[-count:])


def kind_answers(article: Article, head: str, kind: str) -> list[str]:
    """What a thing is, in the words of its description and in one word."""
    clause = re.split(r" (?:of|in|from|with|by|that) ", article.description)[0].lower()
    others = [noun for noun in re.findall(r"\w+", clause) if FIELD_OF_KIND.get(noun) == FIELD_OF_KIND[kind]]
    nouns = [noun.removesuffix("s") if noun in PLURAL_KINDS else noun for noun in (kind.replace("-", " "), *others)]
    whole = described(article).split(",")[0].removeprefix("the ") if kind == "head" else in_a_sentence(head)
    return [whole, *nouns] if kind not in NO_ANSWERS else [whole]


def thing(name: str, article: Article, field: str, kind: str, answers: list[str]) -> Fact | None:
    """What a thing is, by its field."""
    written = name if kind in PROPER_KINDS else name.lower()
    noun = with_determiner(written, kind, article)
    fields = {"told": f"in {field}, {noun}", "what": described(article), "field": field, "written": written}
    return stated(article, "kind", answers, f"{noun} in {field}", **fields, who="What", be="is")


def with_determiner(name: str, kind: str, article: Article) -> str:
    """The name behind the determiner that it takes."""
    first = (sentences(article.extract) or [""])[0]
    if kind in ("river", "rainforest"):
        return f"the {name}"
    found = re.match(rf"(?:In [^,]*, )?(?:(an?|the) (?:\w+ )?{re.escape(name)}\b|{re.escape(name)}s\b)", first, re.I)
    if kind == "empire" or not found and kind != "birds":
        return name
    return f"{found[1].lower()} {name}" if found and found[1] else indefinite(name)


def described(article: Article) -> str:
    """The description as the predicate of a sentence."""
    text = in_a_sentence(re.sub(r" \([^()]*\)", "", article.description))
    if members := re.match(r"(?:family of|common name for) (.*)", text):
        return f"one of {members[1]}" if text.startswith("common") else f"one of a family of {members[1]}"
    if UNIQUE.match(text):
        return f"the {text}"
    match = KIND.match(article.description)
    noun = last_words(match["head"], 1)
    if match.start("head") == 0 and noun in PLURAL_KINDS:
        return f"one of the {text}"
    return text if match.start("head") == 0 and noun in MASS_KINDS else indefinite(text)
