"""The figures of the DIVA notebooks. Each takes the table that it draws."""

from collections.abc import Sequence

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from rag.figures import error_lengths

NAMES = {"str_em": "STR-EM", "d_f1": "D-F1", "rouge_l": "ROUGE-L", "mrecall": "MRecall"}
SETTINGS = {
    "interpretations": "interpretations used",
    "top_k": "passages for each",
    "pool": "passages before pruning",
}


def _errors(table: pd.DataFrame, metric: str) -> list[pd.Series]:
    """The lengths of a metric's error bars: columns <metric>, <metric>_ci_low, <metric>_ci_high."""
    return error_lengths(table[metric], table[f"{metric}_ci_low"], table[f"{metric}_ci_high"])


def quality_dots(table: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """Each system's metrics with their intervals, a panel a metric: columns system and <metric>, <metric>_ci_low, …_high."""
    figure, panels = plt.subplots(1, len(metrics), figsize=(8.5, 0.32 * len(table) + 1.1), sharey=True, squeeze=False)
    rows = table.iloc[::-1]
    for axes, metric in zip(panels[0], metrics, strict=True):
        axes.errorbar(rows[metric], rows["system"], xerr=_errors(rows, metric), fmt="o", capsize=3)
        axes.set(title=NAMES[metric], xlim=(0, None))
        axes.grid(axis="y", visible=False)
    return figure


def recall_lines(table: pd.DataFrame) -> Figure:
    """MRecall against k, a panel a retriever and a line a way of retrieval: columns retriever, retrieval, k, mrecall."""
    names = list(table["retriever"].unique())
    figure, panels = plt.subplots(1, len(names), figsize=(8.5, 3.0), sharey=True, squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        own = table[table["retriever"] == name]
        for marker, (way, line) in zip("os^vD*", own.groupby("retrieval", sort=False), strict=False):
            axes.plot(line["k"], line["mrecall"], marker=marker, label=way)
        axes.set(title=name, xlabel="k", xticks=sorted(table["k"].unique()))
    panels[0][0].set_ylabel("MRecall@k")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside lower center", fontsize="small")
    return figure


def sweep_lines(table: pd.DataFrame) -> Figure:
    """MRecall@5 as each setting changes, a panel a setting: columns setting, setting_value, mrecall and its interval."""
    names = list(table["setting"].unique())
    figure, panels = plt.subplots(1, len(names), figsize=(8.5, 2.8), sharey=True, squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        own = table[table["setting"] == name]
        axes.errorbar(own["setting_value"], own["mrecall"], yerr=_errors(own, "mrecall"), marker="o", capsize=3)
        axes.set(xlabel=SETTINGS[name], xticks=own["setting_value"])
    panels[0][0].set_ylabel("MRecall@5")
    return figure


def coverage_bars(table: pd.DataFrame, systems: Sequence[str]) -> Figure:
    """STR-EM of some systems by how many gold answers the passages of standard RAG hold (DIVA Figure 3).

    Columns coverage, system, str_em and its interval, n.
    """
    labels = list(table["coverage"].unique())
    sizes = table.groupby("coverage")["n"].first()
    figure, axes = plt.subplots()
    width = 0.8 / len(systems)
    for place, system in enumerate(systems):
        own = table[table["system"] == system].set_index("coverage").loc[labels]
        xs = [i + (place - (len(systems) - 1) / 2) * width for i in range(len(own))]
        axes.bar(xs, own["str_em"], width * 0.9, yerr=_errors(own, "str_em"), capsize=3, label=system)
    axes.set_xticks(range(len(labels)), [f"{label}\nn = {sizes[label]}" for label in labels])
    axes.set(ylabel="STR-EM", ylim=(0, 1), xlabel="gold answers in the passages of standard RAG")
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, ncols=len(systems), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def cost_scatter(table: pd.DataFrame) -> Figure:
    """STR-EM against seconds and against US dollars: columns system, str_em, seconds, usd."""
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.6), sharey=True)
    for axes, column, label in zip(
        panels, ("seconds", "usd"), ("seconds a question", "US dollars a thousand questions"), strict=True
    ):
        for marker, row in zip("os^Dv*PX<>hp", table.itertuples(), strict=False):
            axes.plot(getattr(row, column), row.str_em, marker, markersize=8, label=row.system)
        axes.set(xlabel=label, xlim=(0, None), ylim=(0, None))
    panels[0].set_ylabel("STR-EM")
    panels[1].legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
