"""The prompts that all systems share."""


def closed_book(question: str) -> str:
    """Ask for a short answer from the model's own knowledge."""
    return f"Answer the question with a few words only, without explanation.\n\nQuestion: {question}"


def open_book(question: str, knowledge: str) -> str:
    """Ask for a short answer from the given text."""
    return (
        "Read the text, then answer the question with a few words taken from it, without explanation.\n\n"
        f"Text:\n{knowledge}\n\nQuestion: {question}"
    )


def answer_prompt(question: str, knowledge: str) -> str:
    """The open-book prompt, or the closed-book one where there is no knowledge."""
    return open_book(question, knowledge) if knowledge else closed_book(question)
