"""Chain-of-Verification on a scripted generator: what each stage is asked, and what becomes of the draft."""

import pytest

from rag.cove import ChainOfVerification, plan_prompt, planned_checks, revision_prompt
from rag.prompts import CLOSED_BOOK, answer_prompt
from rag.systems import ClosedBook, GeneratorReader
from rag.types import Completion, Question, Task

SHORT = Question("s", "When was Ada Stone born?", ("1801",))
CLAIM = Question("t", "Ada Stone was a nun.", ("false",), task=Task.CLAIM)
CHOICE = Question("c", "What was Ada Stone?", ("B",), task=Task.CHOICE, choices={"A": "a nun", "B": "a chemist"})
BIOGRAPHY = Question("b", "Tell me of Ada Stone.", ("Ada Stone",), task=Task.BIOGRAPHY)
QUESTIONS = [SHORT, CLAIM, CHOICE, BIOGRAPHY]
PLANS = {
    "s": "1) In what year was Ada Stone born? 2) How old was Ada Stone in 1850?",
    "t": "1) What did Ada Stone do for a living?",
    "c": "There is nothing to check.",
    "b": "",
}


class Scripted:
    """Drafts by question, plans by question, "re:" and the check for a check, "new" for a revision; tokens are words.
    Keeps its calls."""

    identity = {"model": "scripted"}

    def __init__(self):
        self.calls = []

    def generate(self, prompts):
        self.calls.append(list(prompts))
        texts = [self.write(prompt) for prompt in prompts]
        return [Completion(t, len(p.split()), len(t.split())) for p, t in zip(prompts, texts, strict=True)]

    def write(self, prompt):
        for question in QUESTIONS:
            draft = f"draft {question.id}"
            if prompt == answer_prompt(question, ""):
                return draft
            if prompt == plan_prompt(question, draft):
                return PLANS[question.id]
            if "\nResult: " in prompt and f"Draft answer: {draft}\n" in prompt:
                return f"new {question.id}"
        return f"re: {prompt.splitlines()[-1].removeprefix('Question: ')}"


def run(questions):
    reading, planning = Scripted(), Scripted()
    return ChainOfVerification(GeneratorReader(reading), planning).answer(questions), reading, planning


def test_the_four_stages_are_one_call_each():
    answers, reading, planning = run(QUESTIONS)
    born, age, living = planned_checks(PLANS["s"]) + planned_checks(PLANS["t"])
    assert reading.calls[0] == [answer_prompt(question, "") for question in QUESTIONS]
    assert planning.calls == [
        [plan_prompt(question, f"draft {question.id}") for question in QUESTIONS],
        # Factored: each check on its own, with neither the draft nor the others in sight.
        [answer_prompt(Question("x", check, ("x",)), "") for check in (born, age, living)],
    ]
    assert reading.calls[1] == [
        revision_prompt(SHORT, "draft s", [(born, f"re: {born}"), (age, f"re: {age}")]),
        revision_prompt(CLAIM, "draft t", [(living, f"re: {living}")]),
    ]
    assert len(reading.calls) == 2
    assert [(answer.question_id, answer.text, answer.contexts) for answer in answers] == [
        ("s", "new s", ()),
        ("t", "new t", ()),
        ("c", "draft c", ()),
        ("b", "draft b", ()),
    ]
    checks = [[born, f"re: {born}"], [age, f"re: {age}"]]
    assert [answers[0].trace[key] for key in ("draft", "checks")] == ["draft s", checks]
    assert [answers[2].trace[key] for key in ("draft", "checks")] == ["draft c", []]


def test_the_cost_is_by_stage():
    short, _, choice, _ = run(QUESTIONS)[0]
    assert short.trace["calls"] == 5 and choice.trace["calls"] == 2
    assert short.trace["cost"] == {
        # Ten words of instruction, six of the question with its label.
        "draft": [1, 16, 2],
        # The question, the draft with its label and 25 words of instruction. The checks are numbered.
        "plan": [1, 6 + 4 + 25, 16],
        # The instruction, and a check of seven words with its label. The result is the check behind "re:".
        "check": [2, 2 * (10 + 8), 2 * 8],
        # The question, the draft, each check and its result with their labels, and instructions of 16 and ten words.
        "revise": [1, 6 + 4 + 2 * (8 + 9) + 16 + 10, 2],
    }
    # What has no checks is not revised, and nothing is charged for it.
    assert choice.trace["cost"].keys() == {"draft", "plan"}


def test_the_draft_is_the_closed_book_answer():
    answers, _, _ = run(QUESTIONS)
    closed = ClosedBook(GeneratorReader(Scripted())).answer(QUESTIONS)
    assert [answer.trace["draft"] for answer in answers] == [answer.text for answer in closed]


def test_answers_do_not_depend_on_the_batch():
    together = run(QUESTIONS)[0]
    assert together == [run([question])[0][0] for question in QUESTIONS]
    assert together[::-1] == run(QUESTIONS[::-1])[0]
    assert run([])[0] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_prompts_hold_question_and_draft_and_ask_in_the_form_of_the_task(question):
    prompt = revision_prompt(question, "one {draft}", [("Who is it?", "Ada")])
    assert prompt.endswith(CLOSED_BOOK[question.task])
    assert "Check: Who is it?\nResult: Ada\n" in prompt
    for each in (prompt, plan_prompt(question, "one {draft}")):
        assert question.text in each and "Draft answer: one {draft}\n" in each
        assert all(f"{label}: {text}" in each for label, text in question.choices.items())


@pytest.mark.parametrize(
    ("plan", "checks"),
    [
        ("1) Who was it? 2) Where was it?", ["Who was it?", "Where was it?"]),
        ("1. Was J. R. Stone born in 1900? 2. Is it so?", ["Was J. R. Stone born in 1900?", "Is it so?"]),
        ("Who was it? Where was it?", ["Who was it?", "Where was it?"]),
        ("- Who was it?\n* Where  was it?", ["Who was it?", "Where was it?"]),
        ("Here they are: 1) Who was it? That is all.", ["Who was it?"]),
        ("1) Who was it? 2) Who was it? 3) Where was it?", ["Who was it?", "Where was it?"]),
        ("1) a b c? 2) d e f? 3) g h i? 4) j k l?", ["a b c?", "d e f?", "g h i?"]),
        ("1984 was written by whom?", ["1984 was written by whom?"]),
        ("1) Who? 2) ??? 3) It is fine.", []),
        (f"1) {'very ' * 60}long? 2) Who was it?", ["Who was it?"]),
        ("1) Who was it? 2) Where was", ["Who was it?"]),
        ("", []),
    ],
)
def test_planned_checks(plan, checks):
    assert planned_checks(plan) == checks
