"""Write the result tables into README.md: `python -m rag.readme`.

Between `<!-- table: NAME -->` and `<!-- end -->` stands a table made from the committed results; nothing is typed.
"""

import re
from collections.abc import Callable

import pandas as pd

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


def main_table() -> str:
    """Systems by metric, in percent with intervals."""
    table = read_table(EVIDENCE, "crag_main")
    rows = []
    for system, own in table.groupby("system", sort=False):
        metrics = own.set_index("metric")
        accuracy = metrics.loc["accuracy"]
        rows.append(
            {
                "system": system,
                "accuracy (95 % interval)": f"{accuracy.value:.1%} ({accuracy.ci_low:.1%} to {accuracy.ci_high:.1%})".replace(
                    "%", " %"
                ),
                "exact match": f"{metrics.loc['exact_match', 'value']:.1%}".replace("%", " %"),
                "token F1": f"{metrics.loc['token_f1', 'value']:.3f}",
                "p against rag": p_text(accuracy["p_vs_rag"]),
                "n": str(int(accuracy["n"])),
            }
        )
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
    """Evaluators on retrieved passages of test questions."""
    return markdown(
        [
            {
                "evaluator": row.evaluator,
                "trained parameters": f"{row.trainable_params:,}",
                "accuracy": f"{row.accuracy:.1%}".replace("%", " %"),
                "F1": f"{row.f1:.3f}",
                "ROC AUC": f"{row.roc_auc:.3f}",
                "n": str(row.n),
            }
            for row in read_table(EVIDENCE, "evaluator").itertuples()
        ]
    )


TABLES: dict[str, Callable[[], str]] = {
    "main": main_table,
    "retrieval": retrieval_table,
    "evaluator": evaluator_table,
}


def render(text: str) -> str:
    """The text with every table block made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block[2]]()}{block[3]}", text)


if __name__ == "__main__":
    path = ROOT / "README.md"
    write_atomically(path, render(path.read_text(encoding="utf-8")))
