"""The tables of the CRAG notebooks."""

import json
import math
import time
from collections.abc import Mapping

import pandas as pd
from sklearn.metrics import f1_score, roc_auc_score

from crag.calibration.thresholds import best_cut
from crag.evaluator import CachedEvaluator, Evaluator, FineTunedEvaluator
from crag.pairs import LabelledPair, label_hits, sample_pairs
from crag.paper import load_paper
from crag.setup import embedded_hits, embedded_questions, train_judge
from crag.training import training_record
from rag.errors import RagError
from rag.experiment import MAIN_METRIC, summarise
from rag.scoring.factscore import GeneratorJudge, agreement, choose_evidence
from rag.scoring.significance import estimate
from rag.setup import Setup
from rag.types import Task

JUDGED_CLAIMS = 60
SPEED_BATCH = 16
SPEED_BATCHES = 8
SPEED_S = 5


def retrieved_pairs(setup: Setup, split: str) -> list[LabelledPair]:
    """The passages that are retrieved for a split's embedded questions, labelled: what CRAG's evaluator meets."""
    questions = embedded_questions(setup, Task.SHORT_ANSWER, split)
    return [labelled for own in label_hits(questions, embedded_hits(setup, questions)) for labelled in own]


def without_cache(evaluator: Evaluator) -> Evaluator:
    """The evaluator itself, where it stands behind a cache."""
    return evaluator.evaluator if isinstance(evaluator, CachedEvaluator) else evaluator


def pairs_per_second(evaluator: Evaluator, pairs: list[LabelledPair]) -> float:
    """Speed of scoring without the cache, after a first pair that loads the model: over at most eight batches of 16,
    and no new batch after five seconds."""
    plain = without_cache(evaluator)
    timed = [labelled.pair for labelled in pairs[: SPEED_BATCH * SPEED_BATCHES]]
    plain.score(timed[:1])
    started, done = time.perf_counter(), 0
    while done < len(timed) and time.perf_counter() - started < SPEED_S:
        batch = timed[done : done + SPEED_BATCH]
        plain.score(batch)
        done += len(batch)
    return done / (time.perf_counter() - started)


def training_cost(evaluator: Evaluator) -> dict[str, float]:
    """Trained parameters and seconds of training; zeros for what was not trained here."""
    plain = without_cache(evaluator)
    if not isinstance(plain, FineTunedEvaluator):
        return {"trainable_params": 0, "train_s": 0.0}
    record = training_record(plain)
    return {"trainable_params": record.trainable_params, "train_s": record.seconds}


