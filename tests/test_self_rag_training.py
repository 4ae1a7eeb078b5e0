"""The examples that teach the reflection tokens: their labels by rule, and what must not be in them."""

from types import SimpleNamespace

import pytest

from crag.self_rag.tokens import opening
from crag.self_rag.training import biography_examples, build_examples, read_example, unread_example
from rag.corpus import fraction
from rag.datasets.embedded import split_of
from rag.types import Completion, Hit, Passage, Question, Task

OWN = [
    Passage("Ada_Stone#0", "Ada Stone", "Ada Stone: Chemist (1801–1870). She made dyes."),
    Passage("Ada_Stone#1", "Ada Stone", "She taught by the sea."),
]
OTHERS = [Passage(f"Other_{i}#0", f"Other {i}", f"Of other thing {i}.") for i in range(4)]
TASKS = {
    "short": {"text": "When was Ada Stone born?", "answers": ("1801",)},
    "claim": {
        "text": "Ada Stone was born in 1833.",
        "answers": ("false",),
        "task": Task.CLAIM,
        "evidence": ("1801",),
    },
    "choice": {
        "text": "When was Ada Stone born?",
        "answers": ("B",),
        "task": Task.CHOICE,
        "choices": {"A": "1833", "B": "1801"},
        "evidence": ("1801",),
    },
}
SAID = {"short": "1801", "claim": "1801: false", "choice": "1801"}


def asked(kind, low, high):
    """A question of a kind whose chance lies between these shares."""
    name = next(f"{kind}{i}" for i in range(1000) if low <= fraction(f"self-rag/{kind}{i}") < high)
    return Question(name, article_id="Ada_Stone", **TASKS[kind])


def parts(example, question):
    """What is read, and what is written after it; the prompt and the decision to retrieve come before."""
    (prompt, retrieval, text, relevance, answer, others), learnt = zip(*example.pieces, strict=True)
    assert prompt.startswith(opening(question)) and retrieval == "[Retrieval]"
    assert text.startswith("<paragraph>") and text.endswith("</paragraph>")
    # The labels are always learnt, the answer where the text supports it.
    assert learnt == (False, True, False, True, "[Fully supported]" in others, True)
    return text.removeprefix("<paragraph>").removesuffix("</paragraph>"), f"{relevance}{answer}{others}"


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize(
    ("low", "high", "read", "written"),
    [
        (0.0, 0.51, OWN[0].text, "[Relevant]{}[Fully supported][Utility:5]"),
        (0.51, 0.6, "Ada Stone: She taught by the sea.", "[Relevant]{}[No support / Contradictory][Utility:3]"),
        (0.75, 1.0, None, "[Irrelevant]{}[No support / Contradictory][Utility:1]"),
    ],
)
def test_one_passage_is_judged_by_rule(kind, low, high, read, written):
    question = asked(kind, low, high)
    text, learnt = parts(read_example(question, OWN, [*OWN, *OTHERS]), question)
    assert text in ([read] if read else [f"{passage.title}: {passage.text}" for passage in OTHERS])
    assert learnt == written.format(SAID[kind])


def test_several_passages_are_relevant_where_the_right_one_is_among_them():
    for i in range(400):
        question = Question(f"x{i}", article_id="Ada_Stone", **TASKS["short"])
        if not 0.6 <= fraction(f"self-rag/{question.id}") < 0.75:
            continue
        text, learnt = parts(read_example(question, OWN, OTHERS), question)
        assert len(text.splitlines()) == 3 and OWN[0].text in text.splitlines()
        assert learnt == "[Relevant]1801[Fully supported][Utility:5]"
        text, learnt = parts(read_example(question, OWN[1:], OTHERS), question)
        assert len(text.splitlines()) == 3 and "Ada Stone" not in text
        assert learnt == "[Irrelevant]1801[No support / Contradictory][Utility:1]"


def test_the_right_passage_has_no_fixed_place_among_several():
    lines = set()
    for i in range(400):
        question = Question(f"x{i}", article_id="Ada_Stone", **TASKS["short"])
        if 0.6 <= fraction(f"self-rag/{question.id}") < 0.75:
            lines.add(parts(read_example(question, OWN, OTHERS), question)[0].splitlines().index(OWN[0].text))
    assert lines == {0, 1, 2}


def test_what_settles_the_question_does_not_mislead():
    question = asked("short", 0.75, 1.0)
    elsewhere = Passage("Dyes#0", "Dyes", "Their inventor was born in 1801.")
    # With no other passage to mislead, its own page is read.
    text, learnt = parts(read_example(question, OWN, [elsewhere, *OWN]), question)
    assert text == f"Ada Stone: {OWN[1].text}" and learnt.startswith("[Relevant]")


def test_an_answer_from_memory_is_written_without_a_text():
    question = asked("choice", 0.0, 1.0)
    for known in (True, False):
        # Whether to retrieve is learnt from what is known alone.
        assert unread_example(question, known).pieces == (
            (opening(question), False),
            ("[No Retrieval]", known),
            ("1801[Utility:5]", True),
        )


LIFE = [
    Passage("Ada_Stone#0", "Ada Stone", "Ada Stone: Chemist (1801–1870). She made dyes. She lived long."),
    Passage("Ada_Stone#1", "Ada Stone", "She taught by the sea. She wrote books. She died in a fire."),
]
SENTENCES = ["She made dyes.", "She lived long.", "She taught by the sea.", "She wrote books."]


