"""The tree of clarifications: how it grows, where it stops, and what it answers from."""

import json
import re

import pytest
from diva_fakes import (
    ADA,
    ADA_BORN,
    BEN,
    BEN_BORN,
    BORN,
    CAPITAL,
    SEA,
    CountingRetriever,
    WordEncoder,
    WritingGenerator,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from diva.clarifications import (
    Expansion,
    GeneratorExpander,
    Limits,
    PerInterpretationExpander,
    TreeOfClarifications,
    expansion_prompt,
)
from diva.generation import consolidation_prompt
from diva.interpretation import Interpreted
from diva.parsing import Pair
from rag.errors import RagError
from rag.prompts import answer_prompt
from rag.systems import as_knowledge
from rag.types import Question

ROOT = Question("root", "Who is x?", ("x",))
TABLE = {ROOT.text: [SEA], BORN.text: [SEA, BEN, ADA], CAPITAL.text: [SEA]}


def make_tree(write, limits=None, table=None, **more):
    generator = WritingGenerator(write)
    tree = TreeOfClarifications(
        GeneratorExpander(generator),
        CountingRetriever(TABLE if table is None else table),
        WordEncoder("chemist", "painter"),
        generator,
        limits=limits,
        **more,
    )
    return tree, generator


class Growing:
    """Writes so many new pairs for each expansion, by how deep the question lies; the depth is in the question."""

    def __init__(self, widths):
        self.widths = widths
        self.count = 0

    def __call__(self, prompt):
        if "clearer questions" not in prompt:
            return "the end"
        asked = re.search(r"^Question: (.*)$", prompt, re.M)[1]
        depth = int(found[1]) if (found := re.search(r"depth (\d)", asked)) else 0
        pairs = []
        for _ in range(self.widths[depth]):
            self.count += 1
            pairs.append(f"Who is number {self.count} of depth {depth + 1}? -> answer {self.count}")
        return " | ".join(pairs)


def grown(widths, limits=None):
    """The trace of a tree that gets so many pairs an expansion at each depth, and the number of its calls."""
    tree, generator = make_tree(Growing(widths), limits)
    (answer,) = tree.answer([ROOT])
    assert answer.trace["calls"] == len(generator.prompts) == answer.trace["expansions"] + 1
    return answer.trace


def test_the_queue_is_breadth_first_and_ends_at_ten_nodes():
    trace = grown([3, 3, 3])
    # The root's three, then three of each of the first two, then one more place.
    assert [depth for _, _, depth in trace["nodes"]] == [1] * 3 + [2] * 7
    assert (trace["expansions"], trace["restarts"]) == (4, 0)
    assert [question for question, _, _ in trace["nodes"][:4]] == [
        "Who is number 1 of depth 1?",
        "Who is number 2 of depth 1?",
        "Who is number 3 of depth 1?",
        "Who is number 4 of depth 2?",
    ]


def test_nodes_of_depth_three_are_not_expanded_and_an_empty_queue_restarts():
    trace = grown([1, 1, 1])
    # A chain of three, three times, and the tenth node after the third restart.
    assert [depth for _, _, depth in trace["nodes"]] == [1, 2, 3] * 3 + [1]
    assert (trace["expansions"], trace["restarts"]) == (10, 3)


def test_three_restarts_at_most():
    # A node at the root each time, which then gives nothing: root and node, four times.
    trace = grown([1, 0])
    assert [depth for _, _, depth in trace["nodes"]] == [1] * 4
    assert (trace["expansions"], trace["restarts"]) == (8, 3)


def test_fifteen_expansions_at_most():
    trace = grown([3, 0], Limits(nodes=100, restarts=100))
    # Each pass is the root and its three nodes; the fourth pass is cut after its third expansion.
    assert (trace["expansions"], trace["restarts"], len(trace["nodes"])) == (15, 3, 12)
    assert Limits() == Limits(nodes=10, depth=3, restarts=3, expansions=15, top_k=5)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 4), min_size=9, max_size=9))
def test_the_limits_hold_however_it_grows(widths):
    trace = grown(widths)
    assert len(trace["nodes"]) <= 10 and trace["expansions"] <= 15 and trace["restarts"] <= 3
    assert all(1 <= depth <= 3 for _, _, depth in trace["nodes"])
    if widths[0] == 0:
        # The same question again under greedy decoding would give the same nothing.
        assert (trace["expansions"], trace["restarts"], trace["nodes"]) == (1, 0, [])


