"""The figures of the CRAG part. Each takes the table that it draws."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crag.actions import Action
from crag.training import TrainingRecord
from rag.figures import error_lengths


def loss_curves(records: Mapping[str, TrainingRecord]) -> Figure:
    """Training and dev loss against step, a panel a training; a dotted line marks the weights that were kept."""
    figure, panels = plt.subplots(1, len(records), sharey=True, squeeze=False)
    for axes, (name, record) in zip(panels[0], records.items(), strict=True):
        axes.plot(*zip(*record.losses, strict=True), marker=".", label="training")
        axes.plot(*zip(*record.dev_losses, strict=True), marker="o", label="dev")
        axes.axvline(record.best_step, color="black", linestyle=":", label=f"kept: step {record.best_step}")
        axes.set(title=name, xlabel="step")
        axes.legend(frameon=False, loc="lower left")
    highest = max(loss for record in records.values() for _, loss in [*record.losses, *record.dev_losses])
    panels[0][0].set(ylabel="logistic loss", ylim=(0, 1.05 * highest))
    return figure


def score_histogram(scores: pd.DataFrame) -> Figure:
    """Scores of relevant and other passages: columns score, label (+1, -1)."""
    figure, axes = plt.subplots()
    groups = [scores.loc[scores["label"] == label, "score"] for label in (1.0, -1.0)]
    axes.hist(groups, bins=40, range=(-1, 1), label=["passage of the subject's page", "other passage"], log=True)
    axes.set(xlabel="evaluator score", ylabel="passages (log scale)")
    axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def accuracy_by_action(table: pd.DataFrame) -> Figure:
    """Accuracy of each system on the questions of each action: columns action, system, value, ci_low, ci_high, n."""
    systems = list(table["system"].unique())
    sizes = table.groupby("action")["n"].first()
    present = [action.value for action in (Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT) if action.value in sizes]
    figure, axes = plt.subplots()
    width = 0.8 / len(systems)
    for place, system in enumerate(systems):
        rows = table[table["system"] == system].set_index("action").loc[present]
        xs = [i + (place - (len(systems) - 1) / 2) * width for i in range(len(rows))]
        errors = error_lengths(rows["value"], rows["ci_low"], rows["ci_high"])
        axes.bar(xs, rows["value"], width * 0.9, yerr=errors, capsize=3, label=system)
    axes.set_xticks(range(len(present)), [f"{action}\nn = {sizes[action]}" for action in present])
    axes.set(ylabel="accuracy", ylim=(0, 1))
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, ncols=len(systems), loc="upper center", bbox_to_anchor=(0.5, 1.15))
    return figure


def precision_coverage(table: pd.DataFrame) -> Figure:
    """Precision of Correct and of Incorrect against the share of questions that get the action, one plot a task.

    Columns task, action, coverage, precision.
    """
    figure, plots = _a_plot_each(table["task"].nunique())
    for axes, (task, rows) in zip(plots, table.groupby("task", sort=False), strict=True):
        for style, action in (("-", Action.CORRECT), ("--", Action.INCORRECT)):
            own = rows[rows["action"] == action.value]
            axes.plot(own["coverage"], own["precision"], style, drawstyle="steps-post", label=action.value)
        axes.set(title=task, xlabel="coverage", xlim=(0, 1), ylim=(0, 1.02))
    return _with_shared_labels(figure, plots, "precision")


def reliability_diagram(table: pd.DataFrame) -> Figure:
    """Share of relevant passages against predicted probability, a line a score map, one plot a task.

    Columns task, map, predicted, observed.
    """
    figure, plots = _a_plot_each(table["task"].nunique())
    for axes, (task, rows) in zip(plots, table.groupby("task", sort=False), strict=True):
        axes.plot([0, 1], [0, 1], color="black", linestyle=":", label="calibrated")
        for marker, (name, own) in zip("os^D", rows.groupby("map", sort=False), strict=False):
            axes.plot(own["predicted"], own["observed"], marker=marker, markersize=4, label=name)
        axes.set(title=task, xlabel="predicted probability", xlim=(0, 1), ylim=(0, 1.02))
    return _with_shared_labels(figure, plots, "share relevant")


def transfer_heatmap(table: pd.DataFrame) -> Figure:
    """End-task score by the task that the thresholds were fitted on and the one that they are applied to.

    Columns fitted_on, applied_to, value. Colours compare within a column, as scores of different tasks don't compare.
    """
    tasks = list(table["fitted_on"].unique())
    values = table.pivot(index="fitted_on", columns="applied_to", values="value").loc[tasks, tasks]
    figure, axes = plt.subplots()
    axes.imshow(values - values.max(), cmap="Blues", aspect="auto")
    for row, column in np.ndindex(values.shape):
        axes.text(
            column, row, f"{values.iat[row, column]:.3f}", ha="center", va="center", bbox={"fc": "white", "lw": 0}
        )
    axes.set(xlabel="applied to", ylabel="fitted on")
    axes.set_xticks(range(len(tasks)), tasks)
    axes.set_yticks(range(len(tasks)), tasks)
    axes.grid(visible=False)
    return figure


def _a_plot_each(count: int) -> tuple[Figure, list[Axes]]:
    """Plots side by side on one scale."""
    figure, plots = plt.subplots(ncols=count, figsize=(max(4.0, 3.2 * count), 3.4), sharey=True, squeeze=False)
    return figure, list(plots[0])


def _with_shared_labels(figure: Figure, plots: list[Axes], ylabel: str) -> Figure:
    """One label for the vertical axes and one legend above the plots."""
    plots[0].set_ylabel(ylabel)
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside upper center")
    return figure


def main_bars(table: pd.DataFrame, metrics: Mapping[str, str]) -> Figure:
    """Each system's main metric by task, a panel a generator: columns task, generator, system, metric, value, ci_low, ci_high.

    `metrics` maps a task to its metric.
    """
    rows = table[table["metric"] == table["task"].map(metrics)]
    generators = list(rows["generator"].unique())
    # A system has one colour in all panels.
    colours = {system: f"C{i}" for i, system in enumerate(rows["system"].unique())}
    figure, panels = plt.subplots(len(generators), 1, figsize=(7.5, 3 * len(generators)), sharey=True, squeeze=False)
    for axes, generator in zip(panels[:, 0], generators, strict=True):
        own = rows[rows["generator"] == generator]
        tasks, systems = list(own["task"].unique()), list(own["system"].unique())
        width = 0.85 / len(systems)
        for place, system in enumerate(systems):
            values = own[own["system"] == system].set_index("task").reindex(tasks)
            xs = [i + (place - (len(systems) - 1) / 2) * width for i in range(len(tasks))]
            errors = error_lengths(values["value"], values["ci_low"], values["ci_high"])
            style = {"color": colours[system], "error_kw": {"linewidth": 0.8}}
            axes.bar(xs, values["value"], width * 0.9, yerr=errors, capsize=2, label=system, **style)
        axes.set_xticks(range(len(tasks)), [f"{task}\n{metrics[task]}" for task in tasks])
        axes.set(ylabel=f"{generator} generator", ylim=(0, 1))
        axes.grid(axis="x", visible=False)
        axes.legend(
            frameon=False, ncols=len(systems), fontsize="x-small", loc="lower center", bbox_to_anchor=(0.5, 1.0)
        )
    return figure


def ablation_dots(table: pd.DataFrame) -> Figure:
    """Accuracy of each variant with its interval, and the paper's: columns family, system, value, ci_low, ci_high, paper."""
    families = list(table["family"].unique())
    figure, panels = plt.subplots(1, len(families), figsize=(8, 2.8), sharex=True, squeeze=False)
    for axes, family in zip(panels[0], families, strict=True):
        own = table[table["family"] == family].iloc[::-1]
        errors = error_lengths(own["value"], own["ci_low"], own["ci_high"])
        axes.errorbar(own["value"], own["system"], xerr=errors, fmt="o", capsize=3, label="here")
        axes.plot(own["paper"], own["system"], "D", mfc="none", label="paper")
        axes.set(title=family, xlabel="accuracy")
        axes.grid(axis="y", visible=False)
    panels[0][0].legend(frameon=False, fontsize="small")
    return figure


def robustness_lines(table: pd.DataFrame) -> Figure:
    """Accuracy against the share of questions that keep their accurate passages, with the generator alone as the floor.

    Columns: kept (empty for the floor), system, value, ci_low, ci_high.
    """
    figure, axes = plt.subplots()
    for marker, (system, own) in zip("os^D", table.dropna(subset="kept").groupby("system", sort=False), strict=True):
        own = own.sort_values("kept")
        axes.plot(own["kept"], own["value"], marker=marker, label=system)
        axes.fill_between(own["kept"], own["ci_low"], own["ci_high"], alpha=0.12)
    floor = table[table["kept"].isna()]["value"].iloc[0]
    axes.axhline(floor, color="black", linestyle=":", label="generator alone")
    axes.invert_xaxis()
    axes.set(xlabel="questions that keep their accurate passages", ylabel="accuracy", ylim=(0, 1))
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.legend(frameon=False, ncols=5, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure
