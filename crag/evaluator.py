"""The retrieval evaluator: how relevant is a text to a question, in [-1, 1] (CRAG §4.2)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from crag.pairs import Pair
from rag.cache import Cache
from rag.encoding import Encoder
from rag.errors import RagError
from rag.scoring.text import normalise

SCORING_BATCH = 32
# Scores are rounded so that the last bits, which vary with the shape of a batch, can't move a decision.
DECIMALS = 4


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
