"""The retrieval evaluator: how relevant is a text to a question, in [-1, 1] (CRAG §4.2)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from crag.pairs import Pair
from rag.cache import Cache
from rag.encoding import Encoder, texts_digest
from rag.errors import RagError
from rag.generation import Generator
from rag.scoring.text import normalise

SCORING_BATCH = 32
# Scores are rounded so that the last bits, which vary with the shape of a batch, can't move a decision.
DECIMALS = 4
REASONING_TOKENS = 60


class Evaluator(Protocol):
    """Anything that judges pairs. `identity` holds all that its scores depend on but the pair."""

    identity: Mapping[str, Any]

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Scores in [-1, 1], shape (len(pairs),); above 0 means rather relevant."""


def checked(scores: np.ndarray, pairs: Sequence[Pair], name: str) -> np.ndarray:
    """Return the scores rounded, or raise `RagError` on a wrong number of scores, a NaN or one outside [-1, 1]."""
    scores = np.asarray(scores, dtype=float)
    if scores.shape != (len(pairs),):
        raise RagError(f"evaluator {name} gave {scores.shape} scores for {len(pairs)} pairs")
    if bad := [i for i, score in enumerate(scores) if not -1 <= score <= 1]:
        raise RagError(
            f"evaluator {name} gave {scores[bad[0]]} for the pair {pairs[bad[0]].question!r}: not in [-1, 1]"
        )
    return scores.round(DECIMALS)


class LexicalEvaluator:
    """Share of the question's words that the text holds, mapped from [0, 1] to [-1, 1]. A baseline without training."""

    identity = {"evaluator": "lexical"}

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        def overlap(pair: Pair) -> float:
            asked = set(normalise(pair.question).split())
            return 2 * len(asked & set(normalise(pair.document).split())) / max(len(asked), 1) - 1

        return checked(np.array([overlap(pair) for pair in pairs]), pairs, "lexical")


class CosineEvaluator:
    """Cosine of the frozen sentence embeddings of question and text. A baseline without training."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.identity = {"evaluator": "cosine", "encoder": encoder.name}

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        if not pairs:
            return np.zeros(0)
        questions = self.encoder.encode([pair.question for pair in pairs])
        documents = self.encoder.encode([pair.document for pair in pairs])
        return checked(np.clip((questions * documents).sum(axis=1), -1, 1), pairs, "cosine")


class FineTunedEvaluator:
    """A transformer with a one-logit head, fine-tuned on ±1 labels (T5 in the paper, MiniLM here).

    `folder` is what `crag.training.train` made. The logit z was trained with the logistic loss; the score is
    2 · sigmoid(z) - 1 = tanh(z / 2). Question and text are one input sequence pair, cut to `max_tokens` at the text's end.
    """

    def __init__(self, folder: Path, max_tokens: int):
        if not (folder / "config.json").is_file():
            raise RagError(f"evaluator folder {folder} holds no model: run notebook 02_evaluator, which trains one")
        self.folder = folder
        self.max_tokens = max_tokens
        self.identity = {"evaluator": folder.name, "max_tokens": max_tokens}

    @cached_property
    def _loaded(self):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        model = AutoModelForSequenceClassification.from_pretrained(self.folder).eval()
        return AutoTokenizer.from_pretrained(self.folder), model.to("cuda" if torch.cuda.is_available() else "cpu")

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        import torch

        tokenizer, model = self._loaded
        scores = np.zeros(len(pairs))
        # Batches of like length waste the least on padding.
        order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i].question) + len(pairs[i].document), i))
        for start in range(0, len(order), SCORING_BATCH):
            batch = order[start : start + SCORING_BATCH]
            inputs = encode_pairs(tokenizer, [pairs[i] for i in batch], self.max_tokens).to(model.device)
            with torch.inference_mode():
                scores[batch] = torch.tanh(model(**inputs).logits[:, 0].float() / 2).cpu().numpy()
        return checked(scores, pairs, self.folder.name)


def encode_pairs(tokenizer, pairs: Sequence[Pair], max_tokens: int):
    """Pairs as a padded batch of token ids: the one place where a model's input is made, in training and in use."""
    return tokenizer(
        [pair.question for pair in pairs],
        [pair.document for pair in pairs],
        truncation="only_second",
        max_length=max_tokens,
        padding=True,
        return_tensors="pt",
    )


