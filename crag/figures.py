"""The figures of the CRAG part. Each takes the table that it draws."""

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from crag.actions import Action, Thresholds
from crag.training import TrainingRecord


def loss_curve(record: TrainingRecord) -> Figure:
    """Training loss against step."""
    figure, axes = plt.subplots()
    axes.plot(*zip(*record.losses, strict=True), marker=".")
    axes.set(xlabel="step", ylabel="training loss", ylim=(0, None))
    return figure


def score_histogram(scores: pd.DataFrame, thresholds: Thresholds) -> Figure:
    """Scores of relevant and other passages with the two thresholds: columns score, label (+1, -1)."""
    figure, axes = plt.subplots()
    groups = [scores.loc[scores["label"] == label, "score"] for label in (1.0, -1.0)]
    axes.hist(groups, bins=40, range=(-1, 1), label=["passage of the subject's page", "other passage"], log=True)
    axes.axvline(thresholds.lower, color="black", linestyle=":", label=f"lower {thresholds.lower:.2f}")
    axes.axvline(thresholds.upper, color="black", linestyle="--", label=f"upper {thresholds.upper:.2f}")
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
        errors = [rows["value"] - rows["ci_low"], rows["ci_high"] - rows["value"]]
        axes.bar(xs, rows["value"], width * 0.9, yerr=errors, capsize=3, label=system)
    axes.set_xticks(range(len(present)), [f"{action}\nn = {sizes[action]}" for action in present])
    axes.set(ylabel="accuracy", ylim=(0, 1))
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, ncols=len(systems), loc="upper center", bbox_to_anchor=(0.5, 1.15))
    return figure
