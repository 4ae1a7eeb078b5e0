"""FActScore: the share of an answer's atomic facts that its entity's own article supports (Min et al. 2023; CRAG §5.1).

An answer is split into atomic facts; each is judged against the five passages of the entity's page that are nearest to
it. The score of an answer is the share of its facts that are supported, times a penalty below ten facts. The paper's
FActScore is the mean over the answers that say something: an abstention (a refusal, or no fact at all) has no score
(NaN) and is counted apart. Two things here are stricter than the published tool: a fact that is repeated counts once,
or a text that repeats itself would evade the penalty, and an unfinished last sentence is not counted.

A number is comparable only between systems under one splitter and one judge; `agreement` says how good the judge is.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rag.corpus import sentences
from rag.encoding import Encoder
from rag.errors import RagError
from rag.generation import Generator
from rag.prompts import task_prompt
from rag.retrieval import indexed_text
from rag.scoring.significance import estimate
from rag.scoring.text import normalise
from rag.systems import as_knowledge
from rag.types import Answer, Passage, Question, Task

GAMMA = 10
EVIDENCE_PASSAGES = 5
# More from one sentence is a generator running on.
MAX_FACTS_PER_SENTENCE = 8

REFUSAL = re.compile(
    r"\b(?:I(?: am|['’]m) (?:sorry|unable|not (?:able|sure|aware|familiar))|as an AI|(?:no|not enough) information|"
    r"I (?:(?:do|can|could|have) ?not|(?:do|ca|could|have)n['’]t) (?:know|find|have|provide|write|tell|give|recall|any))\b",
    re.IGNORECASE,
)
# Finite in every use: "published" and the like may be the rest of a passive.
VERB = (
    r"(?:was|were|is|are|has|had|became|died|wrote|won|served|worked|studied|moved|lived|went|began|joined|graduated|"
    r"retired|attended|received)\b"
)
COORDINATION = re.compile(rf"(?:;|,? (?:and|but))(?: (?:he|she))? (?=(?:(?:later|then|also|eventually) )?{VERB})")
SUBORDINATION = re.compile(r"\b(?:who|whom|whose|which|that|where|when|while|because|if|after|before)\b")


class FactSplitter(Protocol):
    """Anything that splits texts into atomic facts. `identity` holds all that the facts depend on but the text."""

    identity: Mapping[str, Any]

    def split(self, texts: list[str], entities: list[str]) -> list[list[str]]:
        """For each text, which is about the entity of that place, its facts in order, each a sentence of its own."""


class FactJudge(Protocol):
    """Anything that judges facts by passages. `identity` holds all that its verdicts depend on but these."""

    identity: Mapping[str, Any]

    def judge(self, facts: list[str], evidence: list[list[Passage]]) -> np.ndarray:
        """Whether each fact is supported by its passages: bool, shape (len(facts),)."""


def whole_sentences(text: str) -> list[str]:
    """The sentences of a generated text, without a last one that was cut off, unless it is all there is."""
    parts = sentences(text)
    return parts[:-1] if len(parts) > 1 and not re.search(r"[.!?][\"'”’)\]]*$", parts[-1]) else parts


def name_subject(sentence: str, entity: str) -> str:
    """The sentence with the entity's name in place of a pronoun that opens it: a fact must be clear by itself."""
    sentence = re.sub(r"^(?:He|She)(?= )", lambda _: entity, sentence)
    return re.sub(r"^(?:His|Her)(?= )", lambda _: f"{entity}'s", sentence)


def clauses(sentence: str, entity: str) -> list[str]:
    """The sentence cut before coordinated verbs, each part with the subject before it.

    Cut only where that is safe: the subject is the entity by full or last name, and no subordinate clause has begun.
    """
    names = re.sub(r" \([^()]*\)$", "", entity).split()
    start = re.match(rf"(.+?) (?:\([^()]*\) )?(?={VERB})", sentence)
    subject = start[1].split() if start else []
    if not subject or subject[0] not in (names[0], names[-1]) or subject[-1] != names[-1]:
        return [sentence]
    cuts = [m for m in COORDINATION.finditer(sentence) if not SUBORDINATION.search(sentence[: m.start()])]
    ends = [*(cut.start() for cut in cuts), len(sentence)]
    parts = [sentence[begin:end] for begin, end in zip([0, *(cut.end() for cut in cuts)], ends, strict=True)]
    whole = [parts[0], *(f"{start[1]} {part}" for part in parts[1:])]
    return [f"{part.rstrip(' .;,')}." for part in whole] if cuts else [sentence]


