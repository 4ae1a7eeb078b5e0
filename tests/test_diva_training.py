"""The examples that teach to interpret and to verify: what is learnt, from what, and that nothing of the test questions is."""

from dataclasses import replace

import pytest
from diva_fakes import (
    ADA,
    ADA_BORN,
    AZURE,
    BEN,
    BEN_BORN,
    BORN,
    CAPITAL,
    SEA,
    CountingRetriever,
    FakeSetup,
    WordEncoder,
    WritingGenerator,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from diva import training
from diva.diversification import Candidates
from diva.interpretation import MAX_INTERPRETATIONS, REPEATED, TitlesInterpreter, titles_prompt
from diva.training import (
    COPIES,
    INTERPRETATION,
    SIZES,
    VERIFICATION,
    by_title,
    interpretation_examples,
    train_interpretation,
    train_verification,
    verification_examples,
)
from diva.verification import verification_prompt
from rag.datasets.ambiguous import build_ambiguous, split_of
from rag.datasets.readings import GIVEN_NAME
from rag.scoring.text import contains_answer
from rag.systems import as_knowledge
from rag.types import Article, Hit, Interpretation, Passage, Question, Task, all_answers


class Chat:
    """Puts prompts between marks, as a chat template does."""

    def chat(self, prompt):
        return f"<{prompt}>"


def of_articles(question, *articles):
    """A question whose interpretations name their articles."""
    named = (replace(own, article_id=name) for own, name in zip(question.interpretations, articles, strict=True))
    return replace(question, interpretations=tuple(named))


STONE = of_articles(BORN, "Ada_Stone", "Ben_Stone")
# As the titles have it, without the professions.
ADA_NAMED, BEN_NAMED = "When was Ada Stone born?", "When was Ben Stone born?"


def learnt(example):
    """The prompt of an example, without the marks of the chat, and what is learnt to follow it."""
    (prompt, read), (line, written) = example.pieces
    assert (read, written) == (False, True)
    assert prompt.startswith("<") and prompt.endswith(">")
    return prompt[1:-1], line


def interpreting(questions, retriever):
    return [learnt(example) for example in interpretation_examples(Chat(), questions, retriever)]


def test_the_interpretations_are_learnt_in_the_order_of_the_titles():
    retriever = CountingRetriever({STONE.text: [SEA, BEN, ADA]})
    first = interpreting([STONE], retriever)[0]
    assert first == (titles_prompt(STONE.text, ["Sea", "Ben Stone", "Ada Stone"]), f"{BEN_NAMED} | {ADA_NAMED}")


def test_an_interpretation_without_a_page_is_not_learnt():
    cy = Interpretation("When was the singer Cy Stone born?", ("1950",), "Cy_Stone")
    meant = (cy, *STONE.interpretations)
    question = replace(STONE, interpretations=meant, answers=all_answers(meant))
    lines = [line for _, line in interpreting([question], CountingRetriever({STONE.text: [ADA, SEA, BEN]}))]
    assert lines[0] == f"{ADA_NAMED} | {BEN_NAMED}"
    assert not [line for line in lines if "Cy" in line]


@pytest.mark.parametrize(
    ("question", "found", "line"),
    [
        (STONE, [ADA, SEA], ADA_NAMED),
        (STONE, [SEA], STONE.text),
        (STONE, [], STONE.text),
        (of_articles(CAPITAL, "Port_Azure"), [AZURE, ADA, BEN], CAPITAL.text),
        (of_articles(CAPITAL, "Port_Azure"), [ADA, BEN], CAPITAL.text),
    ],
)
def test_what_is_learnt_of_fewer_than_two_interpretations(question, found, line):
    first = interpreting([question], CountingRetriever({question.text: found}))[0]
    assert first[1] == line
    assert first[0] == titles_prompt(question.text, [passage.title for passage in found])


def test_a_title_of_two_pages_is_shown_once_and_means_both():
    pages = [Passage("Ben_Stone_(a)#0", "Stone", "One."), SEA, Passage("Ada_Stone_(b)#0", "Stone", "Another.")]
    question = of_articles(BORN, "Ada_Stone_(b)", "Ben_Stone_(a)")
    first = interpreting([question], CountingRetriever({BORN.text: pages}))[0]
    assert first == (titles_prompt(BORN.text, ["Stone", "Sea"]), f"{BEN_NAMED} | {ADA_NAMED}")


def test_nothing_is_learnt_twice():
    assert len(interpreting([STONE], CountingRetriever({}))) == 1  # no titles, and none to leave out
    assert len(interpreting([STONE, STONE], CountingRetriever({}))) == 1


TITLES = [f"Stone {place}" for place in range(12)]
PAGES = [Passage(f"{title}#0", title, "") for title in TITLES]
# Every second page is one that the question can mean.
MEANT = {title: f"When was {title} born?" for title in TITLES[::2]}


def stone(key):
    meant = tuple(Interpretation(text, ("1801",), title) for title, text in MEANT.items())
    return Question(key, f"When was Stone {key} born?", ("1801",), task=Task.AMBIGUOUS, interpretations=meant)


def titles_and_line(prompt, line):
    (shown,) = (row for row in prompt.splitlines() if row.startswith("Pages found: "))
    return [title for title in shown.removeprefix("Pages found: ").split(" | ") if title], line


@given(st.lists(st.text("abcdefgh", min_size=1), min_size=1, max_size=8, unique=True))
def test_every_copy_learns_what_its_titles_say(keys):
    questions = [stone(key) for key in keys]
    examples = interpreting(questions, CountingRetriever({question.text: PAGES for question in questions}))
    assert len(examples) <= COPIES * len(questions)
    for prompt, written in examples:
        titles, line = titles_and_line(prompt, written)
        itself = prompt.splitlines()[0].removeprefix("Question: ")
        assert len(set(titles)) == len(titles) and set(titles) <= set(TITLES)
        own = [MEANT[title] for title in titles if title in MEANT][:MAX_INTERPRETATIONS]
        assert line == (" | ".join(own) or itself)


def test_copies_are_shuffled_and_a_quarter_is_left_out():
    questions = [stone(str(number)) for number in range(200)]
    retriever = CountingRetriever({question.text: PAGES for question in questions})
    examples = interpreting(questions, retriever)
    shown = [titles_and_line(*example)[0] for example in examples]
    assert len(shown) == COPIES * 200
    assert shown[::COPIES] == [TITLES] * 200
    copies = [titles for i, titles in enumerate(shown) if i % COPIES]
    # 4,800 titles: three standard deviations of the share are 0.019.
    assert sum(map(len, copies)) / (12 * len(copies)) == pytest.approx(0.75, abs=0.02)
    assert sum(titles == sorted(titles, key=TITLES.index) for titles in copies) < 10
    # Each title may come first, and is as often as not before its neighbour.
    assert {titles[0] for titles in copies} == set(TITLES)
    pairs = [titles.index(TITLES[0]) < titles.index(TITLES[1]) for titles in copies if set(TITLES[:2]) <= set(titles)]
    assert sum(pairs) / len(pairs) == pytest.approx(0.5, abs=0.1)
    # The same each time, and whatever other questions there are.
    assert interpreting(questions, retriever) == examples
    assert [one for question in questions for one in interpreting([question], retriever)] == examples


GIVEN = replace(
    STONE,
    text="When was Ada born?",
    interpretations=STONE.interpretations[:1],
    answers=STONE.interpretations[0].answers,
    form=GIVEN_NAME,
)


def test_of_a_given_name_only_the_pages_that_are_meant_are_shown():
    """Ada Stone is a train page, the other Ada could be one of the test questions."""
    other, lovelace = Passage("Ada_Moor#0", "Ada Moor", "A poet."), Passage("Adam#0", "Adam", "A man.")
    retriever = CountingRetriever({GIVEN.text: [other, SEA, ADA, lovelace]})
    assert interpreting([GIVEN], retriever) == [(titles_prompt(GIVEN.text, ["Sea", "Ada Stone", "Adam"]), ADA_NAMED)]


def test_a_given_name_that_no_title_bears_is_left_out():
    assert interpreting([GIVEN], CountingRetriever({GIVEN.text: [SEA, BEN]})) == []


def test_what_is_learnt_is_what_the_interpreter_asks_and_reads():
    retriever = CountingRetriever({STONE.text: [BEN, ADA], CAPITAL.text: [AZURE]})
    questions = [STONE, of_articles(CAPITAL, "Port_Azure")]
    lines = dict(interpreting(questions, retriever))
    born, capital = TitlesInterpreter(WritingGenerator(lines.get), retriever).interpret(questions)
    assert born.interpretations == (BEN_NAMED, ADA_NAMED)
    assert (capital.interpretations, capital.note) == ((CAPITAL.text,), REPEATED)


# Verdicts

ELSEWHERE = Passage("Dyes#0", "Dyes", "The dye is of 1801.")
OTHERS = [Passage(f"Other_{i}#0", f"Other {i}", f"Of other thing {i}.") for i in range(6)]


def judging(pool, count=100, question=STONE):
    """Interpretation, titles of the passages and verdict of each example on one question."""
    candidates = [Candidates(tuple(own.text for own in question.interpretations), (), tuple(pool))]
    return verdicts(verification_examples(Chat(), candidates, [question], count))


def verdicts(examples):
    found = []
    for prompt, reply in map(learnt, examples):
        word = reply.partition(":")[0]
        text, _, asked = prompt.partition("\n\nDoes the text tell the answer to the question below?")
        titles = [line.partition(": ")[0] for line in text.removeprefix("Text:\n").splitlines()]
        found.append((asked.rpartition("Question: ")[2], titles, word))
    return found


def test_a_verdict_needs_the_interpretations_own_page():
    # Ada's answer is on her page; Ben's is nowhere, and what is on other pages is no sign.
    found = judging([ADA, SEA, *OTHERS])
    assert [(asked, word) for asked, _, word in found if word == "yes"] == [(ADA_BORN, "yes")]
    assert not [word for _, _, word in judging([ELSEWHERE, SEA]) if word == "yes"]
    nameless = replace(STONE, interpretations=BORN.interpretations)
    assert not [word for _, _, word in judging([ADA, BEN, SEA], question=nameless) if word == "yes"]


def test_a_verdict_is_asked_as_the_verifier_asks():
    candidates = [Candidates((ADA_BORN, BEN_BORN), (), (ADA,))]
    examples = verification_examples(Chat(), candidates, [STONE], 4)
    assert [learnt(example) for example in examples] == [
        (verification_prompt(as_knowledge([ADA]), ADA_BORN), "yes: 1801"),
        (verification_prompt(as_knowledge([ADA]), BEN_BORN), "no"),
    ]


def test_after_a_yes_stands_the_first_answer_that_the_page_tells():
    meant = replace(STONE.interpretations[0], answers=("year 1801", "1801"))
    question = replace(STONE, interpretations=(meant,), answers=meant.answers)
    candidates = [Candidates((ADA_BORN,), (), (ADA, SEA))]
    examples = verification_examples(Chat(), candidates, [question], 4)
    assert [learnt(example)[1] for example in examples] == ["yes: 1801", "no"]


def worlds(count):
    """Questions on Ada and Ben number i; both pages are found, behind another that has Ada's answer too."""
    questions, candidates = [], []
    for i in range(count):
        ada, ben = f"When was Ada {i} born?", f"When was Ben {i} born?"
        own = [
            Passage(f"Ada_{i}#0", f"Ada {i}", f"Ada {i} was born in 1801."),
            Passage(f"Ada_{i}#1", f"Ada {i}, more", f"Ada {i} made dyes."),
            Passage(f"Ben_{i}#0", f"Ben {i}", f"Ben {i} was born in 1900."),
        ]
        meant = (Interpretation(ada, ("1801",), f"Ada_{i}"), Interpretation(ben, ("1900", "year 1900"), f"Ben_{i}"))
        questions.append(
            Question(f"q{i}", f"When was {i} born?", all_answers(meant), task=Task.AMBIGUOUS, interpretations=meant)
        )
        candidates.append(Candidates((ada, ben), (), (ELSEWHERE, *own, *OTHERS)))
    return questions, candidates


def examples_of(questions, candidates, count):
    return verification_examples(Chat(), candidates, questions, count)


def test_yes_and_no_by_rule():
    found = verdicts(examples_of(*worlds(60), 1000))
    assert [word for _, _, word in found] == ["yes"] * 120 + ["no"] * 120
    texts = {passage.title: passage for of_one in worlds(60)[1] for passage in of_one.pool}
    for asked, titles, word in found:
        answers = ("1801",) if "Ada" in asked else ("1900", "year 1900")
        holding = [title for title in titles if contains_answer(texts[title].text, answers)]
        assert holding == ([asked.removeprefix("When was ").removesuffix(" born?")] if word == "yes" else [])
    for word in ("yes", "no"):
        sizes = [len(titles) for _, titles, own in found if own == word]
        assert set(sizes) == set(SIZES)
        assert 0.25 < sizes.count(1) / len(sizes) < 0.55
    # The passage with the answer has no fixed place.
    assert {
        titles.index(asked.removeprefix("When was ").removesuffix(" born?"))
        for asked, titles, word in found
        if word == "yes" and len(titles) == 3
    } == {0, 1, 2}


def test_now_and_then_the_own_page_is_there_without_the_answer():
    of_ada = [own for own in verdicts(examples_of(*worlds(60), 1000)) if own[2] == "no" and "Ada" in own[0]]
    silent = [titles for _, titles, _ in of_ada if any(title.endswith(", more") for title in titles)]
    assert 0.15 < len(silent) / len(of_ada) < 0.45


@pytest.mark.parametrize("count", [0, 10, 11, 1000])
def test_half_of_the_verdicts_are_yes(count):
    words = [word for _, _, word in verdicts(examples_of(*worlds(20), count))]
    assert words.count("yes") == words.count("no") == min(count // 2, 40)


def test_where_one_kind_is_rarer_both_are():
    questions, candidates = worlds(10)
    few = [replace(own, pool=(SEA,)) for own in candidates[:8]] + candidates[8:]
    words = [word for _, _, word in verdicts(examples_of(questions, few, 1000))]
    assert words == ["yes"] * 4 + ["no"] * 4


def test_the_verdicts_do_not_depend_on_the_order_of_the_questions():
    questions, candidates = worlds(20)
    ahead = examples_of(questions, candidates, 20)
    assert examples_of(questions, candidates, 20) == ahead
    assert examples_of(questions[::-1], candidates[::-1], 20) == ahead
    asked = {int(own.split()[3]) for own, _, _ in verdicts(ahead)}
    assert len(asked) > 5 and asked != set(range(len(asked)))  # drawn, not the first ones


# What is trained on

NAMES = [
    first + last
    for first in ("Ash", "Birch", "Corn", "Dray", "Elm", "Fern")
    for last in ("berg", "croft", "ham", "wick")
]
BY_SPLIT = {split: [name for name in NAMES if split_of(name.casefold()) == split] for split in ("train", "dev", "test")}
PEOPLE = {"Ada": "English chemist (1801–1870)", "Ben": "Welsh painter (1900–1950)"}


class EverythingRetriever:
    """Gives every query all passages there are, those that share most words with it first."""

    name = "everything"

    def __init__(self, passages):
        self.passages = passages

    def retrieve(self, queries, k):
        asked = [set(query.strip("?").split()) for query in queries]
        return [
            [
                Hit(own, 1.0)
                for own in sorted(self.passages, key=lambda p, words=words: -len(words & set(p.text.split())))
            ]
            for words in asked
        ]


def encyclopedia(names):
    """Two people of each name."""
    return [
        Article(f"{first}_{last}", f"{first} {last}", life, f"{first} {last} was born in {life[-10:-6]}.", "People")
        for last in names
        for first, life in PEOPLE.items()
    ]


def trained_sets(articles):
    """The examples that either training hands on, by adapter and split."""
    sets = {}

    def train(lm, train, dev, new_tokens, _, target):
        sets[target] = {"train": train, "dev": dev}
        assert not new_tokens

    pages = [Passage(f"{one.id}#0", one.title, f"{one.extract} {one.title} died.") for one in articles]
    encoder = WordEncoder(*{word.lower() for one in articles for word in one.title.split()})
    setup = FakeSetup(build_ambiguous(articles), EverythingRetriever(pages), WritingGenerator(), encoder=encoder)
    setup.encyclopedia = articles
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "train_adapter", train)
        patch.setattr(training, "LanguageModel", Chat)
        train_interpretation(setup)
        train_verification(setup)
    return sets


@settings(max_examples=15)
@given(st.fixed_dictionaries({split: st.sets(st.sampled_from(own), min_size=1) for split, own in BY_SPLIT.items()}))
def test_no_name_of_another_split_is_asked_or_learnt(names):
    sets = trained_sets(encyclopedia(sorted(name for own in names.values() for name in own)))
    assert set(sets) == {INTERPRETATION, VERIFICATION}
    for target, of_adapter in sets.items():
        for split, examples in of_adapter.items():
            assert examples
            for prompt, line in map(learnt, examples):
                question = prompt.rpartition("Question: ")[2].splitlines()[0]
                asked = f"{question} {line}"
                # One asked for by a given name stands for itself where a copy shows none of its pages.
                itself = line == question and any(
                    f"{first} " in question or f"{first}?" in question for first in PEOPLE
                )
                assert itself or any(name in asked for name in names[split]), (target, asked)
                assert not [name for other, own in names.items() if other != split for name in own if name in asked]
    lines = [line for _, line in map(learnt, sets[INTERPRETATION]["train"])]
    assert max(line.count(" | ") for line in lines) < MAX_INTERPRETATIONS
    # People asked for by their given names are those of the train names alone.
    assert any("Ada " in line and " | " in line and "Ben " not in line for line in lines) == (len(names["train"]) > 1)


@pytest.mark.parametrize(
    ("text", "page", "named"),
    [
        ("When did the playwright Arthur Miller die?", "Arthur_Miller", "When did Arthur Miller die?"),
        (
            "What is the year of death of the comic book writer Stan Lee?",
            "Stan_Lee",
            "What is the year of death of Stan Lee?",
        ),
        ("What was the occupation of Stan Lee?", "Stan_Lee", "What was the occupation of Stan Lee?"),
        ("When did the Holy Roman Emperor Otto I die?", "Otto_I,_Holy_Roman_Emperor", "When did Otto I die?"),
        ("What is the swift in zoology?", "Swift_(bird)", "What is the swift in zoology?"),
        ("Who was King of Siam from 1868 to 1910?", "Chulalongkorn", "Who was the King of Siam called Chulalongkorn?"),
        ("Who has been Leader of China since 2012?", "Xi_Jinping", "Who was the Leader of China called Xi Jinping?"),
        (
            "Who was King of Macedon from 359 to 336 BC?",
            "Philip_II_of_Macedon",
            "Who was the King of Macedon called Philip II of Macedon?",
        ),
    ],
)
def test_an_interpretation_by_the_title_of_its_page(text, page, named):
    assert by_title(Interpretation(text, ("1",), page)) == named
