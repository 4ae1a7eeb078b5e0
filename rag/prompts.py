"""The prompts that all systems share: one instruction a task, with or without a text to read."""

from rag.types import Question, Task

CLOSED_BOOK = {
    Task.SHORT_ANSWER: "Answer the question with a few words only, without explanation.",
    Task.BIOGRAPHY: "Write a short biography in a few plain sentences.",
    Task.CLAIM: "Say whether the statement is true or false. Answer with one word: true or false.",
    Task.CHOICE: "Choose the right answer to the question. Answer with the text of one choice.",
    Task.AMBIGUOUS: "Answer the question for every meaning that it can have: one sentence each, all on one line.",
}
OPEN_BOOK = {
    Task.SHORT_ANSWER: "Read the text, then answer the question with a few words taken from it, without explanation.",
    Task.BIOGRAPHY: "Read the text, then write a short biography in a few plain sentences taken from it.",
    Task.CLAIM: "Read the text, then say whether the statement is true or false. Answer with one word: true or false.",
    Task.CHOICE: "Read the text, then choose the right answer to the question. Answer with the text of one choice.",
    Task.AMBIGUOUS: (
        "Read the text, then answer the question for every meaning that it can have: one sentence each, all on one line."
    ),
}


def asked(question: Question) -> str:
    """The question as a prompt shows it: a claim is a statement, choices stand below their question."""
    kind = "Statement" if question.task == Task.CLAIM else "Question"
    choices = "".join(f"\n{label}: {text}" for label, text in question.choices.items())
    return f"{kind}: {question.text}{choices}"


def task_prompt(task: Task, asked: str, knowledge: str) -> str:
    """A task's instruction above what is asked, with the text to read between them where there is one."""
    if not knowledge:
        return f"{CLOSED_BOOK[task]}\n\n{asked}"
    return f"{OPEN_BOOK[task]}\n\nText:\n{knowledge}\n\n{asked}"


def answer_prompt(question: Question, knowledge: str) -> str:
    """Ask for an answer from the given text, or from the model's own knowledge where there is no text."""
    return task_prompt(question.task, asked(question), knowledge)
