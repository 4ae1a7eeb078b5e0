"""Decoding with reflection tokens (Self-RAG §3.3): what the model writes after a text, and how it judges it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from crag.self_rag.tokens import RELEVANCE_GROUP, RETRIEVE_GROUP, SEGMENT_ENDS, SUPPORT_GROUP, UTILITY, without_tokens
from rag.cache import Cache
from rag.errors import RagError
from rag.generation import LanguageModel
from rag.types import Completion

# Rounded so that the last bits, which vary with the shape of a batch, can't change which text is best.
DECIMALS = 4
UTILITY_VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0)
SUPPORT_VALUES = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Weights:
    """Weights of the three judgements in a continuation's score (Self-RAG's defaults)."""

    relevance: float = 1.0
    support: float = 1.0
    utility: float = 0.5


@dataclass(frozen=True)
class Continuation(Completion):
    """What the model wrote after a prompt, its text without reflection tokens, and how it judged.

    `mean_logprob` is of all new tokens, the end token among them. `relevance` are the shares of the group's tokens in the
    probability of the group at the first position, `support` and `utility` those at the first position where a token
    of that group was written; empty if none was. `ended` says that no segment follows: the model ended the answer, or
    it ran to the limit of new tokens.
    """

    mean_logprob: float
    relevance: tuple[float, ...]
    support: tuple[float, ...]
    utility: tuple[float, ...]
    ended: bool


def score(continuation: Continuation, weights: Weights) -> float:
    """exp(mean log-probability) + w_rel·s_rel + w_sup·s_sup + w_use·s_use (Self-RAG §3.3, eq. 3 and 4).

    s_rel is the share of [Relevant] in its group, s_sup that of full support plus half of that of partial support, s_use
    the mean of -1, -0.5, 0, 0.5, 1 by the shares of the five utilities; support or utility that was not written counts 0.
    """
    return (
        float(np.exp(continuation.mean_logprob))
        + weights.relevance * _expected(continuation.relevance, (1.0, 0.0))
        + weights.support * _expected(continuation.support, SUPPORT_VALUES)
        + weights.utility * _expected(continuation.utility, UTILITY_VALUES)
    )


def _expected(shares: Sequence[float], values: Sequence[float]) -> float:
    return sum(share * value for share, value in zip(shares, values, strict=True)) if shares else 0.0


class ReflectiveModel:
    """A language model that knows the reflection tokens. Raises `RagError` for one that doesn't."""

    def __init__(self, lm: LanguageModel, cache: Cache, batch_size: int = 16):
        self.lm = lm
        self.cache = cache
        self.batch_size = batch_size

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The ids of reflection tokens."""
        tokenizer = self.lm.loaded[0]
        found = tokenizer.convert_tokens_to_ids(list(tokens))
        if missing := [t for t, i in zip(tokens, found, strict=True) if i is None or i == tokenizer.unk_token_id]:
            raise RagError(
                f"model {self.lm.identity['model']} has no token {missing[0]}: it was not trained for Self-RAG"
            )
        return found

    def prompt_tokens(self, prompts: list[str]) -> list[int]:
        """The size of each prompt in the model's tokens. Kept, so that what is known needs no model."""

        def compute(missing: list[str]) -> list[int]:
            return [len(ids) for ids in self.lm.token_ids([self.lm.plain(prompt) for prompt in missing], 1)]

        return self.cache.map({"stage": "prompt tokens", **self.lm.identity}, prompts, compute)

    def retrieval_probabilities(self, prompts: list[str]) -> np.ndarray:
        """P(retrieve) / (P(retrieve) + P(don't)) as the first token after each prompt, shape (len(prompts),).

        Probabilities, not their logarithms: those have another ratio (Self-RAG §3.3, adaptive retrieval).
        """

        def compute(missing: list[str]) -> list[float]:
            import torch

            yes, no, _ = self.ids(RETRIEVE_GROUP)
            model = self.lm.loaded[1]
            found = np.zeros(len(missing))
            texts = [self.lm.plain(prompt) for prompt in missing]
            for batch, inputs in self.lm.batches(texts, self.batch_size, 1):
                # generate() derives positions from the padding; a plain forward pass does not.
                positions = (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
                with torch.inference_mode():
                    logits = model(**inputs, position_ids=positions, logits_to_keep=1).logits[:, -1].float()
                found[batch] = torch.sigmoid(logits[:, yes] - logits[:, no]).cpu().numpy()
            return found.round(DECIMALS).tolist()

        return np.array(self.cache.map({"stage": "retrieve or not", **self.lm.identity}, prompts, compute))

    def continue_texts(self, prompts: list[str], max_new_tokens: int, segment: bool = False) -> list[Continuation]:
        """A greedy continuation of each prompt: the whole answer, or one `segment` of it."""

        def compute(missing: list[str]) -> list[dict]:
            return [asdict(continuation) for continuation in self._continue(missing, max_new_tokens, segment)]

        stage = {"stage": "continue", **self.lm.identity, "max_new_tokens": max_new_tokens, "segment": segment}
        return [
            Continuation(**{name: tuple(v) if isinstance(v, list) else v for name, v in value.items()})
            for value in self.cache.map(stage, prompts, compute)
        ]

    def _continue(self, prompts: list[str], max_new_tokens: int, segment: bool) -> list[Continuation]:
        import torch

        tokenizer, model = self.lm.loaded
        groups = {name: self.ids(own) for name, own in GROUPS.items()}
        ends = self.ids(SEGMENT_ENDS) if segment else []
        done: dict[int, Continuation] = {}
        texts = [self.lm.plain(prompt) for prompt in prompts]
        for batch, inputs in self.lm.batches(texts, self.batch_size, max_new_tokens):
            with torch.inference_mode():
                output = model.generate(
                    **inputs,
                    max_new_tokens=max_new_tokens,
                    do_sample=False,
                    eos_token_id=[tokenizer.eos_token_id, *ends],
                    pad_token_id=tokenizer.eos_token_id,
                    output_scores=True,
                    return_dict_in_generate=True,
                )
            new = output.sequences[:, inputs["input_ids"].shape[1] :].cpu()
            logprobs = torch.stack(output.scores, dim=1).float().log_softmax(dim=-1).cpu()
            asked = inputs["attention_mask"].sum(dim=1).tolist()
            for row, i in enumerate(batch):
                own = _until_end(new[row].tolist(), {tokenizer.eos_token_id, *ends})
                chances = logprobs[row, : len(own)]
                text = tokenizer.decode([t for t in own if t not in ends and t != tokenizer.eos_token_id])
                done[i] = Continuation(
                    text=without_tokens(text),
                    prompt_tokens=asked[row],
                    tokens=len(own),
                    mean_logprob=round(chances[range(len(own)), own].mean().item(), DECIMALS),
                    relevance=_shares(chances[0], groups["relevance"]),
                    support=_first_shares(own, chances, groups["support"]),
                    utility=_first_shares(own, chances, groups["utility"]),
                    ended=own[-1] not in ends,
                )
        return [done[i] for i in range(len(prompts))]


GROUPS = {"relevance": RELEVANCE_GROUP, "support": SUPPORT_GROUP, "utility": UTILITY}


def _until_end(tokens: list[int], ends: set[int]) -> list[int]:
    """Tokens up to and with the first end; what follows is padding."""
    return next((tokens[: i + 1] for i, token in enumerate(tokens) if token in ends), tokens)


def _shares(logprobs, group: list[int]) -> tuple[float, ...]:
    """The probabilities of the group's tokens over their sum, however small that is."""
    return tuple(logprobs[group].double().softmax(dim=-1).numpy().round(DECIMALS).tolist())


def _first_shares(tokens: list[int], logprobs, group: list[int]) -> tuple[float, ...]:
    """The group's shares where one of its tokens first stands."""
    place = next((i for i, token in enumerate(tokens) if token in group), None)
    return () if place is None else _shares(logprobs[place], group)
