"""Write the result tables into README.md: `python -m rag.readme`.

Between `<!-- table: NAME -->` and `<!-- end -->` stands a table made from the committed results; nothing is typed.
"""

import re
from collections.abc import Callable
from functools import partial

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


def with_interval(row: pd.Series, metric: str = "") -> str:
    """A share in percent with its interval: columns value, ci_low, ci_high, or of a metric <metric>, <metric>_ci_low, …"""
    value, low, high = (metric, f"{metric}_ci_low", f"{metric}_ci_high") if metric else ("value", "ci_low", "ci_high")
    return f"{percent(row[value])} ({percent(row[low])} to {percent(row[high])})"


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


def evaluator_table(name: str) -> str:
    """Evaluators on a set of labelled pairs; language models, which are slow, on a sample of them."""
    table = read_table(EVIDENCE, name)
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


def knowledge_table() -> str:
    """The embedded generator on PopQA with the knowledge that CRAG's authors released."""
    table = read_table(EVIDENCE, "external_knowledge")
    return markdown(
        [
            {
                "knowledge": row["system"],
                "accuracy": with_interval(row),
                "p against internal": p_text(row["p"]),
                "n": str(row["n"]),
            }
            for _, row in table[table["metric"] == "accuracy"].iterrows()
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


def effect_text(value: float, ratio: bool) -> str:
    """A difference in points, or a ratio; empty where there is none."""
    return "" if pd.isna(value) else f"{value:.2f}×" if ratio else f"{100 * value:+.1f}"


def claims_table(method: str) -> str:
    """A paper's claims and what becomes of them here."""
    table = read_table(EVIDENCE, "claims")
    rows = []
    for _, row in table[table["method"] == method].iterrows():
        columns = ("paper", "effect", "ci_low", "ci_high")
        paper, effect, low, high = (effect_text(row[name], row["at_least"] > 0) for name in columns)
        rows.append(
            {
                "claim": row["claim"],
                "paper": paper,
                "here": f"{effect} ({low} to {high})" if effect else "",
                "p": p_text(row["p"]),
                "n": str(row["n"]),
                "verdict": row["verdict"],
            }
        )
    return markdown(rows)


def diva_table(name: str) -> str:
    """Systems on ambiguous questions: quality in percent, and what a question costs."""
    return markdown(
        [
            {
                "system": row["system"],
                "STR-EM": with_interval(row, "str_em"),
                f"D-F1 ({row['reader']} reader)": percent(row["d_f1"]),
                "ROUGE-L": percent(row["rouge_l"]),
                "DR": percent(row["dr"]),
                "DR, paper": percent(row["paper_dr"]),
                "p": p_text(row["p"]),
                "calls": f"{row['llm_calls']:.1f}",
                "tokens in": f"{row['tokens_in']:.0f}",
                "tokens out": f"{row['tokens_out']:.0f}",
                "USD per 1,000": f"{row['usd']:.2f}",
                **({"seconds": f"{row['seconds']:.1f}"} if row["timed"] else {}),
            }
            for _, row in read_table(EVIDENCE, name).iterrows()
        ]
    )


def diva_recall_table() -> str:
    """MRecall@5 in percent by retriever and way of retrieval."""
    table = read_table(EVIDENCE, "diva_recall")
    rows = []
    for retriever, own in table[table["k"] == 5].groupby("retriever", sort=False):
        shown = {row["retrieval"]: percent(row["mrecall"]) for _, row in own.iterrows()}
        rows.append({"MRecall@5": retriever, **shown, "n": str(own["n"].max())})
    return markdown(rows)


def external_answers_table() -> str:
    """DIVA and its rivals on RAMDocs and ASQA, in percent with intervals."""
    names = {
        "str_em": "STR-EM",
        "wrong_answers": "wrong answers told",
        "d_f1": "D-F1 (lexical reader)",
        "rouge_l": "ROUGE-L",
        "mrecall_token": "MRecall@5 (whole tokens)",
    }
    rows = []
    for data, name in {"RAMDocs": "external_ramdocs", "ASQA": "external_asqa"}.items():
        for system, own in read_table(EVIDENCE, name).groupby("system", sort=False):
            by_metric = own.set_index("metric")
            cells = {
                shown: with_interval(by_metric.loc[metric]) if metric in by_metric.index else ""
                for metric, shown in names.items()
            }
            rows.append({"data": data, "system": system, **cells, "n": str(own["n"].max())})
    return markdown(rows)


def external_stages_table() -> str:
    """How well pruning and verification tell the documents of RAMDocs apart."""
    pruning, verification = (read_table(EVIDENCE, f"external_{name}") for name in ("pruning", "verification"))
    rows = [(f"pruning: {row['metric']}, {row['documents']}", row) for _, row in pruning.iterrows()]
    rows += [(f"verification: {row['metric']}", row) for _, row in verification.iterrows()]
    return markdown(
        [
            {
                "measure": name,
                "value": percent(row["value"]) if pd.isna(row["ci_low"]) else with_interval(row),
                "by chance": percent(row.get("chance")),
                "n": str(row["n"]),
            }
            for name, row in rows
        ]
    )


TABLES: dict[str, Callable[[], str]] = {
    "main": main_table,
    "retrieval": retrieval_table,
    "evaluator": partial(evaluator_table, "evaluator"),
    "external_evaluator": partial(evaluator_table, "external_evaluator"),
    "external_knowledge": knowledge_table,
    "thresholds": thresholds_table,
    "claims": partial(claims_table, "crag"),
    "diva_main": partial(diva_table, "diva_main"),
    "diva_ablation": partial(diva_table, "diva_ablation"),
    "diva_recall": diva_recall_table,
    "external_answers": external_answers_table,
    "external_stages": external_stages_table,
    "diva_claims": partial(claims_table, "diva"),
}


def render(text: str) -> str:
    """The text with every table block made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block[2]]()}{block[3]}", text)


if __name__ == "__main__":
    path = ROOT / "README.md"
    write_atomically(path, render(path.read_text(encoding="utf-8")))