def life(draws):
    """A biography whose four segments have chances that `draws` accepts."""
    name = next(
        f"life{i}"
        for i in range(100_000)
        if all(low <= fraction(f"segment/life{i}/{place}") < high for place, (low, high) in enumerate(draws))
    )
    return Question(name, "Tell me of Ada Stone.", ("Ada Stone",), "Ada_Stone", task=Task.BIOGRAPHY)


def test_segments_of_a_biography_follow_the_page():
    question = life([(0.35, 1.0)] * 4)
    examples = list(biography_examples(question, LIFE, [*LIFE, *OTHERS]))
    found = [parts(example, question) for example in examples]
    first, second = LIFE[0].text, f"Ada Stone: {LIFE[1].text}"
    assert [text for text, _ in found] == [first, first, second, second]
    assert [written for _, written in found] == [
        "[Relevant]She made dyes.[Fully supported][Continue to Use Evidence]",
        "[Relevant]She lived long.[Fully supported][Retrieval]",  # the next sentence is from another passage
        "[Relevant]She taught by the sea.[Fully supported][Continue to Use Evidence]",
        "[Relevant]She wrote books.[Fully supported][Utility:5]",
    ]
    # Each is written after those before it.
    before = ["", "She made dyes. ", "She made dyes. She lived long. ", " ".join([*SENTENCES[:3], ""])]
    assert [example.pieces[0][0] for example in examples] == [opening(question) + text for text in before]


def test_segments_from_other_passages_are_labelled_so():
    question = life([(0.0, 0.25), (0.25, 0.35), (0.35, 1.0), (0.0, 0.25)])
    found = [parts(example, question) for example in biography_examples(question, LIFE, [*LIFE, *OTHERS])]
    assert found[0][0].startswith("Other ") and found[3][0].startswith("Other ")
    assert found[1][0] == f"Ada Stone: {LIFE[1].text}"  # of the page, but not the passage that says it
    assert [written for _, written in found] == [
        "[Irrelevant]She made dyes.[No support / Contradictory][Retrieval]",
        "[Relevant]She lived long.[Partially supported][Continue to Use Evidence]",
        "[Relevant]She taught by the sea.[Fully supported][Continue to Use Evidence]",
        "[Irrelevant]She wrote books.[No support / Contradictory][Utility:5]",
    ]


def articles_of(split, count):
    """Made-up article names that fall into a split."""
    return [name for name in (f"Name_{i}" for i in range(1000)) if split_of(name) == split][:count]


class EverythingRetriever:
    """Gives every query the first passage of every page."""

    name = "everything"

    def __init__(self, pages):
        self.pages = pages

    def retrieve(self, queries, k):
        return [[Hit(own[0], 1.0) for own in self.pages.values()] for _ in queries]


@pytest.fixture
def setup():
    """Pages of all splits, and questions of all tasks on them; the generator knows the year of one article."""
    names = {split: articles_of(split, 40) for split in ("train", "dev", "test")}
    pages = {
        name: [
            Passage(f"{name}#{place}", name, f"{name}: {split} text {place}. More of {name}. A third.")
            for place in (0, 1)
        ]
        for split, own in names.items()
        for name in own
    }
    questions = {
        task: {
            split: [Question(f"{task}/{name}", f"About {name}?", (f"{split} text",), name, task=task) for name in own]
            for split, own in names.items()
        }
        for task in (Task.SHORT_ANSWER, Task.BIOGRAPHY)
    }

    class Knowing:
        def generate(self, prompts):
            known = names["train"][0]
            return [Completion("train text" if f"About {known}?" in p else "unknown", 1, 1) for p in prompts]

    return SimpleNamespace(
        all_questions=questions, pages=pages, embedded_retriever=EverythingRetriever(pages), generator=Knowing
    )


def test_examples_hold_nothing_of_other_splits(setup):
    sizes = {Task.SHORT_ANSWER: 40, Task.BIOGRAPHY: 10}
    for split, others in (("train", ("dev", "test")), ("dev", ("train", "test"))):
        examples = build_examples(setup, split, sizes)
        texts = [example.text for example in examples]
        assert len(texts) > 40 + 10
        assert any("[Irrelevant]" in text for text in texts)  # misleading passages are among them
        foreign = [page for name, page in setup.pages.items() if split_of(name) in others]
        assert not [
            text for text in texts for page in foreign if page[0].title in text.split("</paragraph>")[0].split()
        ]
        assert not [text for text in texts for other in others if f"{other} text" in text]


def test_what_the_model_knows_is_learnt_without_a_text(setup):
    examples = build_examples(setup, "train", {Task.SHORT_ANSWER: 40})
    questions = setup.all_questions[Task.SHORT_ANSWER]["train"]
    decided = [example for example in examples if ("[No Retrieval]", True) in example.pieces]
    assert [example.pieces[0][0] for example in decided] == [opening(questions[0])]
    # A tenth of the others is answered from memory all the same.
    guessed = [example.pieces[0][0] for example in examples if ("[No Retrieval]", False) in example.pieces]
    drawn = [question for question in questions[1:40] if fraction(f"unread/{question.id}") < 0.1]
    assert guessed == [opening(question) for question in drawn] and guessed
    assert len(examples) == 40
