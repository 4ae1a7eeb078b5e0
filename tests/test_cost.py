"""Costs by stage and in US dollars, by hand."""

import pytest

from rag.cost import Spent, cost_by_stage, cost_trace, generate_each, load_prices, spent, spent_by, total, usd
from rag.errors import RagError
from rag.types import Completion, NextWords


def test_spent():
    replies = [Completion("a", 10, 3), Completion("b", 20, 4), NextWords((0.5, 0.1), 7)]
    assert spent(replies) == Spent(3, 37, 8)
    assert spent([]) == Spent(0, 0, 0)


def test_total_adds_stage_by_stage_and_leaves_out_what_was_not_called():
    summed = total({"a": Spent(1, 2, 3), "b": Spent()}, {}, {"a": Spent(1, 10, 20), "c": Spent(2, 1, 1)})
    assert summed == {"a": Spent(2, 12, 23), "c": Spent(2, 1, 1)}
    assert cost_trace(summed, {"a": Spent(1, 1, 1)}) == {"calls": 5, "cost": {"a": [3, 13, 24], "c": [2, 1, 1]}}
    assert cost_trace() == {"calls": 0, "cost": {}}


def test_a_trace_gives_its_cost_back():
    trace = {"action": "correct", "calls": 5, "cost": {"a": [3, 13, 24], "c": [2, 1, 1]}}
    assert cost_by_stage(trace) == {"a": Spent(3, 13, 24), "c": Spent(2, 1, 1)}
    assert spent_by(trace) == Spent(5, 14, 25)
    for without in ({}, {"action": "correct"}, {"calls": 0, "cost": {}}):
        assert cost_by_stage(without) == {} and spent_by(without) == Spent(0, 0, 0)


@pytest.mark.parametrize(
    ("model", "million_in", "million_out"),
    [("gpt-3.5-turbo-0125", 0.5, 1.5), ("gpt-4-0613", 30, 60), ("gpt-4o-2024-08-06", 2.5, 10)],
)
def test_list_prices(model, million_in, million_out):
    assert usd(Spent(7, 1_000_000, 0), model) == million_in
    assert usd(Spent(1, 0, 1_000_000), model) == million_out
    # 1,500 tokens in and 200 out, whatever the number of calls.
    assert usd(Spent(9, 1_500, 200), model) == pytest.approx(0.0015 * million_in + 0.0002 * million_out)
    assert usd(Spent(), model) == 0


def test_a_model_without_a_price_is_refused_by_the_known_ones():
    assert list(load_prices()) == ["gpt-3.5-turbo-0125", "gpt-4-0613", "gpt-4o-2024-08-06"]
    known = "gpt-3.5-turbo-0125, gpt-4-0613, gpt-4o-2024-08-06"
    with pytest.raises(RagError, match=f"^there is no price of model 'llama': choose one of {known}$"):
        usd(Spent(1, 1, 1), "llama")


def test_prompts_of_all_questions_in_one_call(echo):
    replies = generate_each(echo, [["a", "b"], [], ["c"]])
    assert [[reply.text for reply in own] for own in replies] == [["a", "b"], [], ["c"]]
    assert echo.prompts == ["a", "b", "c"]
