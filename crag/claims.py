"""The claims of the paper beside our results: reproduced, not significant or contradicted (`make check`)."""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crag.paper import load_paper
from rag.errors import RagError
from rag.experiment import MAIN_METRIC
from rag.profile import Profile
from rag.results import read_table
from rag.scoring.significance import bootstrap_interval, paired_test
from rag.types import CRAG_TASKS, Task

ALPHA = 0.05
KEYS = ("question_id", "passage_id")


@dataclass(frozen=True)
class Claim:
    """That one selection of rows scores higher than another by a metric; each maps columns to values.

    `rows` names the table of per-question rows. `paper` is the difference that the paper reports, in shares.
    """

    text: str
    rows: str
    metric: str
    ours: dict[str, object]
    baseline: dict[str, object]
    paper: float | None


def paper_claims(tasks: Sequence[Task] = CRAG_TASKS) -> list[Claim]:
    """The paper's claims (§5.3 to §5.6) on these tasks, with its effects on the generator of the same kind."""
    paper = load_paper()
    return [*_main_claims(paper, tasks), *_evaluator_claims(paper), *_ablation_claims(paper), *_robustness_claims()]


def _main_claims(paper: dict, tasks: Sequence[Task]) -> list[Claim]:
    pairs = [("instruct", "crag", "rag"), ("self-rag", "crag", "rag"), ("self-rag", "self-crag", "self-rag")]
    claims = []
    for generator, ours, baseline in pairs:
        for task in tasks:
            published = paper["main"][generator]
            claims.append(
                Claim(
                    f"{ours} > {baseline} on {task} ({generator})",
                    "crag_main_rows",
                    MAIN_METRIC[task],
                    {"task": task.value, "generator": generator, "system": ours},
                    {"task": task.value, "generator": generator, "system": baseline},
                    (published[ours][task] - published[baseline][task]) / 100,
                )
            )
    return claims


def _evaluator_claims(paper: dict) -> list[Claim]:
    published = paper["evaluator"]
    return [
        Claim(
            f"fine-tuned evaluator > {judge}",
            "evaluator_rows",
            "right",
            {"evaluator": "fine-tuned", "pairs": "sample"},
            {"evaluator": judge, "pairs": "sample"},
            (published["fine-tuned"] - published[judge]) / 100,
        )
        for judge in published
        if judge != "fine-tuned"
    ]


def _ablation_claims(paper: dict) -> list[Claim]:
    claims = []
    for table in ("actions", "operations"):
        for family, published in paper[table].items():
            for variant in published:
                if variant == "all":
                    continue
                same = {"table": table, "family": family}
                claims.append(
                    Claim(
                        f"{family} > {family} {variant}",
                        "crag_ablation_rows",
                        "accuracy",
                        {**same, "system": "all"},
                        {**same, "system": variant},
                        (published["all"] - published[variant]) / 100,
                    )
                )
    for family, published in paper["web"].items():
        web = next(name for name in published if name.endswith("+ web"))
        same = {"table": "web", "family": family}
        claims.append(
            Claim(
                f"{family} > {web}",
                "crag_ablation_rows",
                "accuracy",
                {**same, "system": family},
                {**same, "system": web},
                (published[family] - published[web]) / 100,
            )
        )
    return claims


def _robustness_claims() -> list[Claim]:
    """A flatter decline: the corrected system loses less between full and no accuracy of retrieval (Figure 3)."""
    return [
        Claim(
            f"{ours} declines less than {baseline}",
            "crag_robustness_rows",
            "kept_accuracy",
            {"system": ours},
            {"system": baseline},
            None,
        )
        for ours, baseline in (("crag", "rag"), ("self-crag", "self-rag"))
    ]


def declines(rows: pd.DataFrame) -> pd.DataFrame:
    """For each system and question how much of its accuracy is kept: with no accurate passages minus with all of them."""
    levels = rows.pivot_table(index=["system", "question_id"], columns="kept", values="accuracy")
    return (levels[0.0] - levels[1.0]).rename("kept_accuracy").reset_index()


def load_rows(profile: str, name: str) -> pd.DataFrame:
    """A table of per-question rows as the claims compare it."""
    rows = read_table(profile, name)
    return declines(rows) if name == "crag_robustness_rows" else rows


def check_claims(profile: Profile) -> pd.DataFrame:
    """Every claim on the profile's tasks against its results."""
    claims = paper_claims(list(profile.tasks))
    tables = {name: load_rows(profile.name, name) for name in dict.fromkeys(claim.rows for claim in claims)}
    return pd.DataFrame([check(claim, tables[claim.rows], profile.bootstrap_samples, profile.seed) for claim in claims])


def select(rows: pd.DataFrame, columns: dict[str, object]) -> pd.DataFrame:
    """The rows with these values, by the ids that pair them. Raises `RagError` where there are none."""
    mask = np.logical_and.reduce([rows[name] == value for name, value in columns.items()])
    if not mask.any():
        raise RagError(f"no rows with {columns}: run the notebook that makes them")
    return rows[mask].set_index([name for name in KEYS if name in rows]).sort_index(kind="stable")


def verdict(difference: float, p: float) -> str:
    """What a difference and its p say of the claim that it is above zero. Without a p (NaN) nothing is said."""
    if not p < ALPHA:
        return "not significant"
    return "reproduced" if difference > 0 else "contradicted"


def check(claim: Claim, rows: pd.DataFrame, samples: int, seed: int) -> dict[str, object]:
    """One claim against per-question rows, paired by question: effect, interval, p and verdict.

    Questions that either side has no score for are left out; where that leaves none (`n` 0), the numbers are NaN.
    """
    ours, baseline = select(rows, claim.ours), select(rows, claim.baseline)
    if not ours.index.equals(baseline.index):
        raise RagError(f"claim {claim.text!r} compares different questions: they can't be paired")
    a, b = ours[claim.metric].to_numpy(float), baseline[claim.metric].to_numpy(float)
    both = ~(np.isnan(a) | np.isnan(b))  # a biography that says nothing has no score
    a, b = a[both], b[both]
    effect = p = low = high = math.nan
    if len(a):
        effect, p = float((a - b).mean()), paired_test(a, b, samples, seed)
        low, high = bootstrap_interval(a - b, samples, seed)
    return {
        "claim": claim.text,
        "metric": claim.metric,
        "paper": claim.paper,
        "effect": effect,
        "ci_low": low,
        "ci_high": high,
        "p": p,
        "n": len(a),
        "verdict": verdict(effect, p),
    }


def main() -> None:
    """Print the claims of a profile's committed results. Results that are missing are one line and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", nargs="?", default="full")
    try:
        table = read_table(parser.parse_args().profile, "claims")
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    for row in table.itertuples():
        paper = "" if pd.isna(row.paper) else f"{row.paper:+.3f}"
        effect = f"{row.effect:+.3f} [{row.ci_low:+.3f}, {row.ci_high:+.3f}]"
        print(f"{row.verdict:16} {row.claim:58} paper {paper:7} ours {effect} p {row.p:.4f} n {row.n}")


if __name__ == "__main__":
    main()
