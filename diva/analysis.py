"""The tables of the DIVA notebooks, from per-question rows. Values are shares in [0, 1] unless a column says otherwise."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel
from sklearn.metrics import roc_auc_score

from diva.experiments import PRICED_AS, STAGES
from diva.paper import load_paper
from rag.cost import cost_by_stage, total, usd
from rag.scoring.ambiguous import Coverage, dr
from rag.scoring.significance import estimate, paired_test
from rag.types import Question

METRICS = ("str_em", "d_f1", "rouge_l")
PAPER_GENERATOR = "GPT-3.5"


def with_estimates(rows: pd.DataFrame, metrics: Sequence[str], samples: int, seed: int) -> dict[str, float]:
    """Mean and 95 % interval of each metric, as the columns <metric>, <metric>_ci_low, <metric>_ci_high."""
    columns = {}
    for metric in metrics:
        own = estimate(rows[metric].to_numpy(dtype=float), samples, seed)
        columns |= {metric: own["value"], f"{metric}_ci_low": own["ci_low"], f"{metric}_ci_high": own["ci_high"]}
    return columns


def against(rows: pd.DataFrame, baseline: pd.DataFrame, metric: str, samples: int, seed: int) -> float | None:
    """p of a paired test by question; None for the baseline itself, and without one."""
    if baseline.empty or rows["system"].iloc[0] == baseline["system"].iloc[0]:
        return None
    ours, theirs = (own.set_index("question_id").sort_index()[metric] for own in (rows, baseline))
    return paired_test(ours.to_numpy(), theirs.to_numpy(), samples, seed)


def main_table(
    rows: pd.DataFrame, reader: str, samples: int, seed: int, baseline: str = "rag", seconds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Each system's quality and what a question costs it: a row a data set and system.

    `dr` is of the corpus values, `p` of STR-EM against the baseline; calls and tokens are means a question, `usd` US dollars
    a thousand questions, the tokens priced as GPT-3.5's. `seconds` are rows of `timed`, the mean a question. `paper_dr` is the paper's on ASQA.
    """
    published = load_paper()["main"][PAPER_GENERATOR]
    table = []
    for (dataset, system), own in rows.groupby(["dataset", "system"], sort=False):
        other = rows[(rows["dataset"] == dataset) & (rows["system"] == baseline)]
        quality = with_estimates(own, METRICS, samples, seed)
        took = seconds[seconds["system"] == system]["seconds"] if seconds is not None else pd.Series(dtype=float)
        table.append(
            {
                "dataset": dataset,
                "system": system,
                **quality,
                "dr": dr(quality["d_f1"], quality["rouge_l"]),
                "paper_dr": published.get(system, {}).get("dr", np.nan) / 100,
                "p": against(own, other, "str_em", samples, seed),
                "reader": reader,
                "llm_calls": own["calls"].mean(),
                "tokens_in": own["tokens_in"].mean(),
                "tokens_out": own["tokens_out"].mean(),
                "usd": own["usd"].mean(),
                "seconds": took.mean(),
                "timed": len(took),
                "n": len(own),
            }
        )
    return pd.DataFrame(table)


def stage_costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Calls and tokens a question, and US dollars a thousand questions, by system and stage."""
    table = []
    for system, own in rows.groupby("system", sort=False):
        summed = total(*(cost_by_stage(json.loads(trace)) for trace in own["trace"]))
        for stage, spent in summed.items():
            table.append(
                {
                    "system": system,
                    "stage": stage,
                    "llm_calls": spent.calls / len(own),
                    "tokens_in": spent.tokens_in / len(own),
                    "tokens_out": spent.tokens_out / len(own),
                    "usd": 1000 * usd(spent, PRICED_AS) / len(own),
                }
            )
    return pd.DataFrame(table)


def grouped(rows: pd.DataFrame, by: Sequence[str], metrics: Sequence[str], samples: int, seed: int) -> pd.DataFrame:
    """Mean and interval of metrics by group, in the order of the rows, with n."""
    return pd.DataFrame(
        [
            {**dict(zip(by, names, strict=True)), **with_estimates(own, metrics, samples, seed), "n": len(own)}
            for names, own in rows.groupby(list(by), sort=False)
        ]
    )


def coverage_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Quality of each system by how many of the gold answers the passages of standard RAG hold (DIVA Figure 3).

    `share` is of the questions, `paper_share` the paper's on ASQA.
    """
    published = load_paper()["coverage"]
    table = grouped(rows, ["coverage", "system"], ["str_em", "d_f1"], samples, seed)
    table["order"] = table["coverage"].map({label.value: i for i, label in enumerate(Coverage)})
    table = table.sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)
    table["share"] = table["n"] / rows["question_id"].nunique()
    table["paper_share"] = table["coverage"].map(published) / 100
    return table


