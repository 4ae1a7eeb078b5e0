"""Diversify, verify, adapt (DIVA) as a system, one batch a stage."""

from collections.abc import Sequence
from dataclasses import dataclass

from diva.diversification import TOP_K, Candidates, Kept, diversify, fit, keep_best, keep_first
from diva.generation import Writer, Written, answer_directly
from diva.interpretation import MAX_INTERPRETATIONS, Interpreted, Interpreter
from diva.pruning import KEEP
from diva.verification import Usefulness, Verified, Verifier
from rag.cost import cost_trace
from rag.encoding import Encoder
from rag.errors import RagError
from rag.generation import Generator
from rag.retrieval import Retriever
from rag.systems import Correction, Corrective, as_knowledge
from rag.types import Answer, Question


@dataclass(frozen=True)
class Variant:
    """A version of the method, as data; the default is the method itself.

    `top_k` passages are retrieved for each interpretation, at most `pool` of them go on and `keep` are read. The paper
    leaves the first two open: by default nothing is cut before pruning. Without `diversify` each question is its own only
    interpretation. Without `prune` the first passages of the interpretations are kept in turn. Without `verify` whatever
    passages there are count as useful. Without `adapt` the passages are read by the prompt of standard RAG, whatever the
    verdict.
    """

    name: str = "diva"
    diversify: bool = True
    prune: bool = True
    verify: bool = True
    adapt: bool = True
    top_k: int = TOP_K
    pool: int = TOP_K * MAX_INTERPRETATIONS
    keep: int = KEEP

    def __post_init__(self):
        if self.top_k < 1 or not 1 <= self.keep <= self.pool:
            raise RagError(
                f"variant {self.name!r}: top_k is {self.top_k}, keep {self.keep} and pool {self.pool}; "
                "they are at least 1 and keep is at most pool"
            )


ABLATIONS = [
    Variant("diva without diversification", diversify=False),
    Variant("diva without adaptation", verify=False, adapt=False),
    Variant("diva without pruning", prune=False),
    Variant("diva without verification", verify=False),
]
"""One step removed. Without adaptation no verdict is used, so none is asked for."""


@dataclass(frozen=True)
class Known:
    """What a question is answered from, ready for the prompt. `cut` lines of the correction didn't fit."""

    text: str
    contexts: tuple[str, ...]
    cut: int = 0


class Diva:
    """Diversify retrieval, keep the best passages, verify, answer from them or from the model alone.

    Passages that are useless aren't read. With a `corrective`, questions whose passages are useless or partially useful
    get its knowledge: behind the passages, or in place of useless ones. Of a context over `max_context_words` the last
    passages, and the last lines of the correction, are dropped, and the trace says which.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        retriever: Retriever,
        encoder: Encoder,
        verifier: Verifier,
        writer: Writer,
        generator: Generator,
        variant: Variant | None = None,
        corrective: Corrective | None = None,
        max_context_words: int | None = None,
    ):
        self.interpreter = interpreter
        self.retriever = retriever
        self.encoder = encoder
        self.verifier = verifier
        self.writer = writer
        self.generator = generator
        self.variant = variant or Variant()
        self.corrective = corrective
        self.max_context_words = max_context_words
        self.name = self.variant.name

    def answer(self, questions: list[Question]) -> list[Answer]:
        interpreted = self._interpret(questions)
        texts = [own.interpretations for own in interpreted]
        candidates = diversify(texts, self.retriever, self.variant.top_k, self.variant.pool)
        kept = self._keep(candidates)
        verified = self._verify(candidates, kept)
        corrections = self._correct(questions, verified)
        known = [self._known(*of_one) for of_one in zip(kept, verified, corrections, strict=True)]
        written = self._write(questions, texts, known)
        traces = map(_trace, interpreted, candidates, kept, verified, corrections, known, written)
        return [
            Answer(question.id, own.text, read.contexts, trace)
            for question, own, read, trace in zip(questions, written, known, traces, strict=True)
        ]

    def _interpret(self, questions: list[Question]) -> list[Interpreted]:
        if self.variant.diversify:
            return self.interpreter.interpret(questions)
        return [Interpreted((question.text,)) for question in questions]

    def _keep(self, candidates: list[Candidates]) -> list[Kept]:
        if self.variant.prune:
            kept = keep_best(candidates, self.encoder, self.variant.keep)
        else:
            kept = keep_first(candidates, self.variant.keep)
        return [fit(own, self.max_context_words) for own in kept]

    def _verify(self, candidates: list[Candidates], kept: list[Kept]) -> list[Verified]:
        if self.variant.verify:
            return self.verifier.verify(candidates, kept)
        return [Verified(Usefulness.USEFUL if own.passages else Usefulness.USELESS) for own in kept]

    def _correct(self, questions: list[Question], verified: list[Verified]) -> list[Correction | None]:
        if self.corrective is None:
            return [None] * len(questions)
        lacking = [i for i, own in enumerate(verified) if own.usefulness != Usefulness.USEFUL]
        found = dict(zip(lacking, self.corrective.correct([questions[i] for i in lacking]), strict=True))
        return [found.get(i) for i in range(len(questions))]

    def _known(self, kept: Kept, verified: Verified, correction: Correction | None) -> Known:
        useless = self.variant.adapt and verified.usefulness == Usefulness.USELESS
        passages = [] if useless else list(kept.passages)
        text = as_knowledge(passages)
        lines = [line for line in correction.text.splitlines() if line.strip()] if correction else []
        fitting = lines.copy()
        if self.max_context_words is not None:
            while fitting and len(" ".join([text, *fitting]).split()) > self.max_context_words:
                fitting.pop()
        sources = correction.sources if fitting else ()
        contexts = tuple(dict.fromkeys([*(passage.id for passage in passages), *sources]))
        return Known("\n".join(filter(None, [text, *fitting])), contexts, len(lines) - len(fitting))

    def _write(
        self, questions: list[Question], interpretations: Sequence[Sequence[str]], known: list[Known]
    ) -> list[Written]:
        reading = [i for i, own in enumerate(known) if own.text and self.variant.adapt]
        direct = [i for i in range(len(questions)) if i not in reading]
        written = self.writer.write(
            [questions[i] for i in reading], [interpretations[i] for i in reading], [known[i].text for i in reading]
        )
        answered = answer_directly(self.generator, [questions[i] for i in direct], [known[i].text for i in direct])
        by_place = dict(zip([*reading, *direct], [*written, *answered], strict=True))
        return [by_place[i] for i in range(len(questions))]


def _trace(
    interpreted: Interpreted,
    candidates: Candidates,
    kept: Kept,
    verified: Verified,
    correction: Correction | None,
    known: Known,
    written: Written,
) -> dict:
    """All that happened but the texts of passages, in JSON values."""
    scores: Sequence[float | None] = kept.scores or [None] * len(kept.passages)
    return {
        **interpreted.trace,
        "hits": [[hit.passage.id for hit in hits] for hits in candidates.hits],
        "pool": len(candidates.pool),
        "kept": [[passage.id, score] for passage, score in zip(kept.passages, scores, strict=True)],
        "dropped": [passage.id for passage in kept.dropped],
        **verified.trace,
        "correction": {**correction.trace, "cut_lines": known.cut} if correction else None,
        **written.trace,
        **cost_trace(interpreted.cost, verified.cost, correction.cost if correction else {}, written.cost),
    }
