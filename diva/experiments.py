"""The experiments of the DIVA notebooks: which systems run on what. Stages that they share come out of the cache."""

import json
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from diva.diversification import diversify, keep_best, keep_first
from diva.interpretation import GoldInterpreter, Interpreter, MergedInterpreter, TwoStepInterpreter, means
from diva.pruning import KEEP
from diva.query_refinement import QueryRefinement
from diva.setup import (
    ambiguous_scorer,
    demonstrations,
    is_embedded,
    long_generator,
    make_diva,
    make_interpreter,
    make_rag,
    make_refinement,
    make_verifier,
)
from diva.system import ABLATIONS, Variant
from diva.verification import GeneratorVerifier
from rag.cost import spent_by, usd
from rag.experiment import run_systems
from rag.generation import Sampling
from rag.retrieval import Retriever
from rag.scoring.ambiguous import Matching, coverage_labels, covered, mrecall
from rag.scoring.text import contains_answer
from rag.setup import Setup
from rag.systems import System
from rag.types import Passage, Question

DATASET = "embedded"
TEMPERATURE = 0.3
PRICED_AS = "gpt-3.5-turbo-0125"
"""Tokens of the generator are priced as if they were this model's."""
DEPTHS = (1, 2, 3, 4, 5)
IN_TURN = ", in turn"
"""Marks retrieval without pruning: the first passages of each interpretation, then the second ones."""
SWEPT = {"interpretations": (1, 2, 3, 5), "top_k": (1, 3, 5, 10), "pool": (5, 10, 25)}


def ambiguous_test(setup: Setup) -> list[Question]:
    """The test questions that have more than one interpretation."""
    return [question for question in setup.ambiguous["test"] if len(question.interpretations) > 1]


def dataset(setup: Setup) -> str:
    """The name of the profile's ambiguous test questions in tables."""
    source = setup.profile.ambiguous.source
    return source.stem if source else DATASET


def main_results(setup: Setup, systems: Sequence[System]) -> pd.DataFrame:
    """Rows of `run_systems` on the ambiguous test questions, with what each answer cost (`usd`: a thousand of its kind)
    and, the same for all systems, the coverage of the gold answers by the passages of standard RAG."""
    questions = setup.ambiguous["test"]
    rows = run_systems(systems, questions, ambiguous_scorer(setup)).drop(columns=["task", "covered"])
    rows.insert(0, "dataset", dataset(setup))
    spent = [spent_by(json.loads(trace)) for trace in rows["trace"]]
    rows["calls"] = [own.calls for own in spent]
    rows["tokens_in"] = [own.tokens_in for own in spent]
    rows["tokens_out"] = [own.tokens_out for own in spent]
    rows["usd"] = [1000 * usd(own, PRICED_AS) for own in spent]
    found = setup.ambiguous_retriever.retrieve([question.text for question in questions], KEEP)
    rows["coverage"] = rows["question_id"].map(coverage_labels(questions, found))
    return rows


def ablation_results(setup: Setup) -> pd.DataFrame:
    """DIVA and DIVA with one step removed, on the ambiguous test questions."""
    systems = [make_diva(setup, variant) for variant in (Variant(), *ABLATIONS)]
    return main_results(setup, systems)


def timed(systems: Sequence[System], questions: Sequence[Question]) -> pd.DataFrame:
    """Seconds that each system takes for each question alone. Give them a setup without a cache.

    Each system first answers the first question once: what is loaded or built on the way doesn't count. Systems take
    turns question by question, so that a slow spell of the machine hits all alike.
    """
    for system in systems:
        system.answer([questions[0]])
    rows = []
    for question in questions:
        for system in systems:
            start = time.perf_counter()
            system.answer([question])
            rows.append({"system": system.name, "question_id": question.id, "seconds": time.perf_counter() - start})
    return pd.DataFrame(rows)


