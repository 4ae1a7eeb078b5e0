"""The papers' claims beside our results: reproduced, not significant or contradicted (`make check`)."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rag.errors import RagError
from rag.profile import Profile
from rag.results import read_table, table_path, write_table
from rag.scoring.significance import bootstrap_interval, bootstrap_ratio, paired_test

ALPHA = 0.05
KEYS = ("question_id", "passage_id")


@dataclass(frozen=True)
class Claim:
    """That one selection of rows scores higher than another by a metric; each maps columns to values.

    `rows` names the table of per-question rows, and `where` keeps of both selections the questions with these values:
    there may be none. `paper` is the difference that the paper reports, in shares. With `at_least` the claim is that
    ours costs so many times less: the metric is a cost above zero, and `paper` is the ratio of its means, baseline to
    ours.
    """

    text: str
    rows: str
    metric: str
    ours: dict[str, object]
    baseline: dict[str, object]
    paper: float | None
    where: dict[str, object] = field(default_factory=dict)
    at_least: float | None = None


def matching(rows: pd.DataFrame, columns: dict[str, object]) -> pd.DataFrame:
    """The rows with these values."""
    for name, value in columns.items():
        rows = rows[rows[name] == value]
    return rows


def select(rows: pd.DataFrame, columns: dict[str, object]) -> pd.DataFrame:
    """The rows with these values, by the ids that pair them. Raises `RagError` where there are none."""
    chosen = matching(rows, columns)
    if chosen.empty:
        raise RagError(f"no rows with {columns}: run the notebook that makes them")
    return chosen.set_index([name for name in KEYS if name in rows]).sort_index(kind="stable")


def verdict(difference: float, p: float) -> str:
    """What a difference and its p say of the claim that it is above zero. Without a p (NaN) nothing is said."""
    if not p < ALPHA:
        return "not significant"
    return "reproduced" if difference > 0 else "contradicted"


def ratio_verdict(low: float, high: float, at_least: float) -> str:
    """What the interval of a ratio says of the claim that it is at least this. Without one (NaN) nothing is said."""
    if low >= at_least:
        return "reproduced"
    return "contradicted" if high < at_least else "not significant"


def check(claim: Claim, rows: pd.DataFrame, samples: int, seed: int) -> dict[str, object]:
    """One claim against per-question rows, paired by question: effect, interval, p and verdict. A ratio has no p.

    Questions that either side has no score for are left out; where that leaves none (`n` 0), the numbers are NaN.
    """
    ours, baseline = (matching(select(rows, side), claim.where) for side in (claim.ours, claim.baseline))
    if not ours.index.equals(baseline.index):
        raise RagError(f"claim {claim.text!r} compares different questions: they can't be paired")
    a, b = ours[claim.metric].to_numpy(float), baseline[claim.metric].to_numpy(float)
    both = ~(np.isnan(a) | np.isnan(b))  # a biography that says nothing has no score
    a, b = a[both], b[both]
    effect = p = low = high = math.nan
    if len(a) and claim.at_least is None:
        effect, p = float((a - b).mean()), paired_test(a, b, samples, seed)
        low, high = bootstrap_interval(a - b, samples, seed)
    elif len(a):
        try:
            low, high = bootstrap_ratio(a, b, samples, seed)
        except RagError as error:
            raise RagError(f"claim {claim.text!r}: {error}") from error
        effect = float(b.mean() / a.mean())
    return {
        "claim": claim.text,
        "metric": claim.metric,
        "at_least": claim.at_least,
        "paper": claim.paper,
        "effect": effect,
        "ci_low": low,
        "ci_high": high,
        "p": p,
        "n": len(a),
        "verdict": verdict(effect, p) if claim.at_least is None else ratio_verdict(low, high, claim.at_least),
    }


def check_all(claims: Sequence[Claim], profile: Profile, load: Callable[[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Every claim against the profile's results. `load` gives a table of rows by the names of profile and table."""
    tables = {name: load(profile.name, name) for name in dict.fromkeys(claim.rows for claim in claims)}
    return pd.DataFrame([check(claim, tables[claim.rows], profile.bootstrap_samples, profile.seed) for claim in claims])


def write_claims(profile: Profile, method: str, table: pd.DataFrame) -> None:
    """Write a method's claims into the profile's table, in place of its earlier ones; methods in alphabetical order."""
    tables = [table.assign(method=method)[["method", *table.columns]]]
    if table_path(profile.name, "claims").is_file():
        kept = read_table(profile.name, "claims")
        tables.append(kept[kept["method"] != method])
    write_table(profile, "claims", pd.concat(tables).sort_values("method", kind="stable"))


def _shown(value: float, ratio: bool) -> str:
    """A difference in shares or a ratio; empty where there is none."""
    return "" if math.isnan(value) else f"{value:.2f}×" if ratio else f"{value:+.3f}"


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
        paper, effect, low, high = (
            _shown(value, row.at_least > 0) for value in (row.paper, row.effect, row.ci_low, row.ci_high)
        )
        ours = f"{effect} [{low}, {high}] " if effect else ""
        p = "" if math.isnan(row.p) else f"p {row.p:.4f} "
        print(f"{row.verdict:16} {row.claim:58} paper {paper:7} ours {ours}{p}n {row.n}")


if __name__ == "__main__":
    main()
