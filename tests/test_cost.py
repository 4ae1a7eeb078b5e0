"""Costs by stage, by hand."""

from rag.cost import Spent, cost_trace, generate_each, spent, total
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


def test_prompts_of_all_questions_in_one_call(echo):
    replies = generate_each(echo, [["a", "b"], [], ["c"]])
    assert [[reply.text for reply in own] for own in replies] == [["a", "b"], [], ["c"]]
    assert echo.prompts == ["a", "b", "c"]
