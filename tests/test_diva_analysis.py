"""The tables and figures of the DIVA notebooks, by hand."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from diva_fakes import BORN, CAPITAL

from diva.analysis import (
    coverage_table,
    form_table,
    grouped,
    interpretation_table,
    lost_table,
    main_table,
    questions_by_form,
    recall_table,
    seed_table,
    stage_costs,
    verification_table,
)
from diva.figures import cost_scatter, coverage_bars, quality_dots, recall_lines, sweep_lines
from rag.cost import load_prices

DRAWS = {"samples": 500, "seed": 0}


def row(system, question, str_em, **columns):
    return {"dataset": "d", "system": system, "question_id": question, "str_em": str_em} | columns


def scored(system, scores, **columns):
    """A row a question, with the scores in order, and D-F1 and ROUGE-L that don't vary."""
    return [
        row(system, f"q{i}", own, **{"d_f1": 0.4, "rouge_l": 0.1, "form": "surname"} | columns)
        for i, own in enumerate(scores)
    ]


@pytest.fixture
def main_rows():
    costs = {"calls": 1, "tokens_in": 100, "tokens_out": 10, "usd": 0.5}
    rag = scored("rag", [0.0] * 6, **costs)
    diva = scored("diva", [1.0] * 6, **{**costs, "calls": 4, "d_f1": 0.9, "rouge_l": 0.4})
    rows = pd.DataFrame([*rag, *diva])
    rows.loc[rows["question_id"] == "q0", ["tokens_in", "tokens_out", "usd"]] = [400, 70, 2.0]
    return rows


def test_the_main_table_by_hand(main_rows):
    # Question by question the systems may come in any order.
    shuffled = pd.concat([main_rows.iloc[:6], main_rows.iloc[:5:-1]])
    table = main_table(shuffled, "lexical", **DRAWS).set_index("system")
    assert list(table.index) == ["rag", "diva"]
    rag, diva = table.loc["rag"], table.loc["diva"]
    assert (rag["str_em"], diva["str_em"]) == (0.0, 1.0)
    assert (diva["d_f1"], diva["d_f1_ci_low"], diva["d_f1_ci_high"]) == pytest.approx((0.9, 0.9, 0.9))
    # √(0.4 · 0.1) and √(0.9 · 0.4).
    assert (rag["dr"], diva["dr"]) == pytest.approx((0.2, 0.6))
    # Of 2^6 ways to exchange within the pairs, two are as far apart.
    assert diva["p"] == pytest.approx(2 / 64)
    assert pd.isna(rag["p"])
    assert (diva["llm_calls"], rag["llm_calls"]) == (4, 1)
    # (400 + 5 · 100) / 6, (70 + 5 · 10) / 6, (2 + 5 · 0.5) / 6.
    assert (diva["tokens_in"], diva["tokens_out"], diva["usd"]) == pytest.approx((150, 20, 0.75))
    assert (diva["dataset"], diva["reader"], diva["n"]) == ("d", "lexical", 6)
    # Nothing was timed.
    assert table["seconds"].isna().all() and (table["timed"] == 0).all()


def test_the_main_table_has_the_papers_dr_and_the_mean_time(main_rows):
    mine = pd.DataFrame(scored("mine", [0.5] * 6, calls=1, tokens_in=1, tokens_out=1, usd=0.1))
    times = {"rag": [1.0, 3.0, 5.0], "diva": [10.0, 20.0, 60.0]}
    seconds = pd.DataFrame([{"system": name, "seconds": own} for name, of_one in times.items() for own in of_one])
    table = main_table(pd.concat([main_rows, mine]), "lexical", **DRAWS, seconds=seconds).set_index("system")
    assert table["paper_dr"].to_dict() == pytest.approx({"rag": 0.393, "diva": 0.405, "mine": math.nan}, nan_ok=True)
    assert table["seconds"].to_dict() == pytest.approx({"rag": 3, "diva": 30, "mine": math.nan}, nan_ok=True)
    assert table["timed"].to_dict() == {"rag": 3, "diva": 3, "mine": 0}


def test_p_is_against_the_baseline_of_the_same_data_set(main_rows):
    other = main_rows.assign(dataset="other", str_em=0.0)
    table = main_table(pd.concat([main_rows, other]), "lexical", **DRAWS).set_index(["dataset", "system"])["p"]
    assert table.loc[("other", "diva")] == 1.0 and table.loc[("d", "diva")] == pytest.approx(2 / 64)
    against_diva = main_table(main_rows, "lexical", **DRAWS, baseline="diva").set_index("system")["p"]
    assert pd.isna(against_diva["diva"]) and against_diva["rag"] == pytest.approx(2 / 64)
    assert main_table(main_rows, "lexical", **DRAWS, baseline="gone")["p"].isna().all()


