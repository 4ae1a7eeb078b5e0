"""The adapters that teach the embedded language model to interpret questions and to verify passages.

Both learn from the train questions alone: a name belongs to one split, so none is shared with the test questions.
`make train` makes the adapters again.
"""

import re
from collections.abc import Sequence

from diva.diversification import Candidates, diversify
from diva.interpretation import (
    MAX_INTERPRETATIONS,
    TITLES_DEPTH,
    first_titles,
    interpretations_line,
    page_name,
    titles_prompt,
)
from diva.pruning import KEEP
from diva.verification import NO, YES, verification_prompt
from rag.adapters import AdapterSettings, Example, train_adapter
from rag.corpus import fraction
from rag.datasets.ambiguous import build_given_names, build_named_singles
from rag.datasets.readings import GIVEN_NAME
from rag.generation import LanguageModel
from rag.paths import ADAPTERS
from rag.retrieval import Retriever
from rag.scoring.ambiguous import Matching, holds
from rag.scoring.text import contains_answer
from rag.setup import Setup, load_setup
from rag.systems import as_knowledge
from rag.types import Interpretation, Passage, Question

INTERPRETATION, VERIFICATION = ADAPTERS / "interpretation", ADAPTERS / "verification"
# An ambiguous question is shown with its titles as they were found, then with some left out and the others in another order.
COPIES = 2
TITLES_LEFT_OUT = 0.25
# How many ambiguous and unambiguous questions are learnt from in each split. Of the former, train has 340 on 88 names.
ASKED = {"train": (340, 500), "dev": (20, 20)}
HELD = re.compile(r"^Who (?:has been|was|were) (?P<office>.+?) (?:from|in|since) (?:AD |c\. )?\d.*\?$")
VERDICTS = {"train": 1600, "dev": 60}
# How many passages a verdict is on, by the upper ends of shares: with a single one it is quicker to learn what to look for.
SIZES = {1: 0.4, 2: 0.6, 3: 0.8, KEEP: 1.0}
# In so many of the cases without the answer its own page is there all the same, if it has a passage without.
SILENT = 0.3
VERIFICATION_SETTINGS = AdapterSettings(learning_rate=5e-4)


def interpretation_examples(lm: LanguageModel, questions: Sequence[Question], retriever: Retriever) -> list[Example]:
    """Titles of a first retrieval to the interpretations that they have a page for, in the order of the titles; a question
    that no title answers stands for itself. Of people with a given name no others are shown than those that are meant,
    and where there are none the question is left out.

    What is written always begins like a question does: of a word of its own for "unambiguous", a small model learns only
    how often it is right.
    """
    pages = first_titles(retriever, [question.text for question in questions], TITLES_DEPTH)
    examples = []
    for question, found in zip(questions, pages, strict=True):
        own = {meant.article_id: by_title(meant) for meant in question.interpretations}
        if question.form == GIVEN_NAME:
            name = page_name(question.interpretations[0].article_id).split()[0]
            found = {
                page: title for page, title in found.items() if page in own or not holds(title, [name], Matching.TOKEN)
            }
            if not own.keys() & found.keys():
                continue
        for copy in range(COPIES if len(own) > 1 else 1):
            shown = found if copy == 0 else shuffled(found, f"{question.id}/{copy}")
            texts = [own[article] for article in shown if article in own][:MAX_INTERPRETATIONS] or [question.text]
            prompt = titles_prompt(question.text, list(dict.fromkeys(shown.values())))
            examples.append(Example(((lm.chat(prompt), False), (interpretations_line(texts), True))))
    return list(dict.fromkeys(examples))


def by_title(interpretation: Interpretation) -> str:
    """An interpretation that names its page and says no more than a title tells: what can't be known isn't learnt.

    So what someone was by profession is left out, and who held an office is asked by name instead of by years.
    """
    name = page_name(interpretation.article_id)
    if held := HELD.match(interpretation.text):
        return f"Who was the {held['office']} called {name}?"
    return re.sub(rf"\bthe (?:(?!the\b|of\b)[\w-]+ )+(?={re.escape(name)})", "", interpretation.text)


