"""Run systems on questions, score every answer, compare with a baseline."""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from rag.corpus import in_collection
from rag.errors import RagError
from rag.scoring.significance import estimate, paired_test
from rag.scoring.text import score_text
from rag.systems import System
from rag.types import CRAG_TASKS, Answer, Question, Task

# What is compared between systems; other columns of the rows describe.
METRICS = (
    *("accuracy", "exact_match", "token_f1", "factscore", "precision", "abstained"),
    *("str_em", "d_f1", "rouge_l", "wrong_answers", "mrecall_substring", "mrecall_token"),
)
# What the paper reports for each task (CRAG §5.2).
MAIN_METRIC = {task: "factscore" if task == Task.BIOGRAPHY else "accuracy" for task in CRAG_TASKS}
Scorer = Callable[[list[Question], list[Answer]], Sequence[Mapping[str, float]]]


def score_texts(questions: list[Question], answers: list[Answer]) -> list[dict[str, float]]:
    """The metrics of each answer, for the tasks that are scored by the text alone."""
    return [score_text(question, answer.text) for question, answer in zip(questions, answers, strict=True)]


def run_systems(systems: Sequence[System], questions: list[Question], score: Scorer = score_texts) -> pd.DataFrame:
    """One row a system and question: what was asked (by id), answered and scored.

    `contexts` are ids and addresses, `trace` is JSON; no passage is in it. `covered` tells whether the question's
    article is in the collection; it is empty where the question names no article.
    """
    rows = []
    for system in systems:
        answers = system.answer(questions)
        if [answer.question_id for answer in answers] != [question.id for question in questions]:
            raise RagError(f"system {system.name!r} answered other questions than it was asked")
        for question, answer, scores in zip(questions, answers, score(questions, answers), strict=True):
            rows.append(
                {
                    "task": question.task.value,
                    "system": system.name,
                    "question_id": question.id,
                    "relation": question.relation,
                    "form": question.form,
                    "covered": in_collection(question.article_id) if question.article_id else None,
                    **scores,
                    "output": answer.text,
                    "contexts": json.dumps(answer.contexts, ensure_ascii=False),
                    "trace": json.dumps(answer.trace, ensure_ascii=False),
                }
            )
    return pd.DataFrame(rows)


def summarise(
    rows: pd.DataFrame, baseline: str, samples: int, seed: int, by: Sequence[str] = ("task",)
) -> pd.DataFrame:
    """Mean, 95 % interval and paired p against the baseline, by group, system and metric, in the order of the rows.

    `by` are the columns of a group; the baseline is that of the same group. Columns: those, system, metric, value,
    ci_low, ci_high, n, p; values are shares in [0, 1]. A group without the baseline has no p. Answers without a score
    (NaN: a biography that was not written) are left out of the mean and of n, and the p is of the questions that both
    systems have a score for.
    """
    summary = []
    for names, group in rows.groupby(list(by), sort=False, dropna=False):
        other = group[group["system"] == baseline]
        for system, own in group.groupby("system", sort=False):
            if len(other) and not own["question_id"].tolist() == other["question_id"].tolist():
                raise RagError(f"{system} and {baseline} answered different questions of {names}: they can't be paired")
            for metric in METRICS:
                if metric not in own or own[metric].isna().all():
                    continue
                ours, theirs = own[metric].to_numpy(dtype=float), other[metric].to_numpy(dtype=float)
                p = None
                if len(other) and system != baseline and (both := ~np.isnan(ours) & ~np.isnan(theirs)).any():
                    p = paired_test(ours[both], theirs[both], samples, seed)
                summary.append(
                    {
                        **dict(zip(by, names, strict=True)),
                        "system": system,
                        "metric": metric,
                        **estimate(ours[~np.isnan(ours)], samples, seed),
                        "p": p,
                    }
                )
    return pd.DataFrame(summary)