def distinct(facts: Sequence[str]) -> list[str]:
    """The facts that say something, each once, in order."""
    by_text: dict[str, str] = {}
    for fact in facts:
        by_text.setdefault(normalise(fact), fact)
    return [fact for text, fact in by_text.items() if text]


class RuleSplitter:
    """Sentences, cut at coordinated verbs: coarser than the paper's facts, but it needs no model and invents nothing."""

    identity = {"splitter": "rules"}

    def split(self, texts: list[str], entities: list[str]) -> list[list[str]]:
        return [
            distinct([part for line in whole_sentences(text) for part in clauses(name_subject(line, entity), entity)])
            for text, entity in zip(texts, entities, strict=True)
        ]


SPLIT_PROMPT = """Break the sentence into short facts. Each fact is a sentence that can be understood by itself. \
Write them on one line with | between them.

Sentence: Mara Quill was a Welsh potter, born in 1920, who made blue bowls.
Facts: Mara Quill was Welsh. | Mara Quill was a potter. | Mara Quill was born in 1920. | Mara Quill made blue bowls.

Sentence: In 1950 Jon Harrow moved to Oslo and opened a bakery there.
Facts: Jon Harrow moved to Oslo. | Jon Harrow moved to Oslo in 1950. | Jon Harrow opened a bakery in Oslo.

Sentence: Lena Brook's songs were praised by critics.
Facts: Lena Brook wrote songs. | Lena Brook's songs were praised by critics.

Sentence: {sentence}
Facts:"""


class GeneratorSplitter:
    """A generator that splits sentence by sentence, as in the paper. A sentence that it gives no fact for is kept whole.

    It takes a capable model: the embedded one copies the examples, so its answers are split by rule.
    """

    def __init__(self, generator: Generator):
        self.generator = generator
        self.identity = {"splitter": "generator", **generator.identity}

    def split(self, texts: list[str], entities: list[str]) -> list[list[str]]:
        lines = [
            [name_subject(line, entity) for line in whole_sentences(text)]
            for text, entity in zip(texts, entities, strict=True)
        ]
        prompts = [SPLIT_PROMPT.format(sentence=line) for own in lines for line in own]
        written = iter(self.generator.generate(prompts))
        return [
            distinct([fact for line in own for fact in listed_facts(next(written).text) or [line]]) for own in lines
        ]


def listed_facts(text: str) -> list[str]:
    """The facts on a line, between bars; the prompt's last word may be repeated before them."""
    return distinct([part.strip() for part in text.removeprefix("Facts:").split("|")])[:MAX_FACTS_PER_SENTENCE]


class GeneratorJudge:
    """A generator asked whether a fact is true by its passages (the prompt of claims), judged by likelihood."""

    def __init__(self, generator: Generator):
        self.generator = generator
        self.identity = {"judge": "generator", **generator.identity}

    def judge(self, facts: list[str], evidence: list[list[Passage]]) -> np.ndarray:
        prompts = [
            task_prompt(Task.CLAIM, f"Statement: {fact}", as_knowledge(passages))
            for fact, passages in zip(facts, evidence, strict=True)
        ]
        chances = self.generator.next_word_probabilities(prompts, ["true", "false"])
        if silent := [fact for fact, both in zip(facts, chances, strict=True) if not both.sum() > 0]:
            raise RagError(f"the judge finds neither true nor false likely for {silent[0]!r}: take another model")
        return chances[:, 0] > chances[:, 1]


class ScoreJudge:
    """A fact is supported if the best score of it with one of its passages reaches the cut.

    `score` takes all pairs of a fact and a passage at once and gives an array of their number.
    """

    def __init__(
        self, score: Callable[[list[tuple[str, Passage]]], np.ndarray], cut: float, identity: Mapping[str, Any]
    ):
        self.score = score
        self.cut = cut
        self.identity = {"judge": "score", "cut": cut, **identity}

    def judge(self, facts: list[str], evidence: list[list[Passage]]) -> np.ndarray:
        pairs = [(fact, passage) for fact, own in zip(facts, evidence, strict=True) for passage in own]
        scores = np.asarray(self.score(pairs), dtype=float)
        if scores.shape != (len(pairs),) or np.isnan(scores).any():
            raise RagError(f"judge {self.identity} gave {scores.shape} scores, or a NaN, for {len(pairs)} pairs")
        ends = np.cumsum([len(own) for own in evidence], dtype=int)
        return np.array(
            [own.max(initial=-np.inf) >= self.cut for own in np.split(scores, ends)[: len(facts)]], dtype=bool
        )


