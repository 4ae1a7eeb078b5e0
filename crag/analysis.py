"""The tables of the CRAG notebooks."""

import json
import time
from collections.abc import Mapping

import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from crag.actions import best_cut
from crag.evaluator import CachedEvaluator, Evaluator
from crag.pairs import LabelledPair, label_hits
from rag.scoring.significance import estimate
from rag.setup import Setup

SPEED_PAIRS = 128


def retrieved_pairs(setup: Setup, split: str) -> list[LabelledPair]:
    """The passages that are retrieved for a split's embedded questions, labelled: what CRAG's evaluator meets."""
    questions = setup.all_questions[split][: getattr(setup.profile.questions, split)]
    retrieved = setup.embedded_retriever.retrieve([question.text for question in questions], setup.profile.top_k)
    return [labelled for own in label_hits(questions, retrieved) for labelled in own]


def pairs_per_second(evaluator: Evaluator, pairs: list[LabelledPair]) -> float:
    """Speed of scoring without the cache, after a first batch that loads the model."""
    plain = evaluator.evaluator if isinstance(evaluator, CachedEvaluator) else evaluator
    timed = [labelled.pair for labelled in pairs[:SPEED_PAIRS]]
    plain.score(timed[:2])
    started = time.perf_counter()
    plain.score(timed)
    return len(timed) / (time.perf_counter() - started)


def judge(
    evaluators: Mapping[str, Evaluator], dev: list[LabelledPair], test: list[LabelledPair]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well evaluators tell relevant passages from others (CRAG Table 4): a table, and every score.

    Accuracy and F1 are at the cut that is best on `dev`; `relevant` is the share of relevant pairs in `test`.
    """
    truth = [labelled.label > 0 for labelled in test]
    table, rows = [], []
    for name, evaluator in evaluators.items():
        cut = best_cut(evaluator.score([labelled.pair for labelled in dev]), [labelled.label > 0 for labelled in dev])
        scores = evaluator.score([labelled.pair for labelled in test])
        table.append(
            {
                "evaluator": name,
                "accuracy": accuracy_score(truth, scores >= cut),
                "f1": f1_score(truth, scores >= cut),
                "roc_auc": roc_auc_score(truth, scores),
                "pairs_per_s": pairs_per_second(evaluator, test),
                "n": len(test),
                "cut": cut,
                "relevant": sum(truth) / len(truth),
            }
        )
        rows += [
            {"evaluator": name, "question_id": p.question_id, "passage_id": p.passage_id, "label": p.label, "score": s}
            for p, s in zip(test, scores, strict=True)
        ]
    return pd.DataFrame(table), pd.DataFrame(rows)


def by_action(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Accuracy of each system on the questions of each of CRAG's actions, with intervals.

    `rows` are of `rag.experiment.run_systems`, with CRAG among the systems. `covered` is the share of those questions
    whose article is in the collection.
    """
    crag = rows[rows["system"] == "crag"]
    action = dict(zip(crag["question_id"], crag["trace"].map(lambda trace: json.loads(trace)["action"]), strict=True))
    table = []
    for (name, system), own in rows.groupby([rows["question_id"].map(action), "system"], sort=False):
        table.append(
            {
                "action": name,
                "system": system,
                **estimate(own["accuracy"].to_numpy(), samples, seed),
                "covered": own["covered"].astype(float).mean(),
            }
        )
    return pd.DataFrame(table)