def seed_results(setup: Setup) -> pd.DataFrame:
    """RAG and DIVA on the dev questions, drawn at the paper's temperature with one seed after the other (DIVA: five runs)."""
    questions = setup.ambiguous["dev"]
    parts = []
    for seed in range(setup.profile.ambiguous.seeds):
        drawn = setup.but(sampling=Sampling(TEMPERATURE, seed))
        systems = [make_rag(drawn), make_diva(drawn)]
        parts.append(run_systems(systems, questions, ambiguous_scorer(drawn)).assign(seed=seed))
    return pd.concat(parts, ignore_index=True)


# Interpretation


def interpreters(setup: Setup) -> dict[str, Interpreter]:
    """The ways to interpret, by their names in tables."""
    shots = demonstrations(setup)
    prompted = {
        "two calls": TwoStepInterpreter(long_generator(setup), shots),
        "one merged call": MergedInterpreter(long_generator(setup), shots),
    }
    adapted = {"titles": make_interpreter(setup, setup.ambiguous_retriever)} if is_embedded(setup) else {}
    return prompted | adapted


def interpretation_rows(setup: Setup, split: str) -> pd.DataFrame:
    """How many of each question's interpretations are found by each interpreter (`means`).

    `recall` and `precision` are shares; `changed` tells whether anything but the question itself came out.
    """
    questions = setup.ambiguous[split]
    rows = []
    for name, interpreter in interpreters(setup).items():
        for question, own in zip(questions, interpreter.interpret(questions), strict=True):
            hits = np.array(
                [
                    [means(text, gold, question.text) for gold in question.interpretations]
                    for text in own.interpretations
                ]
            )
            rows.append(
                {
                    "interpreter": name,
                    "question_id": question.id,
                    "ambiguous": len(question.interpretations) > 1,
                    "recall": hits.any(axis=0).mean(),
                    "precision": hits.any(axis=1).mean(),
                    "changed": float(own.interpretations != (question.text,)),
                    "interpretations": len(own.interpretations),
                }
            )
    return pd.DataFrame(rows)


# Retrieval


def recall_rows(setup: Setup) -> pd.DataFrame:
    """MRecall@k of the ambiguous test questions by retriever and way of retrieval: standard, by the refined query, for
    DIVA's interpretations and for the gold ones, pruned or (`IN_TURN`) not. `mrecall` matches substrings, `mrecall_token`
    whole tokens."""
    questions = ambiguous_test(setup)
    refined = refined_queries(make_refinement(setup), questions)
    ranked = {
        (kind, name): found
        for kind, retriever in setup.ambiguous_retrievers.items()
        for name, found in _ranked(setup, retriever, questions, refined, max(DEPTHS)).items()
    }
    return pd.DataFrame(
        [
            {
                "retriever": kind,
                "retrieval": name,
                "k": k,
                "question_id": question.id,
                "mrecall": mrecall(texts, question.interpretations, k),
                "mrecall_token": mrecall(texts, question.interpretations, k, Matching.TOKEN),
            }
            for (kind, name), found in ranked.items()
            for k in DEPTHS
            for question, passages in zip(questions, found, strict=True)
            for texts in [[passage.text for passage in passages]]
        ]
    )


def _ranked(
    setup: Setup, retriever: Retriever, questions: list[Question], refined: list[str], depth: int
) -> dict[str, list[list[Passage]]]:
    """The first passages for each question, by way of retrieval."""
    ranked = {
        "standard": ranked_for(retriever, [question.text for question in questions], depth),
        "query-refinement": ranked_for(retriever, refined, depth),
    }
    for name, interpreter in (("diva", make_interpreter(setup, retriever)), ("gold", GoldInterpreter())):
        texts = [own.interpretations for own in interpreter.interpret(questions)]
        candidates = diversify(texts, retriever)
        ranked[name] = [list(own.passages) for own in keep_best(candidates, setup.cached_encoder, depth)]
        ranked[name + IN_TURN] = [list(own.passages) for own in keep_first(candidates, depth)]
    return ranked


