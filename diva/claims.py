"""The claims of the DIVA paper beside our results."""

from collections.abc import Iterator

import pandas as pd

from diva.paper import load_paper
from diva.system import ABLATIONS
from rag.claims import Claim, check_all
from rag.profile import Profile
from rag.results import read_table
from rag.scoring.ambiguous import Coverage

K = 5
# What DIVA is compared with, and the published generator whose effect stands beside ours: CRAG ran on one only.
BASELINES = {"rag": "GPT-3.5", "crag": "GPT-4", "iterative-rag": "GPT-3.5", "closed-book": "GPT-3.5"}


def paper_claims(retriever: str) -> list[Claim]:
    """The paper's claims on scores, time and money, retrieval, the closed book and the parts of the method.

    The paper has no STR-EM, so those claims have no effect of its own. Those on retrieval are about a profile's retriever.
    """
    paper = load_paper()
    return [
        *_score_claims(paper),
        *_cost_claims(paper),
        *_recall_claims(paper, retriever),
        _closed_book_claim(),
        _unambiguous_claim(paper),
        *_ablation_claims(paper),
    ]


def _difference(ours: dict[str, float], baseline: dict[str, float], metric: str) -> float | None:
    """The published difference in shares, where the paper has the metric."""
    return (ours[metric] - baseline[metric]) / 100 if metric in ours and metric in baseline else None


def _score_claims(paper: dict) -> Iterator[Claim]:
    for metric in ("str_em", "d_f1"):
        for baseline, generator in BASELINES.items():
            published = paper["main"][generator]
            yield Claim(
                f"diva > {baseline} on {metric}",
                "diva_main_rows",
                metric,
                {"system": "diva"},
                {"system": baseline},
                _difference(published["diva"], published[baseline], metric),
            )


def _cost_claims(paper: dict) -> list[Claim]:
    """The published ratio of times is that of GPT-4, of which the claim is the rounded one; that of money is the claim."""
    published, claimed = paper["main"]["GPT-4"], paper["claimed"]
    return [
        Claim(
            f"diva ≥ {claimed['seconds']}× faster than iterative-rag",
            "diva_time_rows",
            "seconds",
            {"system": "diva"},
            {"system": "iterative-rag"},
            published["iterative-rag"]["seconds"] / published["diva"]["seconds"],
            at_least=claimed["seconds"],
        ),
        Claim(
            f"diva ≥ {claimed['usd']}× cheaper than iterative-rag",
            "diva_main_rows",
            "usd",
            {"system": "diva"},
            {"system": "iterative-rag"},
            claimed["usd"],
            at_least=claimed["usd"],
        ),
    ]


def _recall_claims(paper: dict, retriever: str) -> Iterator[Claim]:
    published = paper[f"mrecall@{K}"]
    for ours, baseline in (("diva", "standard"), ("gold", "diva"), ("gold", "standard")):
        yield Claim(
            f"retrieval by {ours} > {baseline} on MRecall@{K}",
            "diva_recall_rows",
            "mrecall",
            {"retriever": retriever, "retrieval": ours, "k": K},
            {"retriever": retriever, "retrieval": baseline, "k": K},
            (published[ours] - published[baseline]) / 100,
        )


def _closed_book_claim() -> Claim:
    """Where no gold answer is retrieved, retrieval harms: what adaptation is for."""
    return Claim(
        "closed-book > rag where no answer is retrieved",
        "diva_main_rows",
        "str_em",
        {"system": "closed-book"},
        {"system": "rag"},
        None,
        where={"coverage": Coverage.NONE.value},
    )


def _unambiguous_claim(paper: dict) -> Claim:
    """A question that means one thing isn't harmed; the paper's measure is exact match."""
    published = paper["unambiguous"]
    return Claim(
        "diva > rag on unambiguous questions",
        "diva_main_rows",
        "str_em",
        {"system": "diva"},
        {"system": "rag"},
        _difference(published["diva"], published["rag"], "exact_match"),
        where={"form": "unambiguous"},
    )


def _ablation_claims(paper: dict) -> Iterator[Claim]:
    whole, published = paper["main"]["GPT-3.5"]["diva"], paper["ablation"]["GPT-3.5"]
    for metric in ("str_em", "d_f1"):
        for variant in ABLATIONS:
            if metric == "str_em" or variant.name in published:
                yield Claim(
                    f"diva > {variant.name} on {metric}",
                    "diva_ablation_rows",
                    metric,
                    {"system": "diva"},
                    {"system": variant.name},
                    _difference(whole, published.get(variant.name, {}), metric),
                )


def check_claims(profile: Profile) -> pd.DataFrame:
    """Every claim against the profile's results."""
    return check_all(paper_claims(profile.retriever), profile, read_table)
