"""Write the result tables into README.md: `python -m rag.readme`.

Between `<!-- table: NAME -->` and `<!-- end -->` stands a table made from the committed results; nothing is typed.
"""

import re
from collections.abc import Callable

import pandas as pd

from rag.experiment import MAIN_METRIC
from rag.paths import ROOT
from rag.results import read_table, write_atomically

EVIDENCE = "full"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)


def markdown(rows: list[dict[str, str]]) -> str:
    """Rows as a Markdown table."""
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([row[name] for name in head] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def p_text(p: float) -> str:
    """A p value for a table; empty where there is none."""
    return "" if pd.isna(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def percent(value: float) -> str:
    """A share in percent; empty where there is none."""
    return "" if pd.isna(value) else f"{100 * value:.1f}"


def with_interval(row: pd.Series) -> str:
    """A share in percent with its interval."""
    return f"{percent(row['value'])} ({percent(row['ci_low'])} to {percent(row['ci_high'])})"


def main_table() -> str:
    """Systems by generator and task, in percent with intervals."""
    table = read_table(EVIDENCE, "crag_main")
    table = table[table["metric"] == table["task"].map(MAIN_METRIC)]
    sizes = table.groupby("task")["n"].max()
    rows = []
    for (generator, system), own in table.groupby(["generator", "system"], sort=False):
        by_task = own.set_index("task")
        cells = {
            f"{task}, {metric} (n = {sizes[task]})": with_interval(by_task.loc[task]) if task in by_task.index else ""
            for task, metric in MAIN_METRIC.items()
        }
        rows.append({"generator": generator, "system": system, **cells})
    return markdown(rows)


def retrieval_table() -> str:
    """Retrievers at k = 5."""
    table = read_table(EVIDENCE, "retrieval")
    at_five = table[table["k"] == 5]
    return markdown(
        [
            {
                "retriever": row.retriever,
                "recall@5": f"{row.recall:.3f}",
                "MRR@5": f"{row.mrr:.3f}",
                "nDCG@5": f"{row.ndcg:.3f}",
                "n": str(row.n),
            }
            for row in at_five.itertuples()
        ]
    )


def evaluator_table() -> str:
    """Evaluators on retrieved passages of test questions; language models, which are slow, on a sample of them."""
    table = read_table(EVIDENCE, "evaluator")
    shown = table[(table["pairs"] == "all") | table["evaluator"].str.startswith("llm")]
    return markdown(
        [
            {
                "evaluator": row["evaluator"],
                "accuracy": with_interval(row),
                "paper": percent(row["paper"]),
                "F1": f"{row['f1']:.3f}",
                "ROC AUC": f"{row['roc_auc']:.3f}",
                "trained parameters": f"{row['trainable_params']:,}",
                "pairs": str(row["n"]),
            }
            for _, row in shown.iterrows()
        ]
    )


def thresholds_table() -> str:
    """Ways to set the thresholds for short answers, and what they do on test questions."""
    table = read_table(EVIDENCE, "thresholds")
    return markdown(
        [
            {
                "thresholds": row["method"],
                "upper": f"{row['upper']:.2f}",
                "lower": f"{row['lower']:.2f}",
                "precision of Correct": percent(row["precision_correct"]),
                "precision of Incorrect": percent(row["precision_incorrect"]),
                "Ambiguous": percent(row["share_ambiguous"]),
                "accuracy": with_interval(row),
            }
            for _, row in table[table["task"] == "short-answer"].iterrows()
        ]
    )


def claims_table() -> str:
    """The paper's claims and what becomes of them here, in points."""
    return markdown(
        [
            {
                "claim": row["claim"],
                "paper": "" if pd.isna(row["paper"]) else f"{100 * row['paper']:+.1f}",
                "here": f"{100 * row['effect']:+.1f} ({100 * row['ci_low']:+.1f} to {100 * row['ci_high']:+.1f})",
                "p": p_text(row["p"]),
                "n": str(row["n"]),
                "verdict": row["verdict"],
            }
            for _, row in read_table(EVIDENCE, "claims").iterrows()
        ]
    )


TABLES: dict[str, Callable[[], str]] = {
    "main": main_table,
    "retrieval": retrieval_table,
    "evaluator": evaluator_table,
    "thresholds": thresholds_table,
    "claims": claims_table,
}


def render(text: str) -> str:
    """The text with every table block made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block[2]]()}{block[3]}", text)


if __name__ == "__main__":
    path = ROOT / "README.md"
    write_atomically(path, render(path.read_text(encoding="utf-8")))
