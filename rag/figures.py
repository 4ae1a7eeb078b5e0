"""The figures of the shared part. Each takes the table that it draws."""

import matplotlib
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure


def use_house_style() -> None:
    """Plain axes and colours that stay apart in grey and for the colour-blind (Okabe and Ito)."""
    colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#777777"]
    matplotlib.rcParams.update(
        {
            "axes.prop_cycle": matplotlib.cycler(color=colours),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.alpha": 0.3,
            "figure.figsize": (7, 3.6),
            "figure.constrained_layout.use": True,
            "pdf.fonttype": 42,
        }
    )


def error_lengths(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """Lengths of error bars below and above. The mean of equal scores may lie outside its interval by its last bit."""
    return [(values - low).clip(lower=0), (high - values).clip(lower=0)]


def questions_by_relation(counts: pd.DataFrame) -> Figure:
    """Stacked bars of question counts: columns relation, split, questions."""
    table = counts.pivot(index="relation", columns="split", values="questions").fillna(0)[["train", "dev", "test"]]
    figure, axes = plt.subplots(figsize=(7, 4.5))
    table.loc[table.sum(axis=1).sort_values().index].plot.barh(stacked=True, ax=axes)
    axes.set(xlabel="questions", ylabel="")
    axes.grid(axis="y", visible=False)
    return figure


def recall_curves(table: pd.DataFrame) -> Figure:
    """Recall against k, a line a retriever: columns retriever, k, recall."""
    figure, axes = plt.subplots()
    for marker, (retriever, rows) in zip("os^Dv", table.groupby("retriever", sort=False), strict=False):
        axes.plot(rows["k"], rows["recall"], marker=marker, label=retriever)
    axes.set(xlabel="k", ylabel="recall@k", ylim=(None, 1.0), xticks=sorted(table["k"].unique()))
    axes.legend(frameon=False)
    return figure