def test_stage_costs_by_hand():
    traces = {
        "rag": [{"cost": {"answer": [1, 100, 10]}}, {"cost": {"answer": [1, 300, 30]}}],
        "diva": [
            {"cost": {"interpret": [1, 40, 8], "verify": [2, 1000, 2]}},
            {"cost": {"interpret": [1, 60, 12], "write": [1, 500, 100], "verify": [0, 0, 0]}},
        ],
    }
    rows = pd.DataFrame([{"system": s, "trace": json.dumps(own)} for s, both in traces.items() for own in both])
    table = stage_costs(rows).set_index(["system", "stage"])
    assert list(table.index) == [("rag", "answer"), ("diva", "interpret"), ("diva", "verify"), ("diva", "write")]
    assert table.loc[("rag", "answer")].tolist()[:3] == [1, 200, 20]
    # Two questions, of which one has the stage.
    assert table.loc[("diva", "verify")].tolist()[:3] == [1, 500, 1]
    assert load_prices()["gpt-3.5-turbo-0125"] == {"input": 0.5, "output": 1.5}
    # A thousand questions: 200,000 tokens at half a dollar a million, and 20,000 at one and a half.
    assert table.loc[("rag", "answer"), "usd"] == pytest.approx(0.1 + 0.03)
    assert table.loc[("diva", "write"), "usd"] == pytest.approx(0.125 + 0.075)


def test_groups_stand_in_the_order_of_the_rows():
    rows = pd.DataFrame({"a": ["z", "z", "b", "z"], "k": [1, 2, 1, 1], "x": [0.2, 1.0, 0.5, 0.4]})
    table = grouped(rows, ["a", "k"], ["x"], **DRAWS)
    assert table[["a", "k", "x", "n"]].to_dict("split")["data"] == [
        ["z", 1, pytest.approx(0.3), 2],
        ["z", 2, 1.0, 1],
        ["b", 1, 0.5, 1],
    ]
    assert table["x_ci_low"].tolist() == pytest.approx([0.2, 1.0, 0.5])


def coverage_rows():
    labels = ["none", "full", "partial", "full", "partial", "partial", "partial", "none"]
    scores = {"rag": [0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0], "diva": [0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.5]}
    rows = pd.DataFrame([own for system, of_one in scores.items() for own in scored(system, of_one)])
    return rows.assign(coverage=labels * 2)


def test_coverage_goes_from_full_to_none():
    table = coverage_table(coverage_rows(), **DRAWS)
    assert table[["coverage", "system", "str_em", "n"]].to_dict("split")["data"] == [
        ["full", "rag", 0.75, 2],
        ["full", "diva", 1.0, 2],
        ["partial", "rag", 0.5, 4],
        ["partial", "diva", 0.75, 4],
        ["none", "rag", 0.0, 2],
        ["none", "diva", 0.5, 2],
    ]
    assert table["share"].tolist() == [0.25, 0.25, 0.5, 0.5, 0.25, 0.25]
    assert table["paper_share"].tolist() == pytest.approx([0.346, 0.346, 0.497, 0.497, 0.157, 0.157])


def recall_frame():
    values = {"standard": {1: 0.0, 5: 1.0}, "diva": {1: 1.0, 5: 1.0}, "mine": {1: 0.0, 5: 0.0}}
    return pd.DataFrame(
        [
            {
                "retriever": "bm25",
                "retrieval": name,
                "k": k,
                "question_id": q,
                "mrecall": own,
                "mrecall_token": own * (q == "a"),
            }
            for name, of_one in values.items()
            for k, own in of_one.items()
            for q in ("a", "b")
        ]
    )


def test_recall_stands_beside_the_papers_at_five():
    table = recall_table(recall_frame(), **DRAWS)
    assert list(zip(table["retrieval"], table["k"], table["mrecall"], table["mrecall_token"], strict=True)) == [
        ("standard", 1, 0.0, 0.0),
        ("standard", 5, 1.0, 0.5),
        ("diva", 1, 1.0, 0.5),
        ("diva", 5, 1.0, 0.5),
        ("mine", 1, 0.0, 0.0),
        ("mine", 5, 0.0, 0.0),
    ]
    expected = [math.nan, 0.352, math.nan, 0.37, math.nan, math.nan]
    assert table["paper"].tolist() == pytest.approx(expected, nan_ok=True)
    assert (table["n"] == 2).all()