def choose_evidence(facts: list[str], pages: list[list[Passage]], encoder: Encoder) -> list[list[Passage]]:
    """For each fact the five passages of its page that are most similar to it, in the page's order; a page of up to five
    is taken whole. All long pages are encoded in one call."""
    long = [i for i, page in enumerate(pages) if len(page) > EVIDENCE_PASSAGES]
    texts = list(dict.fromkeys(text for i in long for text in [facts[i], *map(indexed_text, pages[i])]))
    vectors = dict(zip(texts, encoder.encode(texts) if texts else [], strict=True))
    evidence = list(pages)
    for i in long:
        similarity = [float(vectors[facts[i]] @ vectors[indexed_text(passage)]) for passage in pages[i]]
        best = sorted(range(len(similarity)), key=lambda place: (-similarity[place], place))[:EVIDENCE_PASSAGES]
        evidence[i] = [pages[i][place] for place in sorted(best)]
    return evidence


def length_penalty(facts: int) -> float:
    """exp(1 - 10/n) for an answer of n facts, n >= 1; 1 from ten facts on (Min et al. 2023)."""
    return min(1.0, math.exp(1 - GAMMA / facts))


def abstains(text: str) -> bool:
    """Whether an answer begins with a refusal."""
    return bool(REFUSAL.search((sentences(text) or [""])[0]))


class FactScorer:
    """FActScore of biographies, as a `Scorer` of `rag.experiment`.

    `pages` maps an article id to its passages. A question that names no article is looked up by its entity, with
    underscores as in a Wikipedia address. Raises `RagError` where there is no such page.
    """

    def __init__(self, splitter: FactSplitter, judge: FactJudge, pages: Mapping[str, list[Passage]], encoder: Encoder):
        self.splitter = splitter
        self.judge = judge
        self.pages = pages
        self.encoder = encoder
        self.identity = {**splitter.identity, **judge.identity, "gamma": GAMMA, "evidence": EVIDENCE_PASSAGES}

    def __call__(self, questions: list[Question], answers: list[Answer]) -> list[dict[str, float]]:
        """For each answer `factscore`, `precision` (without the length penalty), `facts` (their number), `abstained` (0
        or 1); an abstention's scores are NaN."""
        pages = [self._page(question) for question in questions]
        texts = ["" if abstains(answer.text) else answer.text for answer in answers]
        facts = self.splitter.split(texts, [question.answers[0] for question in questions])
        flat = [fact for own in facts for fact in own]
        page_of_each = [page for page, own in zip(pages, facts, strict=True) for _ in own]
        supported = iter(self.judge.judge(flat, choose_evidence(flat, page_of_each, self.encoder)))
        return [self._score([bool(next(supported)) for _ in own]) for own in facts]

    def _page(self, question: Question) -> list[Passage]:
        if question.task != Task.BIOGRAPHY:
            raise RagError(f"question {question.id!r} is of task {question.task}: FActScore is for biographies")
        article_id = question.article_id or question.answers[0].replace(" ", "_")
        if not self.pages.get(article_id):
            raise RagError(f"no page {article_id!r} to check {question.id!r} by: add its passages to the collection")
        return self.pages[article_id]

    @staticmethod
    def _score(supported: list[bool]) -> dict[str, float]:
        if not supported:
            return {"factscore": math.nan, "precision": math.nan, "facts": 0, "abstained": 1}
        precision = sum(supported) / len(supported)
        score = precision * length_penalty(len(supported))
        return {"factscore": score, "precision": precision, "facts": len(supported), "abstained": 0}


def agreement(
    judge: FactJudge, claims: list[Question], evidence: list[list[Passage]], samples: int, seed: int
) -> dict[str, float]:
    """How often a judge is right on claims whose truth is known: accuracy with its interval, and the shares of claims that
    are true (`true`) and that it calls true (`judged_true`). Goes with every FActScore of a local judge."""
    if not claims or any(claim.task != Task.CLAIM for claim in claims):
        raise RagError("a judge is tested on claims that are true or false: give it at least one, and no other task's")
    gold = np.array([claim.answers[0] == "true" for claim in claims])
    judged = judge.judge([claim.text for claim in claims], evidence)
    return {**estimate(judged == gold, samples, seed), "true": gold.mean(), "judged_true": judged.mean()}
