"""Self-RAG as a system, and the answering that it shares with Self-CRAG."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crag.actions import Action
from crag.refinement import Strip, recompose
from crag.self_rag.decoding import Continuation, ReflectiveModel, Weights, score
from crag.self_rag.tokens import NO_RETRIEVAL, RETRIEVAL, opening, paragraph
from crag.system import Corrector, Knowledge, Variant
from rag.corpus import titled
from rag.cost import Cost, Spent, cost_by_stage, cost_trace, spent
from rag.retrieval import Retriever
from rag.scoring.text import chosen, normalise, verdict
from rag.types import Answer, Completion, Question, Task


@dataclass(frozen=True)
class Evidence:
    """A text to decode over, and the ids or addresses that it is from."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Decoded:
    """The text that was chosen, what its evidence is from, the scores that chose it, and the cost of all that was written."""

    text: str
    sources: tuple[str, ...]
    trace: dict
    cost: Cost


@dataclass(frozen=True)
class DecodingSettings:
    """`delta` is the threshold of adaptive retrieval; `beam` texts are kept over at most `segments` segments of a biography."""

    max_new_tokens: int
    delta: float = 0.2
    weights: Weights = field(default_factory=Weights)
    segments: int = 7
    beam: int = 2


class ReflectiveReader:
    """Answers questions by decoding over several texts and letting the reflection tokens choose (Self-RAG §3.3)."""

    def __init__(self, model: ReflectiveModel, settings: DecodingSettings):
        self.model = model
        self.settings = settings

    def read(self, questions: list[Question], evidence: Sequence[Sequence[Evidence]]) -> list[Answer]:
        """One answer a question. Where the model wouldn't retrieve, or there is no text, it answers without.

        The retrieval probability is a call, and so is each continuation.
        """
        openings = [opening(question) for question in questions]
        wants = self.model.retrieval_probabilities(openings)
        asked = [Spent(1, size, 1) for size in self.model.prompt_tokens(openings)]
        used = [own if p > self.settings.delta else () for own, p in zip(evidence, wants, strict=True)]
        return [
            Answer(
                question.id,
                own.text,
                own.sources,
                {
                    "retrieval_probability": float(p),
                    **own.trace,
                    **cost_trace({"retrieve or not": first}, own.cost),
                },
            )
            for question, p, first, own in zip(questions, wants, asked, self.decode(questions, used), strict=True)
        ]

    def decode(self, questions: list[Question], evidence: Sequence[Sequence[Evidence]]) -> list[Decoded]:
        """One text a question, over all of its evidence, whether or not the model would retrieve."""
        long = [i for i, question in enumerate(questions) if question.task == Task.BIOGRAPHY]
        short = [i for i, question in enumerate(questions) if question.task != Task.BIOGRAPHY]
        decoded: dict[int, Decoded] = {}
        for part, decode in ((short, self._short), (long, self._long)):
            found = decode([questions[i] for i in part], [evidence[i] for i in part])
            decoded |= dict(zip(part, found, strict=True))
        return [decoded[i] for i in range(len(questions))]

    def _short(self, questions: list[Question], evidence: list[Sequence[Evidence]]) -> list[Decoded]:
        """One continuation a text. Open questions take the best one's text, closed ones the answer whose scores sum highest."""
        prompts = [_prompts(question, "", own) for question, own in zip(questions, evidence, strict=True)]
        written = self._continue(prompts, segment=False)
        return [self._choose(*of_one) for of_one in zip(questions, evidence, written, strict=True)]

    def _choose(self, question: Question, evidence: Sequence[Evidence], written: list[Continuation]) -> Decoded:
        scores = [score(continuation, self.settings.weights) for continuation in written]
        totals: dict[str, float] = defaultdict(float)
        for i, continuation in enumerate(written):
            totals[_answer_key(question, continuation.text, i)] += scores[i]
        best_key = max(totals, key=totals.get)
        place = max(
            (i for i, c in enumerate(written) if _answer_key(question, c.text, i) == best_key), key=scores.__getitem__
        )
        sources = evidence[place].sources if evidence else ()
        trace = {"scores": [round(value, 4) for value in scores]}
        return Decoded(written[place].text, sources, trace, {"continue": spent(written)})

    def _long(self, questions: list[Question], evidence: list[Sequence[Evidence]]) -> list[Decoded]:
        """A beam over segments: each kept text goes on after each piece of evidence; a child's score multiplies its parent's.

        A text ends when the model ends it, or would say a segment again or nothing.
        """
        beams = [[Draft()] for _ in questions]
        costs = [Spent() for _ in questions]
        for _ in range(self.settings.segments):
            open_drafts = [(i, draft) for i, own in enumerate(beams) for draft in own if not draft.ended]
            prompts = [_prompts(questions[i], draft.text, evidence[i]) for i, draft in open_drafts]
            children: dict[int, list[Draft]] = {
                i: [draft for draft in own if draft.ended] for i, own in enumerate(beams)
            }
            for (i, draft), written in zip(open_drafts, self._continue(prompts, segment=True), strict=True):
                costs[i] += spent(written)
                for place, continuation in enumerate(written):
                    sources = evidence[i][place].sources if evidence[i] else ()
                    children[i].append(draft.grown(continuation, sources, score(continuation, self.settings.weights)))
            # A draft that ends after several pieces of evidence would fill the beam with copies of itself.
            beams = [
                sorted(dict.fromkeys(children[i]), key=lambda draft: -draft.score)[: self.settings.beam]
                for i in range(len(questions))
            ]
        best = [max(own, key=lambda draft: draft.score) for own in beams]
        return [
            Decoded(
                draft.text, tuple(dict.fromkeys(draft.sources)), {"score": round(draft.score, 4)}, {"continue": cost}
            )
            for draft, cost in zip(best, costs, strict=True)
        ]

    def _continue(self, prompts: list[list[str]], segment: bool) -> list[list[Continuation]]:
        """All prompts of all questions as one batch."""
        flat = iter(
            self.model.continue_texts([p for own in prompts for p in own], self.settings.max_new_tokens, segment)
        )
        return [[next(flat) for _ in own] for own in prompts]