def test_interpretations_by_interpreter_and_kind():
    frame = pd.DataFrame(
        {
            "interpreter": ["a", "a", "a", "b"],
            "ambiguous": [True, False, True, True],
            "recall": [1.0, 1.0, 0.5, 0.0],
            "precision": [0.5, 1.0, 1.0, 0.0],
            "changed": [1.0, 0.0, 1.0, 0.0],
        }
    )
    table = interpretation_table(frame, **DRAWS)[["interpreter", "ambiguous", "recall", "precision", "changed", "n"]]
    assert table.to_numpy().tolist() == [
        ["a", True, 0.75, 0.75, 1.0, 2],
        ["a", False, 1.0, 1.0, 0.0, 1],
        ["b", True, 0.0, 0.0, 0.0, 1],
    ]


def test_verdicts_by_hand():
    frame = pd.DataFrame(
        [
            ("trained", True, 0.9, True),
            ("trained", True, 0.4, False),
            ("trained", True, 0.8, True),
            ("trained", False, 0.6, True),
            ("trained", False, None, False),  # not asked: as unlikely as can be
            ("all yes", True, 0.9, True),
            ("all yes", True, 0.8, True),
        ],
        columns=["verifier", "answered", "chance", "yes"],
    )
    table = verification_table(frame, **DRAWS).set_index("verifier")
    trained, other = table.loc["trained"], table.loc["all yes"]
    assert (trained["metric"], trained["value"], trained["n"]) == ("accuracy", 0.6, 5)
    assert trained["roc_auc"] == pytest.approx(5 / 6)  # of six pairs only 0.4 against 0.6 is out of order
    assert trained["yes_where_answered"] == pytest.approx(2 / 3)
    assert (trained["yes_where_not"], trained["answered"]) == (0.5, 0.6)
    assert (other["value"], other["ci_low"], other["answered"]) == (1.0, 1.0, 1.0)
    # With one kind alone there is nothing to tell apart.
    assert np.isnan(other["roc_auc"]) and np.isnan(other["yes_where_not"])


def test_quality_by_form():
    rows = pd.DataFrame([*scored("rag", [0.5, 1.0], form="unambiguous", d_f1=0.8), *scored("rag", [1.0, 0.0])])
    table = form_table(rows, **DRAWS)
    assert table[["form", "system", "str_em", "d_f1", "rouge_l", "n"]].to_numpy().tolist() == [
        ["surname", "rag", 0.5, 0.4, 0.1, 2],
        ["unambiguous", "rag", 0.75, 0.8, 0.1, 2],
    ]


def seed_rows(values):
    """Two questions a seed, as far above the value as below; D-F1 and ROUGE-L of both systems are the same."""
    return pd.DataFrame(
        [
            {"system": system, "seed": seed, "question_id": q, "str_em": own + d, "d_f1": own, "rouge_l": 0.5}
            for system, of_one in values.items()
            for seed, own in enumerate(of_one)
            for q, d in (("a", 0.1), ("b", -0.1))
        ]
    )


def test_seeds_by_hand():
    table = seed_table(seed_rows({"rag": [0.3, 0.3, 0.3], "diva": [0.4, 0.5, 0.6]})).set_index(["metric", "system"])
    diva, rag = table.loc[("str_em", "diva")], table.loc[("str_em", "rag")]
    assert (diva["value"], diva["std"], diva["seeds"]) == pytest.approx((0.5, 0.1, 3))
    assert (rag["value"], rag["std"]) == pytest.approx((0.3, 0.0))
    # Differences 0.1, 0.2, 0.3: t = 0.2 / (0.1 / √3) = √12; with two degrees of freedom p = 1 - t / √(t² + 2).
    assert diva["p"] == rag["p"] == pytest.approx(1 - math.sqrt(12 / 14))
    assert table.loc[("rouge_l", "diva"), "value"] == 0.5 and np.isnan(table.loc[("rouge_l", "diva"), "p"])


def test_equal_differences_have_no_p():
    # 0.3 - 0.2 and 0.4 - 0.3 differ in the last bits.
    table = seed_table(seed_rows({"rag": [0.2, 0.3, 0.6], "diva": [0.3, 0.4, 0.7]}))
    assert table["p"].isna().all()


def test_lost_answers_are_counted_stage_by_stage():
    rows = pd.DataFrame({"stage": ["none", "retrieval", "none", "generation", "none", "retrieval", "none", "none"]})
    table = lost_table(rows)
    assert table["stage"].tolist() == ["retrieval", "pruning", "verification", "generation", "none"]
    assert table["answers"].tolist() == [2, 0, 0, 1, 5]
    assert table["share"].tolist() == [0.25, 0, 0, 0.125, 0.625]


