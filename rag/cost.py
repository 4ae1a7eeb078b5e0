"""What an answer costs: calls of a language model and their tokens, by stage. What the cache holds counts as asked."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rag.errors import RagError
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


def cost_by_stage(trace: Mapping[str, Any]) -> dict[str, Spent]:
    """The cost in a trace that `cost_trace` wrote to; empty where the trace has none."""
    return {stage: Spent(*own) for stage, own in trace.get("cost", {}).items()}


def spent_by(trace: Mapping[str, Any]) -> Spent:
    """The sum over the stages of a trace; zero where the trace has no cost."""
    return sum(cost_by_stage(trace).values(), Spent())


@cache
def load_prices() -> dict[str, dict[str, float]]:
    """US dollars per million tokens by model, `input` and `output`, from `prices.yaml` beside this module."""
    return yaml.safe_load(Path(__file__).with_name("prices.yaml").read_text(encoding="utf-8"))


def usd(spent: Spent, model: str) -> float:
    """What this costs at a model's list price, in US dollars. Raises `RagError` for a model without a price."""
    prices = load_prices()
    if model not in prices:
        raise RagError(f"there is no price of model {model!r}: choose one of {', '.join(prices)}")
    price = prices[model]
    return (spent.tokens_in * price["input"] + spent.tokens_out * price["output"]) / 1_000_000


def generate_each(generator: Generator, prompts: list[list[str]]) -> list[list[Completion]]:
    """A completion of each prompt of each question, all in one call; a question may have no prompt."""
    flat = iter(generator.generate([prompt for own in prompts for prompt in own]))
    return [[next(flat) for _ in own] for own in prompts]