@dataclass(frozen=True)
class Draft:
    """A long answer as far as it is written."""

    segments: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    score: float = 1.0
    ended: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.segments)

    def grown(self, continuation: Continuation, sources: tuple[str, ...], value: float) -> "Draft":
        """The draft with one more segment."""
        if not continuation.text or continuation.text in self.segments:
            return Draft(self.segments, self.sources, self.score, ended=True)
        return Draft(
            (*self.segments, continuation.text), self.sources + sources, self.score * value, ended=continuation.ended
        )


def _prompts(question: Question, before: str, evidence: Sequence[Evidence]) -> list[str]:
    """The prompts after what is already written: one a piece of evidence, or one without."""
    start = opening(question) + (f"{before} " if before else "")
    if not evidence:
        return [start + NO_RETRIEVAL]
    return [start + RETRIEVAL + paragraph(piece.text) for piece in evidence]


def _answer_key(question: Question, text: str, place: int) -> str:
    """What makes two answers the same: for closed questions the verdict or choice; open ones are each their own."""
    if question.task == Task.CLAIM:
        return verdict(text) or normalise(text)
    if question.task == Task.CHOICE:
        return chosen(text, question.choices) or normalise(text)
    return str(place)


class OneTextReader:
    """The reflective model as a plain reader: it always reads the one text it is given. For standard RAG and CRAG on the model of
    Self-RAG, as the paper compares them.

    The tokens of an answer are the sums over all continuations: a biography takes several and still counts as one call.
    """

    def __init__(self, model: ReflectiveModel, settings: DecodingSettings):
        self.reader = ReflectiveReader(model, settings)

    def read(self, questions: list[Question], knowledge: list[str]) -> list[Completion]:
        decoded = self.reader.decode(questions, [[Evidence(known, ())] if known else [] for known in knowledge])
        costs = [sum(own.cost.values(), Spent()) for own in decoded]
        return [Completion(own.text, c.tokens_in, c.tokens_out) for own, c in zip(decoded, costs, strict=True)]


class SelfRag:
    """Retrieve, decode after each passage, choose by the reflection tokens."""

    name = "self-rag"

    def __init__(self, retriever: Retriever, reader: ReflectiveReader, top_k: int):
        self.retriever = retriever
        self.reader = reader
        self.top_k = top_k

    def answer(self, questions: list[Question]) -> list[Answer]:
        retrieved = self.retriever.retrieve([question.text for question in questions], self.top_k)
        evidence = [
            [Evidence(titled(hit.passage.title, hit.passage.text), (hit.passage.id,)) for hit in hits]
            for hits in retrieved
        ]
        return self.reader.read(questions, evidence)


class SelfCrag:
    """Self-RAG over corrected knowledge.

    By default it decodes over the knowledge of the action: internal, external, or for Ambiguous each of the two (CRAG
    appendix B.3). With `all_texts` it is the released code's version: every question is taken as Ambiguous, whatever the
    evaluator says of its passages, and decoded over internal, external and both together.
    """

    def __init__(
        self, corrector: Corrector, reader: ReflectiveReader, variant: Variant | None = None, all_texts: bool = False
    ):
        self.corrector = corrector
        self.reader = reader
        self.variant = variant or Variant("self-crag")
        if all_texts:
            self.variant = replace(self.variant, instead=dict.fromkeys(Action, Action.AMBIGUOUS))
        self.all_texts = all_texts
        self.name = self.variant.name

    def answer(self, questions: list[Question]) -> list[Answer]:
        knowledge = self.corrector.correct(questions, self.variant)
        answers = self.reader.read(questions, [self._evidence(known) for known in knowledge])
        return [
            Answer(
                answer.question_id,
                answer.text,
                answer.contexts,
                {**known.trace, "decoding": answer.trace, **cost_trace(known.cost, cost_by_stage(answer.trace))},
            )
            for answer, known in zip(answers, knowledge, strict=True)
        ]

    def _evidence(self, known: Knowledge) -> list[Evidence]:
        # Passages that were not refined stay apart, as Self-RAG has them.
        inside = [known.internal] if self.variant.refine else [[strip] for strip in known.internal]
        texts = [*inside, known.external, *([known.strips] if self.all_texts else [])]
        return [as_evidence(strips) for strips in texts if strips]


def as_evidence(strips: Sequence[Strip]) -> Evidence:
    """Strips as one text."""
    return Evidence(recompose(strips), tuple(dict.fromkeys(strip.source for strip in strips)))