def test_questions_by_form():
    table = questions_by_form([BORN, CAPITAL, BORN])
    assert table.to_numpy().tolist() == [["title", 3, pytest.approx(5 / 3)]]


# Figures


def with_interval(values, metric="str_em"):
    """Columns of a metric and an interval of one tenth either side."""
    return {
        metric: values,
        f"{metric}_ci_low": [v - 0.1 for v in values],
        f"{metric}_ci_high": [v + 0.1 for v in values],
    }


def bars(axes):
    return [[bar.get_height() for bar in own] for own in axes.containers if hasattr(own, "patches")]


def points(axes):
    """The data of each error-bar line."""
    return [own.lines[0].get_xydata().tolist() for own in axes.containers]


def ends(axes):
    """Where the error bars of the first line begin and end."""
    (bar,) = axes.containers[0].lines[2]
    return [segment.tolist() for segment in bar.get_segments()]


def test_quality_is_drawn_a_panel_a_metric_with_the_first_system_on_top():
    values = {"system": ["rag", "diva"], **with_interval([0.4, 0.6]), **with_interval([0.2, 0.3], "d_f1")}
    first, second = quality_dots(pd.DataFrame(values), ["str_em", "d_f1"]).axes
    assert (first.get_title(), second.get_title()) == ("STR-EM", "D-F1")
    assert [label.get_text() for label in first.get_yticklabels()] == ["diva", "rag"]
    assert [x for x, _ in points(first)[0]] == [0.6, 0.4] and [x for x, _ in points(second)[0]] == [0.3, 0.2]
    assert ends(first)[0] == [pytest.approx([0.5, 0]), pytest.approx([0.7, 0])]


def test_equal_scores_can_be_drawn():
    rows = pd.DataFrame(scored("rag", [0.1] * 3))
    table = form_table(rows, **DRAWS)
    assert table["str_em"].item() > table["str_em_ci_high"].item()  # by the last bit of the mean
    assert len(quality_dots(table, ["str_em"]).axes) == 1


def test_recall_is_drawn_a_line_a_retrieval():
    figure = recall_lines(recall_table(recall_frame(), **DRAWS))
    (axes,) = figure.axes
    assert axes.get_title() == "bm25"
    assert {line.get_label(): line.get_xydata().tolist() for line in axes.lines} == {
        "standard": [[1, 0], [5, 1]],
        "diva": [[1, 1], [5, 1]],
        "mine": [[1, 0], [5, 0]],
    }
    assert axes.get_xticks().tolist() == [1, 5]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["standard", "diva", "mine"]


def test_sweeps_are_drawn_a_panel_a_setting():
    table = pd.DataFrame(
        {
            "setting": ["interpretations", "interpretations", "pool"],
            "setting_value": [1, 5, 25],
            **with_interval([0.3, 0.5, 0.4], "mrecall"),
        }
    )
    first, second = sweep_lines(table).axes
    assert (first.get_xlabel(), second.get_xlabel()) == ("interpretations used", "passages before pruning")
    assert points(first) == [[[1, 0.3], [5, 0.5]]] and points(second) == [[[25, 0.4]]]
    assert (first.get_ylabel(), second.get_ylabel()) == ("MRecall@5", "")


def test_coverage_is_drawn_a_group_a_label():
    table = coverage_table(coverage_rows(), **DRAWS)
    (axes,) = coverage_bars(table, ["diva", "rag"]).axes
    assert bars(axes) == [[1.0, 0.75, 0.5], [0.75, 0.5, 0.0]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["full\nn = 2", "partial\nn = 4", "none\nn = 2"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["diva", "rag"]
    assert bars(coverage_bars(table, ["rag"]).axes[0]) == [[0.75, 0.5, 0.0]]


def test_costs_are_drawn_against_quality():
    table = pd.DataFrame({"system": ["rag", "diva"], "str_em": [0.4, 0.6], "seconds": [2, 5], "usd": [0.1, 0.7]})
    first, second = cost_scatter(table).axes
    assert [line.get_xydata().tolist() for line in first.lines] == [[[2, 0.4]], [[5, 0.6]]]
    assert [line.get_xydata().tolist() for line in second.lines] == [[[0.1, 0.4]], [[0.7, 0.6]]]
    assert [line.get_label() for line in first.lines] == ["rag", "diva"]
    assert len({line.get_marker() for line in first.lines}) == 2
    assert (first.get_ylabel(), second.get_xlabel()) == ("STR-EM", "US dollars a thousand questions")