def test_a_restart_asks_for_others_and_one_that_repeats_itself_is_not_asked():
    tree, generator = make_tree(lambda prompt: "the end" if "clearer" not in prompt else f"{ADA_BORN} -> 1801")
    (answer,) = tree.answer([BORN])
    # Root; its child, which repeats itself; the restart with the pair shown, which brings nothing new.
    read = [ADA, SEA, BEN]  # ranked again, for the chemist
    assert generator.prompts[:3] == [
        expansion_prompt(Expansion(BORN, [SEA, BEN, ADA], [])),
        expansion_prompt(Expansion(Question("x", ADA_BORN, ("x",)), read, [])),
        expansion_prompt(Expansion(BORN, [SEA, BEN, ADA], [Pair(ADA_BORN, "1801")])),
    ]
    assert "write others:\n- When was the chemist Ada Stone born? -> 1801\n" in generator.prompts[2]
    assert (answer.trace["expansions"], answer.trace["restarts"], answer.trace["calls"]) == (3, 1, 4)
    assert answer.trace["nodes"] == [[ADA_BORN, "1801", 1]]


def test_the_last_call_answers_from_the_pairs_and_the_best_passages():
    def write(prompt):
        if "clearer" not in prompt:
            return "Ada in 1801, Ben in 1900."
        return f"{ADA_BORN} -> 1801 | {BEN_BORN} -> 1900 | When was Stone born? -> 1850"

    tree, generator = make_tree(write, Limits(top_k=2))
    (answer,) = tree.answer([BORN])
    assert generator.prompts[-1] == consolidation_prompt(
        BORN, as_knowledge([SEA, BEN]), [Pair(ADA_BORN, "1801"), Pair(BEN_BORN, "1900")]
    )
    assert (answer.text, answer.contexts) == ("Ada in 1801, Ben in 1900.", ("Sea#0", "Ben_Stone#0"))
    assert answer.trace["cost"].keys() == {"expand", "write"} and answer.trace["form"] == "two steps"


def test_all_questions_advance_together_and_answers_do_not_depend_on_it():
    def write(prompt):
        if "clearer" not in prompt:
            return f"end of {len(prompt)}"
        if "capital" in prompt:
            return "none"
        return "" if "Ben Stone born" in prompt else f"{BEN_BORN} -> 1900"

    tree, generator = make_tree(write)
    together = tree.answer([BORN, CAPITAL, ROOT])
    assert together == [make_tree(write)[0].answer([question])[0] for question in (BORN, CAPITAL, ROOT)]
    # Round by round: three roots; the nodes of two; their restarts; then the answers of all.
    assert [len(call) for call in generator.calls] == [3, 2, 2, 3]
    assert tree.retriever.calls == [[BORN.text, CAPITAL.text, ROOT.text]]
    # The pool in one call, then the questions of each round that has any left, and of the answers.
    assert [len(call) for call in tree.encoder.calls] == [3, 3, 3, 2, 2, 3]
    assert tree.answer([]) == []
    for answer in together:
        assert json.loads(json.dumps(answer.trace)) == answer.trace


def test_no_passages_is_closed_book_without_an_expansion():
    tree, generator = make_tree(lambda prompt: "from memory", table={})
    (answer,) = tree.answer([BORN])
    assert generator.calls == [[answer_prompt(BORN, "")]]
    assert (answer.text, answer.contexts, answer.trace["expansions"]) == ("from memory", (), 0)
    assert (answer.trace["form"], answer.trace["generation"]) == ("closed book", "there are no passages")


def test_empty_text_gives_no_pairs_and_is_traced():
    tree, generator = make_tree(lambda prompt: "")
    (answer,) = tree.answer([BORN])
    assert generator.calls[-1] == [answer_prompt(BORN, as_knowledge([SEA, BEN, ADA]))]
    assert (answer.text, answer.trace["form"], answer.trace["generation"]) == (
        "",
        "standard",
        "the model wrote nothing",
    )


class StoneInterpreter:
    """Stone's birth is Ada's or Ben's, anything else has one meaning."""

    def interpret(self, questions):
        return [Interpreted((ADA_BORN, BEN_BORN) if q.text == BORN.text else (q.text,)) for q in questions]


def test_small_models_expand_by_interpreter_and_short_answers_and_join_by_rule():
    tree, generator = make_tree(lambda prompt: "yes: 1801" if prompt.endswith(ADA_BORN) else "yes: 1900", join=True)
    tree.expander = PerInterpretationExpander(StoneInterpreter(), generator)
    (answer,) = tree.answer([BORN])
    assert answer.text == "When was the chemist Ada Stone born: 1801. When was the painter Ben Stone born: 1900."
    assert answer.trace["nodes"] == [[ADA_BORN, "1801", 1], [BEN_BORN, "1900", 1]]
    # Two answers at the root, one at each child, two at the restart, and no last call.
    assert answer.trace["cost"]["extract"][0] == answer.trace["calls"] == 6
    assert answer.trace["form"] == "joined by rule"


def test_limits_are_checked():
    for bad in ({"nodes": 0}, {"depth": 0}, {"restarts": -1}, {"expansions": 0}, {"top_k": 0}):
        with pytest.raises(RagError, match="limits of a tree"):
            Limits(**bad)