def ranked_for(retriever: Retriever, queries: list[str], depth: int) -> list[list[Passage]]:
    """The passages for each query, best first."""
    return [[hit.passage for hit in hits] for hits in retriever.retrieve(queries, depth)]


def refined_queries(refinement: QueryRefinement, questions: list[Question]) -> list[str]:
    """What the baseline searches for."""
    return [answer.trace["query"] for answer in refinement.answer(questions)]


def sweep_rows(setup: Setup) -> pd.DataFrame:
    """MRecall@5 after pruning, with one setting of retrieval changed at a time: how many interpretations are used, how
    many passages each retrieves, how many go on to pruning."""
    questions = ambiguous_test(setup)
    found = [own.interpretations for own in make_interpreter(setup, setup.ambiguous_retriever).interpret(questions)]
    rows = []
    for setting, values in SWEPT.items():
        for value in values:
            texts = [own[:value] for own in found] if setting == "interpretations" else found
            own = {} if setting == "interpretations" else {setting: value}
            kept = keep_best(diversify(texts, setup.ambiguous_retriever, **own), setup.cached_encoder)
            rows += [
                {
                    "setting": setting,
                    "setting_value": value,
                    "question_id": question.id,
                    "mrecall": mrecall([p.text for p in passages.passages], question.interpretations, KEEP),
                }
                for question, passages in zip(questions, kept, strict=True)
            ]
    return pd.DataFrame(rows)


# Verification


def verification_rows(setup: Setup, split: str) -> pd.DataFrame:
    """P(yes) of each gold interpretation over the passages kept for all of them, by verifier, and whether one of these
    holds the answer (`answered`, on the interpretation's own page)."""
    questions = setup.ambiguous[split]
    texts = [own.interpretations for own in GoldInterpreter().interpret(questions)]
    candidates = diversify(texts, setup.ambiguous_retriever)
    kept = keep_best(candidates, setup.cached_encoder)
    verifiers = {"prompted": GeneratorVerifier(long_generator(setup))}
    if is_embedded(setup):
        verifiers["trained"] = make_verifier(setup)
    rows = []
    for name, verifier in verifiers.items():
        verified = verifier.verify(candidates, kept)
        for question, own, passages, judged in zip(questions, texts, kept, verified, strict=True):
            by_text = dict(zip(own, judged.verdicts, strict=True))
            rows += [
                {
                    "verifier": name,
                    "question_id": question.id,
                    "interpretation": meant.text,
                    "answered": any(
                        contains_answer(p.text, meant.answers) and meant.article_id in (None, p.article_id)
                        for p in passages.passages
                    ),
                    "chance": by_text[meant.text].chance,
                    "yes": by_text[meant.text].answered,
                }
                for meant in question.interpretations
            ]
    return pd.DataFrame(rows)


# Where answers are lost

STAGES = ("retrieval", "pruning", "verification", "generation")


def lost_rows(rows: pd.DataFrame, questions: Sequence[Question], passages: Mapping[str, Passage]) -> pd.DataFrame:
    """For each gold answer of each question, at which stage DIVA lost it; "none" where the answer tells it.

    `rows` are DIVA's of `main_results`, `passages` those of the collection by id.
    """
    traces = dict(zip(rows["question_id"], rows["trace"].map(json.loads), strict=True))
    outputs = dict(zip(rows["question_id"], rows["output"], strict=True))
    lost = []
    for question in questions:
        trace = traces[question.id]
        pool = [passages[i].text for hits in trace["hits"] for i in hits]
        kept = [passages[i].text for i, _ in trace["kept"]]
        for meant, retrieved, pruned in zip(
            question.interpretations,
            covered(pool, question.interpretations),
            covered(kept, question.interpretations),
            strict=True,
        ):
            stage = "none"
            if not contains_answer(str(outputs[question.id]), meant.answers):
                unread = trace["form"] == "closed book"
                stage = STAGES[sum((retrieved, pruned, pruned and not unread))]
            lost.append({"question_id": question.id, "form": question.form, "stage": stage})
    return pd.DataFrame(lost)