def recall_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """MRecall@k by retriever, way of retrieval and k; `mrecall_token` by whole tokens; `paper` is the paper's at 5."""
    table = grouped(rows, ["retriever", "retrieval", "k"], ["mrecall", "mrecall_token"], samples, seed)
    published = load_paper()["mrecall@5"]
    table["paper"] = [
        published.get(row.retrieval, np.nan) / 100 if row.k == 5 else np.nan for row in table.itertuples()
    ]
    return table


def interpretation_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Recall and precision of interpretations, and how often any came out, by interpreter and kind of question."""
    return grouped(rows, ["interpreter", "ambiguous"], ["recall", "precision", "changed"], samples, seed)


def verification_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """How well verdicts agree with whether the passages hold the answer: accuracy, ROC AUC, share of yes in either case.

    `answered` is the share that is answered: what saying yes to all would score.
    """
    table = []
    for verifier, own in rows.groupby("verifier", sort=False):
        right = (own["yes"] == own["answered"]).to_numpy(dtype=float)
        both = own["answered"].nunique() > 1
        table.append(
            {
                "verifier": verifier,
                "metric": "accuracy",
                **estimate(right, samples, seed),
                "roc_auc": roc_auc_score(own["answered"], own["chance"].fillna(0)) if both else np.nan,
                "yes_where_answered": own[own["answered"]]["yes"].mean(),
                "yes_where_not": own[~own["answered"]]["yes"].mean(),
                "answered": own["answered"].mean(),
            }
        )
    return pd.DataFrame(table)


def form_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Quality of each system by the form of the questions; those of the form "unambiguous" are to be unharmed."""
    return grouped(rows.sort_values("form", kind="stable"), ["form", "system"], METRICS, samples, seed)


def seed_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds of each system's corpus scores; `p` is of a paired t test of DIVA against RAG
    over the seeds, as the paper's, empty where all differences are equal."""
    table = []
    for metric in METRICS:
        by_seed = rows.pivot_table(index="seed", columns="system", values=metric)
        differences = by_seed["diva"] - by_seed["rag"]
        equal = np.allclose(differences, differences.mean())
        p = np.nan if equal else ttest_rel(by_seed["diva"], by_seed["rag"]).pvalue
        for system in by_seed:
            own = by_seed[system]
            table.append(
                {"metric": metric, "system": system, "value": own.mean(), "std": own.std(), "seeds": len(own), "p": p}
            )
    return pd.DataFrame(table)


def lost_table(rows: pd.DataFrame) -> pd.DataFrame:
    """At which stage gold answers are lost: counts and shares of all gold answers."""
    counts = rows["stage"].value_counts().reindex([*STAGES, "none"], fill_value=0)
    return pd.DataFrame({"stage": counts.index, "answers": counts.to_numpy(), "share": counts.to_numpy() / len(rows)})


def questions_by_form(questions: Sequence[Question]) -> pd.DataFrame:
    """How many questions there are of each form, and how many interpretations they have."""
    table = pd.DataFrame([{"form": q.form, "interpretations": len(q.interpretations)} for q in questions])
    return table.groupby("form")["interpretations"].agg(questions="size", interpretations="mean").reset_index()