def judge(
    evaluators: Mapping[str, Evaluator], dev: list[LabelledPair], test: list[LabelledPair], samples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well evaluators tell relevant passages from others (CRAG Table 4): a table, and every score.

    Accuracy (value, ci_low, ci_high: the interval takes pairs as independent) and F1 are at the cut that is best on
    `dev`; `relevant` is the share of relevant pairs in `test`, `n` the number of its pairs, `paper` the published
    accuracy as a share. Raises `RagError` where either set lacks a kind of pair.
    """
    for name, pairs in (("dev", dev), ("test", test)):
        if len({labelled.label for labelled in pairs}) < 2:
            raise RagError(f"the {name} pairs are not of both labels: take more questions, or raise judged_pairs")
    published = load_paper()["evaluator"]
    truth = pd.Series([labelled.label > 0 for labelled in test])
    table, rows = [], []
    for name, evaluator in evaluators.items():
        cut = best_cut(evaluator.score([labelled.pair for labelled in dev]), [labelled.label > 0 for labelled in dev])
        scores = evaluator.score([labelled.pair for labelled in test])
        right = (scores >= cut) == truth
        table.append(
            {
                "evaluator": name,
                "metric": "accuracy",
                **estimate(right.to_numpy(), samples, seed),
                "paper": published[name] / 100 if name in published else None,
                "f1": f1_score(truth, scores >= cut),
                "roc_auc": roc_auc_score(truth, scores),
                "cut": cut,
                "relevant": truth.mean(),
                **training_cost(evaluator),
                "pairs_per_s": pairs_per_second(evaluator, test),
            }
        )
        rows += [
            {
                "evaluator": name,
                "question_id": pair.question_id,
                "passage_id": pair.passage_id,
                "label": pair.label,
                "score": score,
                "right": float(correct),
            }
            for pair, score, correct in zip(test, scores, right, strict=True)
        ]
    return pd.DataFrame(table), pd.DataFrame(rows)


def judge_all(
    evaluators: Mapping[str, Evaluator],
    judges: Mapping[str, Evaluator],
    dev: list[LabelledPair],
    test: list[LabelledPair],
    judged_pairs: int,
    samples: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`judge` the evaluators on all pairs, and again beside the slow judges on `judged_pairs` of dev and of test.

    Both tables as one, and both sets of scores; the column `pairs` tells "all" from "sample".
    """
    small_dev, small_test = sample_pairs(dev, judged_pairs), sample_pairs(test, judged_pairs)
    found = {
        "all": judge(evaluators, dev, test, samples, seed),
        "sample": judge({**evaluators, **judges}, small_dev, small_test, samples, seed),
    }
    for pairs, frames in found.items():
        for frame in frames:
            frame.insert(0, "pairs", pairs)
    table, rows = (pd.concat(frames, ignore_index=True) for frames in zip(*found.values(), strict=True))
    return table, rows


def by_action(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Accuracy of each system on the questions of each of CRAG's actions, with intervals.

    `rows` are of one task and generator, with CRAG among the systems. `covered` is the share of those questions whose
    article is in the collection.
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


def main_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Systems by task and generator with the paper's number beside ours (CRAG Table 1); p is against standard RAG."""
    table = summarise(rows, "rag", samples, seed, by=("task", "generator"))
    published = load_paper()["main"]

    def paper(row: pd.Series) -> float:
        is_main = row["metric"] == MAIN_METRIC[Task(row["task"])]
        number = published[row["generator"]].get(row["system"], {}).get(row["task"]) if is_main else None
        return math.nan if number is None else number / 100

    table["paper"] = table.apply(paper, axis=1)
    return table


def ablation_table(rows: pd.DataFrame, name: str, samples: int, seed: int) -> pd.DataFrame:
    """One ablation by family with the paper's numbers (CRAG Tables 2, 3, 5, 11); p is against the whole method."""
    own, published = rows[rows["table"] == name], load_paper()[name]
    baseline = {family: family if name == "web" else "all" for family in published}
    parts = [
        summarise(own[own["family"] == family], whole, samples, seed, by=("family",))
        for family, whole in baseline.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    table = table[table["metric"] == "accuracy"].reset_index(drop=True)
    table["paper"] = [
        published[family][system] / 100 for family, system in zip(table["family"], table["system"], strict=True)
    ]
    return table


def robustness_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """Accuracy by system and share of questions that keep their accurate passages (CRAG Figure 3); p is against RAG."""
    table = summarise(rows, "rag", samples, seed, by=("kept",))
    return table[table["metric"] == "accuracy"].reset_index(drop=True)


def judge_agreement(setup: Setup) -> pd.DataFrame:
    """How often each local judge of facts agrees with the known truth of the test claims."""
    claims = setup.all_questions[Task.CLAIM]["test"][:JUDGED_CLAIMS]
    pages = [setup.pages[claim.article_id] for claim in claims]
    evidence = choose_evidence([claim.text for claim in claims], pages, setup.encoder)
    judges = {"trained": train_judge(setup), "instruct generator": GeneratorJudge(setup.generator(Task.CLAIM))}
    samples, seed = setup.profile.bootstrap_samples, setup.profile.seed
    return pd.DataFrame(
        [{"judge": name, **agreement(judge, claims, evidence, samples, seed)} for name, judge in judges.items()]
    )
