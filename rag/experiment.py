"""Run systems on questions, score every answer, compare with a baseline."""

import json
from collections.abc import Sequence

import pandas as pd

from rag.corpus import in_collection
from rag.errors import RagError
from rag.scoring.significance import estimate, paired_test
from rag.scoring.text import METRICS
from rag.systems import System
from rag.types import Question


def run_systems(task: str, systems: Sequence[System], questions: list[Question]) -> pd.DataFrame:
    """One row a system and question: what was asked (by id), answered and scored.

    `contexts` are ids and addresses, `trace` is JSON; no passage is in it. `covered` tells whether the question's
    article is in the collection; it is empty where the question names no article.
    """
    rows = []
    for system in systems:
        answers = system.answer(questions)
        if [answer.question_id for answer in answers] != [question.id for question in questions]:
            raise RagError(f"system {system.name!r} answered other questions than it was asked")
        for question, answer in zip(questions, answers, strict=True):
            rows.append(
                {
                    "task": task,
                    "system": system.name,
                    "question_id": question.id,
                    "relation": question.relation,
                    "form": question.form,
                    "covered": in_collection(question.article_id) if question.article_id else None,
                    **{name: metric(answer.text, question.answers) for name, metric in METRICS.items()},
                    "output": answer.text,
                    "contexts": json.dumps(answer.contexts, ensure_ascii=False),
                    "trace": json.dumps(answer.trace, ensure_ascii=False),
                }
            )
    return pd.DataFrame(rows)


def summarise(rows: pd.DataFrame, baseline: str, samples: int, seed: int) -> pd.DataFrame:
    """Mean, 95 % interval and paired p against the baseline, by task, system and metric, in the order of the rows.

    Columns: task, system, metric, value, ci_low, ci_high, n, p_vs_<baseline>; values are shares in [0, 1]. A task that
    the baseline didn't run has no p.
    """
    summary = []
    for (task, system), own in rows.groupby(["task", "system"], sort=False):
        other = rows[(rows["task"] == task) & (rows["system"] == baseline)]
        if len(other) and not own["question_id"].tolist() == other["question_id"].tolist():
            raise RagError(f"{system} and {baseline} answered different questions of task {task}: they can't be paired")
        for metric in METRICS:
            compare = len(other) and system != baseline
            p = paired_test(own[metric].to_numpy(), other[metric].to_numpy(), samples, seed) if compare else None
            summary.append(
                {
                    "task": task,
                    "system": system,
                    "metric": metric,
                    **estimate(own[metric].to_numpy(), samples, seed),
                    f"p_vs_{baseline}": p,
                }
            )
    return pd.DataFrame(summary)
