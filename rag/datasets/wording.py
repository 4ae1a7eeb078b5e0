"""How each relation is asked, and how it is stated. Of several wordings one is chosen by the question's id.

`{x}` is a name of the subject (its title, another name, a surname, what it did); `{answer}` is what a claim states.
"""

from dataclasses import dataclass

WORDINGS: dict[str, tuple[str, ...]] = {
    "birth year": ("In what year was {x} born?", "What is the birth year of {x}?", "When was {x} born?"),
    "death year": ("In what year did {x} die?", "What is the year of death of {x}?", "When did {x} die?"),
    "occupation": (
        "What was the occupation of {x}?",
        "What did {x} do for a living?",
        "What is {x} known as by profession?",
    ),
    "nationality": ("What was the nationality of {x}?", "What nationality did {x} have?"),
    "reign start": (
        "In what year did {x} become {office}?",
        "When did {x} become {office}?",
        "Since what year was {x} {office}?",
    ),
    "author": ("Who wrote {x}?", "Who is the author of {x}?"),
    "director": ("Who directed {x}?", "Who was the director of {x}?"),
    "painter": ("Who painted {x}?", "Which artist made the painting {x}?"),
    "composer": ("Who composed {x}?", "Who is the composer of {x}?"),
    "work year": ("From what year is {x}?", "In what year did {x} come out?"),
    "title of work": ("Which {year} {kind} is by {maker}?", "What is the title of the {kind} by {maker} from {year}?"),
    "country": ("In which country is {x}?", "What country is {x} in?"),
    "capital": ("What is the capital of {x}?", "Which city is the capital of {x}?"),
    "continent": ("On which continent is {x}?", "To which continent does {x} belong?"),
    "language family": ("To which language family does {x} belong?", "What family of languages is {x} part of?"),
    "element": ("Which chemical element has {x}?", "What is the chemical element with {x}?"),
}

STATEMENTS: dict[str, str] = {
    "birth year": "{x} was born in {answer}.",
    "death year": "{x} died in {answer}.",
    "occupation": "By profession {x} was known as {an} {answer}.",
    "nationality": "The nationality of {x} was {answer}.",
    "reign start": "{x} became {office} in {answer}.",
    "author": "{x} was written by {answer}.",
    "director": "{x} was directed by {answer}.",
    "painter": "{x} was painted by {answer}.",
    "composer": "{x} was composed by {answer}.",
    "work year": "{x} is from {answer}.",
    "title of work": "The {kind} by {maker} from {year} is called {answer}.",
    "country": "{x} is in {answer}.",
    "capital": "The capital of {x} is {answer}.",
    "continent": "{x} belongs to the continent {answer}.",
    "language family": "{x} belongs to the {answer} family of languages.",
    "element": "The chemical element with {x} is {answer}.",
}
BIOGRAPHY = "Tell me a short biography of {x}."


@dataclass(frozen=True)
class AmbiguousWording:
    """How an ambiguous question is `asked`: pairs of the question and its disambiguated form. How the answer to one
    reading is `told`: two clauses, one for each reference answer.

    `{x}` is the ambiguous name in the question and a clear one elsewhere.
    """

    asked: tuple[tuple[str, str], ...]
    told: tuple[str, str]


def alike(relation: str, *told: str) -> AmbiguousWording:
    """The wordings of a relation that is asked in the same way with a clear name."""
    return AmbiguousWording(tuple((text, text) for text in WORDINGS[relation]), told)


AMBIGUOUS: dict[str, AmbiguousWording] = {
    "birth year": alike("birth year", "{x} was born in {answer}", "the year of birth of {x} is {answer}"),
    "death year": alike("death year", "{x} died in {answer}", "the year of death of {x} is {answer}"),
    "occupation": alike("occupation", "{x} was {an} {answer} by profession", "{x} worked as {an} {answer}"),
    "nationality": alike("nationality", "the nationality of {x} was {answer}", "{x} was {answer} by nationality"),
    "reign start": alike("reign start", "{x} became {office} in {answer}", "{x} was {office} from {answer} on"),
    "work year": AmbiguousWording(
        (("From what year is {x}?",) * 2, ("What year is {x} from?",) * 2),
        ("{x} is from {answer}", "{x} dates from {answer}"),
    ),
    "title": AmbiguousWording(
        (
            ("What is the title of {x}?", "What is the title of {x}?"),
            ("Which {kind} is by {maker}?", "Which {kind} by {maker} is from {year}?"),
        ),
        ("the {kind} by {maker} from {year} is called {answer}", "{answer} is the {kind} by {maker} from {year}"),
    ),
    "identity": AmbiguousWording(
        (("Who is {x}?",) * 2, ("What is {x} known as?",) * 2),
        ("{x} is known as {an} {answer}", "the name {x} is that of {an} {answer}"),
    ),
    "kind": AmbiguousWording(
        (
            ('What is meant by "{x}"?', "{who} is {x}?"),
            ('What does "{x}" stand for?', "{who} is {x}?"),
            ('What does "{x}" refer to?', "{who} is {x}?"),
        ),
        ("{told} {be} {what}", "{x} {be} {what}"),
    ),
    "rule start": AmbiguousWording(
        (("When did {x} come to power?",) * 2, ("From what year on was {x} in power?",) * 2),
        ("{x} came to power in {answer}", "{x} was in power from {answer} on"),
    ),
    "rule end": AmbiguousWording(
        (("Until what year was {x} in power?",) * 2, ("What was the last year of {x} in power?",) * 2),
        ("{x} was in power until {answer}", "the last year of {x} in power was {answer}"),
    ),
    "holder": AmbiguousWording(
        (("Who was {x}?", "Who {be} {x}?"), ("Who held the office of {x}?", "Who {be} {x}?")),
        ("{answer} {be} {x}", "{when} the {office} was {answer}"),
    ),
    "event start": AmbiguousWording(
        (("When did {x} begin?",) * 2, ("In what year did {x} begin?",) * 2),
        ("{x} began in {answer}", "the beginning of {x} was in {answer}"),
    ),
    "event end": AmbiguousWording(
        (("When did {x} end?",) * 2, ("In what year did {x} end?",) * 2),
        ("{x} ended in {answer}", "the end of {x} was in {answer}"),
    ),
}
