"""Chain-of-Verification, factored (Dhuliawala et al. 2023): a baseline without retrieval that checks its own draft."""

import re

from rag.cost import cost_trace, generate_each, spent
from rag.generation import Generator
from rag.prompts import CLOSED_BOOK, asked, task_prompt
from rag.systems import GeneratorReader
from rag.types import Answer, Question, Task

MAX_CHECKS = 3
MIN_CHECK_WORDS = 3
MAX_CHECK_CHARS = 200

# What to do comes last: asked in front, small models go on with the draft instead.
PLAN_PROMPT = """{asked}
Draft answer: {draft}

Ask up to three short questions, numbered and on one line, whose answers would show whether the draft answer is right. \
Write only the questions."""

REVISION_PROMPT = """{asked}
Draft answer: {draft}

{checks}

Keep the draft answer where these checks agree with it, and correct it where they don't. {instruction}"""


class ChainOfVerification:
    """Draft, plan questions that verify the draft, answer each without seeing the draft, revise.

    The draft is the closed-book answer. `planner` plans and answers the verification questions; it needs room for a line
    of three questions. Where no question comes out of the plan, the draft stands and the trace shows no checks.
    """

    name = "cove"

    def __init__(self, reader: GeneratorReader, planner: Generator):
        self.reader = reader
        self.planner = planner

    def answer(self, questions: list[Question]) -> list[Answer]:
        drafts = self.reader.read(questions, [""] * len(questions))
        plans = self.planner.generate([plan_prompt(q, own.text) for q, own in zip(questions, drafts, strict=True)])
        planned = [planned_checks(plan.text) for plan in plans]
        prompts = [[task_prompt(Task.SHORT_ANSWER, f"Question: {check}", "") for check in own] for own in planned]
        found = generate_each(self.planner, prompts)
        checks = [
            [(check, result.text) for check, result in zip(own, results, strict=True)]
            for own, results in zip(planned, found, strict=True)
        ]
        revisions = generate_each(
            self.reader.generator,
            [
                [revision_prompt(question, draft.text, own)] if own else []
                for question, draft, own in zip(questions, drafts, checks, strict=True)
            ],
        )
        answers = []
        for i, question in enumerate(questions):
            (last,) = revisions[i] or [drafts[i]]
            cost = {
                "draft": spent([drafts[i]]),
                "plan": spent([plans[i]]),
                "check": spent(found[i]),
                "revise": spent(revisions[i]),
            }
            trace = {"draft": drafts[i].text, "checks": [list(check) for check in checks[i]], **cost_trace(cost)}
            answers.append(Answer(question.id, last.text, trace=trace))
        return answers


def plan_prompt(question: Question, draft: str) -> str:
    """Ask for the verification questions, on one line since completions end at a newline."""
    return PLAN_PROMPT.format(asked=asked(question), draft=draft)


def planned_checks(plan: str) -> list[str]:
    """At most three different questions of a plan, with or without numbers; what is no question is passed over."""
    pieces = re.split(r"(?:^|\s)(?:\d{1,2}[).:]|[-*•])\s+", plan)
    found = [" ".join(text.split()) for piece in pieces for text in re.findall(r"[^?]+\?", piece)]
    fit = [text for text in found if len(text.split()) >= MIN_CHECK_WORDS and len(text) <= MAX_CHECK_CHARS]
    return list(dict.fromkeys(fit))[:MAX_CHECKS]


def revision_prompt(question: Question, draft: str, checks: list[tuple[str, str]]) -> str:
    """Ask for the final answer in the form that the task takes."""
    lines = "\n".join(f"Check: {check}\nResult: {result}" for check, result in checks)
    return REVISION_PROMPT.format(
        instruction=CLOSED_BOOK[question.task], asked=asked(question), draft=draft, checks=lines
    )