class JudgeStyle(StrEnum):
    """How a language model is asked whether a document answers a question (the judges of CRAG Table 4)."""

    PLAIN = "plain"
    STEP_BY_STEP = "step-by-step"
    FEW_SHOT = "few-shot"


VERDICT = (
    "Decide whether the document holds the information that is needed to answer the question. "
    "Reply with one word: yes or no."
)
REASONING = (
    "Think step by step: what does the question ask for, and does the document tell it? "
    "Give your reasoning in one or two short sentences on one line, without answering the question."
)
# (question, document, verdict), invented.
SHOTS = (
    (
        "In which town was the glassblower Odo Fenwick born?",
        "Odo Fenwick: Odo Fenwick was a glassblower. He was born in Harlow Bridge, where his father kept a mill.",
        "yes",
    ),
    (
        "Who designed the Marrow Lighthouse?",
        "Marrow Lighthouse: The lighthouse stands on a cliff and is 31 metres tall. It was lit for the first time in 1866.",
        "no",
    ),
    (
        "What language is spoken on the island of Tervo?",
        "Sundal: Sundal is a harbour town from which ferries leave for Tervo twice a day. It has a fish market.",
        "no",
    ),
    (
        "Which river flows through Calden?",
        "Calden: Calden is a market town that lies on both banks of the Wenna. A stone bridge joins its two halves.",
        "yes",
    ),
)


def shown(question: str, document: str) -> str:
    """A question and a document as every prompt of the judge shows them."""
    return f"Document: {document}\nQuestion: {question}"


def reasoning_prompt(pair: Pair) -> str:
    """Ask for the reasoning that comes before a verdict."""
    return f"{REASONING}\n\n{shown(pair.question, pair.document)}\nReasoning:"


def verdict_prompt(pair: Pair, shots: Sequence[tuple[str, str, str]] = (), reasoning: str | None = None) -> str:
    """Ask for a yes or no, after examples or after the model's own reasoning where there are any."""
    examples = [f"{shown(question, document)}\nAnswer: {verdict}" for question, document, verdict in shots]
    thought = "" if reasoning is None else f"\nReasoning: {reasoning}"
    return "\n\n".join([VERDICT, *examples, f"{shown(pair.question, pair.document)}{thought}\nAnswer:"])


class LlmEvaluator:
    """A language model asked whether the text holds the answer, scored by its likelihood of yes against no.

    With p = P(yes) / (P(yes) + P(no)) for the next word, the score is 2p - 1: no reply is parsed, and no word that only
    begins like "no" counts. Step by step takes two batched calls: the reasoning, as long as the generator writes it
    (`REASONING_TOKENS` are enough), then the verdict after it.
    """

    def __init__(self, generator: Generator, style: JudgeStyle):
        self.generator = generator
        self.style = style
        blank = Pair("", "", "")
        wording = texts_digest(reasoning_prompt(blank), verdict_prompt(blank, SHOTS, ""))
        self.identity = {"evaluator": f"llm-{style}", "prompts": wording, "generator": generator.identity}

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        chances = self.generator.next_word_probabilities(self._prompts(pairs), ("yes", "no"))
        sums = chances.sum(axis=1)
        if silent := [i for i, total in enumerate(sums) if not total > 0]:
            raise RagError(
                f"{self.generator.identity['model']} says neither yes nor no of the pair "
                f"{pairs[silent[0]].question!r}: take a model that follows instructions"
            )
        return checked(2 * chances[:, 0] / sums - 1, pairs, self.identity["evaluator"])

    def _prompts(self, pairs: Sequence[Pair]) -> list[str]:
        if self.style == JudgeStyle.STEP_BY_STEP:
            reasons = self.generator.generate([reasoning_prompt(pair) for pair in pairs])
            return [verdict_prompt(pair, reasoning=own.text) for pair, own in zip(pairs, reasons, strict=True)]
        return [verdict_prompt(pair, SHOTS if self.style == JudgeStyle.FEW_SHOT else ()) for pair in pairs]


class CachedEvaluator:
    """An evaluator that never scores the same pair twice."""

    def __init__(self, evaluator: Evaluator, cache: Cache):
        self.evaluator = evaluator
        self.cache = cache
        self.identity = evaluator.identity

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        def compute(items: list[list[str]]) -> list[float]:
            return self.evaluator.score([Pair(*item) for item in items]).tolist()

        items = [[pair.question, pair.title, pair.text] for pair in pairs]
        return np.array(self.cache.map({"stage": "evaluate", **self.identity}, items, compute), dtype=float)