def shuffled(titles: dict[str, str], seed: str) -> dict[str, str]:
    """The titles in another order, a quarter of them left out."""
    kept = [article for article in titles if fraction(f"left out/{seed}/{article}") >= TITLES_LEFT_OUT]
    return {article: titles[article] for article in sorted(kept, key=lambda own: fraction(f"{seed}/{own}"))}


def verification_examples(
    lm: LanguageModel, candidates: Sequence[Candidates], questions: Sequence[Question], count: int
) -> list[Example]:
    """At most `count` verdicts on retrieved passages, half of them yes.

    Yes: among the passages is one of the interpretation's own page with the answer. No: none holds an answer; mostly there
    are only other pages, now and then also passages of the own one that don't tell it. All are retrieved for the same
    question, so both verdicts are on the same names. After a yes stands the answer, which small models are also asked
    for: of the word alone they don't learn what to look for.
    """
    yes, no = [], []
    for question, own in zip(questions, candidates, strict=True):
        for meant in question.interpretations:
            seed = f"{question.id}/{meant.text}"
            lacking = [passage for passage in own.pool if not contains_answer(passage.text, meant.answers)]
            elsewhere = [passage for passage in lacking if passage.article_id != meant.article_id]
            silent = [passage for passage in lacking if passage.article_id == meant.article_id]
            telling = [
                passage for passage in own.pool if passage.article_id == meant.article_id and passage not in lacking
            ]
            if telling:
                told = next(answer for answer in meant.answers if contains_answer(telling[0].text, [answer]))
                yes.append((meant, some(telling[:1], [*silent, *elsewhere], f"yes/{seed}"), f"{YES}: {told}"))
            if elsewhere:
                first = silent[:1] if fraction(f"silent/{seed}") < SILENT else []
                no.append((meant, some(first, elsewhere, f"no/{seed}"), NO))
    half = min(count // 2, len(yes), len(no))
    return [
        Example(((lm.chat(verification_prompt(as_knowledge(passages), meant.text)), False), (reply, True)))
        for verdicts in (yes, no)
        for meant, passages, reply in sorted(verdicts, key=_by_text)[:half]
    ]


def some(first: list[Passage], others: list[Passage], seed: str) -> list[Passage]:
    """So many passages as the seed draws: the first ones and the best others, in an order of their own."""
    draw = fraction(f"size/{seed}")
    size = next(size for size, end in SIZES.items() if draw < end)
    return sorted([*first, *others][:size], key=lambda passage: fraction(f"{seed}/{passage.id}"))


def _by_text(verdict: tuple[Interpretation, list[Passage], str]) -> float:
    """An order of verdicts by their texts."""
    return fraction(f"{verdict[0].text}/{verdict[0].article_id}")


def learnt_from(setup: Setup, split: str) -> list[Question]:
    """The questions of a split that both roles learn from: ambiguous ones, and unambiguous ones for their names."""
    ambiguous, singles = ASKED[split]
    questions = [question for question in setup.all_ambiguous[split] if len(question.interpretations) > 1]
    named = build_named_singles(setup.encyclopedia, split)
    return [*questions[:ambiguous], *sorted(named, key=lambda question: fraction(question.id))[:singles]]


def train_interpretation(setup: Setup) -> None:
    """Train the adapter that interprets and write it to `data/adapters/`, if it isn't there."""
    lm = LanguageModel()
    asked = [*learnt_from(setup, "train"), *build_given_names(setup.encyclopedia, "train")], learnt_from(setup, "dev")
    train, dev = (interpretation_examples(lm, questions, setup.ambiguous_retriever) for questions in asked)
    train_adapter(lm, train, dev, (), AdapterSettings(), INTERPRETATION)


def train_verification(setup: Setup) -> None:
    """Train the adapter that verifies and write it to `data/adapters/`, if it isn't there."""
    lm = LanguageModel()
    sets = {}
    for split, count in VERDICTS.items():
        questions = learnt_from(setup, split)
        texts = [[own.text for own in question.interpretations] for question in questions]
        candidates = diversify(texts, setup.ambiguous_retriever)
        sets[split] = verification_examples(lm, candidates, questions, count)
    train_adapter(lm, sets["train"], sets["dev"], (), VERIFICATION_SETTINGS, VERIFICATION)


if __name__ == "__main__":
    full = load_setup("full")
    train_interpretation(full)
    train_verification(full)
