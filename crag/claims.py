"""The claims of the CRAG paper beside our results."""

from collections.abc import Sequence

import pandas as pd

from crag.paper import load_paper
from rag.claims import Claim, check_all
from rag.experiment import MAIN_METRIC
from rag.profile import Profile
from rag.results import read_table
from rag.types import CRAG_TASKS, Task


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
    return check_all(paper_claims(list(profile.tasks)), profile, load_rows)
