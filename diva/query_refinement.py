"""Query refinement: a baseline that DIVA is compared with."""

from diva.generation import answer_directly
from diva.parsing import first_line
from diva.pruning import KEEP
from rag.cost import cost_trace, spent
from rag.generation import Generator
from rag.prompts import asked
from rag.retrieval import Retriever
from rag.systems import as_knowledge
from rag.types import Answer, Question

LABELS = ("query", "search query", "rewritten query", "rewrite")
QUOTES = " \t\"'“”‘’`"


class QueryRefinement:
    """The question is rewritten once, and standard RAG answers it from what the rewritten query finds."""

    name = "query-refinement"

    def __init__(self, rewriter: Generator, retriever: Retriever, generator: Generator, top_k: int = KEEP):
        self.rewriter = rewriter
        self.retriever = retriever
        self.generator = generator
        self.top_k = top_k

    def answer(self, questions: list[Question]) -> list[Answer]:
        rewrites = self.rewriter.generate([refinement_prompt(question) for question in questions])
        queries = [parse_query(completion.text) for completion in rewrites]
        retrieved = self.retriever.retrieve(
            [query or question.text for query, question in zip(queries, questions, strict=True)], self.top_k
        )
        contexts = [[hit.passage for hit in hits] for hits in retrieved]
        written = answer_directly(self.generator, questions, [as_knowledge(passages) for passages in contexts])
        return [
            Answer(
                question.id,
                own.text,
                tuple(passage.id for passage in passages),
                {
                    "query": query or question.text,
                    "rewriting": None if query else "nothing was written: the question itself was searched for",
                    **own.trace,
                    **cost_trace({"refine": spent([rewrite])}, own.cost),
                },
            )
            for question, query, passages, rewrite, own in zip(
                questions, queries, contexts, rewrites, written, strict=True
            )
        ]


def refinement_prompt(question: Question) -> str:
    """Ask for one search query."""
    return (
        "Rewrite the question as one search query that finds the pages which answer it, in all that it can mean. "
        f"Write only the query, don't answer.\n\n{asked(question)}\nQuery:"
    )


def parse_query(text: str) -> str:
    """The query in a completion: its first line without label and quotes."""
    line = first_line(text).strip(QUOTES)
    label, colon, rest = line.partition(":")
    return (rest if colon and label.lower().strip() in LABELS else line).strip(QUOTES)
