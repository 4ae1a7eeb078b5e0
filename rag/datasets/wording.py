"""How each relation is asked, and how it is stated. Of several wordings one is chosen by the question's id.

`{x}` is a name of the subject (its title, another name, a surname, what it did); `{answer}` is what a claim states.
"""

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
