"""What an answer costs: calls of a language model and their tokens, by stage. What the cache holds counts as asked."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from rag.generation import Generator
from rag.types import Completion, NextWords


@dataclass(frozen=True)
class Spent:
    """Calls of a language model, with the tokens of their prompts and of what it wrote, in its own tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


Cost = Mapping[str, Spent]


def spent(replies: Iterable[Completion | NextWords]) -> Spent:
    """What these replies cost. The likelihood of a next word takes one token of output."""
    each = [Spent(1, reply.prompt_tokens, reply.tokens if isinstance(reply, Completion) else 1) for reply in replies]
    return sum(each, Spent())


def total(*costs: Cost) -> dict[str, Spent]:
    """The sum of costs, stage by stage; stages without a call are left out."""
    stages = dict.fromkeys(stage for cost in costs for stage in cost)
    summed = {stage: sum((cost.get(stage, Spent()) for cost in costs), Spent()) for stage in stages}
    return {stage: own for stage, own in summed.items() if own.calls}


def cost_trace(*costs: Cost) -> dict[str, Any]:
    """The sum of costs in JSON values: `calls`, and by stage `cost` as [calls, tokens in, tokens out]."""
    summed = total(*costs)
    return {
        "calls": sum(own.calls for own in summed.values()),
        "cost": {stage: list(astuple(own)) for stage, own in summed.items()},
    }


def generate_each(generator: Generator, prompts: list[list[str]]) -> list[list[Completion]]:
    """A completion of each prompt of each question, all in one call; a question may have no prompt."""
    flat = iter(generator.generate([prompt for own in prompts for prompt in own]))
    return [[next(flat) for _ in own] for own in prompts]
