"""The experiments of the CRAG notebooks: which systems run on what. Stages that they share come out of the cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crag.ablations import (
    ACCURACY_KEPT,
    REMOVED_OPERATIONS,
    SINGLE_ACTIONS,
    DegradedRetriever,
    removed_actions,
    web_always,
)
from crag.actions import Thresholds
from crag.calibration.data import CalibrationData
from crag.evaluator import Evaluator
from crag.pairs import label_hits
from crag.self_rag.decoding import ReflectiveModel
from crag.self_rag.system import DecodingSettings, OneTextReader, ReflectiveReader, SelfCrag, SelfRag
from crag.setup import (
    calibrate,
    embedded_hits,
    embedded_questions,
    fact_scorer,
    make_rewriter,
    open_web,
    reflective_model,
    single_threshold,
    train_evaluator,
)
from crag.system import Corrector, Crag, CragCorrection, Variant, score_hits
from crag.web.types import WebSearch
from rag.cove import ChainOfVerification
from rag.experiment import MAIN_METRIC, Scorer, run_systems, score_texts
from rag.generation import CachedGenerator
from rag.retrieval import Retriever
from rag.setup import Setup
from rag.systems import ClosedBook, GeneratorReader, StandardRag, System
from rag.types import Question, Task

PLAN_TOKENS = 96
AMBIGUOUS_TOP_K = 5
INSTRUCT, SELF_RAG = "instruct", "self-rag"
"""The two generators: the instruction-tuned one, and the one that was trained to reflect."""


@dataclass(frozen=True)
class Bench:
    """What all experiments on a task share. `single` is the one threshold that serves where there is no Ambiguous."""

    setup: Setup
    task: Task
    evaluator: Evaluator
    thresholds: Thresholds
    single: float
    web: WebSearch
    model: ReflectiveModel
    score: Scorer

    @property
    def top_k(self) -> int:
        return self.setup.profile.top_k

    @property
    def decoding(self) -> DecodingSettings:
        chosen = self.setup.profile.self_rag
        length = self.setup.profile.tasks[self.task].max_new_tokens
        return DecodingSettings(length, chosen.delta, segments=chosen.segments, beam=chosen.beam)

    @property
    def instruct(self) -> GeneratorReader:
        return GeneratorReader(self.setup.generator(self.task))

    @property
    def one_text(self) -> OneTextReader:
        return OneTextReader(self.model, self.decoding)

    @property
    def reflective(self) -> ReflectiveReader:
        return ReflectiveReader(self.model, self.decoding)

    def corrector(self, retriever: Retriever | None = None) -> Corrector:
        """The corrector over the profile's retriever, or another."""
        return Corrector(
            retriever or self.setup.retriever,
            self.evaluator,
            make_rewriter(self.setup),
            self.web,
            self.thresholds,
            self.top_k,
        )

    @property
    def questions(self) -> list[Question]:
        """The test questions."""
        return self.setup.questions[self.task]["test"]

    def run(self, generator: str, systems: list[System]) -> pd.DataFrame:
        """Rows of `run_systems` on the test questions, with the generator's name."""
        rows = run_systems(systems, self.questions, self.score)
        rows.insert(1, "generator", generator)
        return rows


@contextmanager
def open_benches(setup: Setup) -> Iterator[dict[Task, Bench]]:
    """The bench of each task, with the web open while the context lasts; thresholds are fitted on the task's dev questions."""
    evaluator = train_evaluator(setup)
    model = reflective_model(setup)
    scorers = dict.fromkeys(setup.profile.tasks, score_texts)
    if Task.BIOGRAPHY in scorers:
        scorers[Task.BIOGRAPHY] = fact_scorer(setup)
    with open_web(setup) as web:
        yield {
            task: Bench(
                setup,
                task,
                evaluator,
                calibrate(setup, evaluator, task),
                single_threshold(setup, evaluator, task),
                web,
                model,
                scorers[task],
            )
            for task in setup.profile.tasks
        }


@contextmanager
def open_ambiguous(setup: Setup) -> Iterator[tuple[list[System], CragCorrection]]:
    """Self-RAG and CRAG on ambiguous questions, and CRAG's correction for other systems, with the web open while the context lasts.

    They read as many passages as DIVA keeps. Thresholds are those of short answers.
    """
    retriever, chosen = setup.ambiguous_retriever, setup.profile.self_rag
    evaluator = train_evaluator(setup)
    thresholds = calibrate(setup, evaluator)
    decoding = DecodingSettings(setup.profile.answer_tokens(Task.AMBIGUOUS), chosen.delta)
    reflective = ReflectiveReader(reflective_model(setup), decoding)
    with open_web(setup) as web:
        corrector = Corrector(retriever, evaluator, make_rewriter(setup), web, thresholds, AMBIGUOUS_TOP_K)
        crag = Crag(corrector, GeneratorReader(setup.generator(Task.AMBIGUOUS)))
        yield [SelfRag(retriever, reflective, AMBIGUOUS_TOP_K), crag], CragCorrection(corrector)


def main_results(bench: Bench) -> pd.DataFrame:
    """All systems on one task's test questions, with both generators (CRAG Table 1)."""
    retriever, top_k, corrector = bench.setup.retriever, bench.top_k, bench.corrector()
    planner = CachedGenerator(bench.setup.uncached_generator(PLAN_TOKENS), bench.setup.cache)
    instruct = [
        ClosedBook(bench.instruct),
        ChainOfVerification(bench.instruct, planner),
        StandardRag(retriever, bench.instruct, top_k),
        Crag(corrector, bench.instruct),
    ]
    self_rag = [
        ClosedBook(bench.one_text),
        StandardRag(retriever, bench.one_text, top_k),
        Crag(corrector, bench.one_text),
        SelfRag(retriever, bench.reflective, top_k),
        SelfCrag(corrector, bench.reflective),
        SelfCrag(corrector, bench.reflective, Variant("self-crag, all texts"), all_texts=True),
    ]
    return pd.concat([bench.run(INSTRUCT, instruct), bench.run(SELF_RAG, self_rag)], ignore_index=True)


def ablations(bench: Bench) -> pd.DataFrame:
    """CRAG and Self-CRAG with something left out, on the generator of Self-RAG (CRAG Tables 2, 3, 5, 11).

    `table` names the ablation and `family` which of the two systems; the method itself is in each table, as "all".
    """
    corrector, retriever, top_k = bench.corrector(), bench.setup.retriever, bench.top_k
    tables = {
        "actions": removed_actions(bench.single),
        "single_action": SINGLE_ACTIONS,
        "operations": REMOVED_OPERATIONS,
    }
    parts = []
    for family, system, reader in (("crag", Crag, bench.one_text), ("self-crag", SelfCrag, bench.reflective)):
        for table, variants in tables.items():
            systems = [system(corrector, reader, variant) for variant in [Variant("all"), *variants]]
            parts.append(bench.run(SELF_RAG, systems).assign(table=table, family=family))
        plain = StandardRag(retriever, reader, top_k) if system is Crag else SelfRag(retriever, reader, top_k)
        systems = [
            plain,
            system(corrector, reader, web_always(f"{plain.name} + web")),
            system(corrector, reader, Variant(family)),
        ]
        parts.append(bench.run(SELF_RAG, systems).assign(table="web", family=family))
    return pd.concat(parts, ignore_index=True)


def robustness(bench: Bench) -> pd.DataFrame:
    """RAG, CRAG, Self-RAG and Self-CRAG while retrieval loses its accurate passages, and the generator alone (CRAG Figure 3).

    `kept` is the share of questions that keep theirs; the generator alone has it empty.
    """
    parts = [bench.run(SELF_RAG, [ClosedBook(bench.one_text)])]
    for kept in ACCURACY_KEPT:
        retriever = DegradedRetriever(bench.setup.retriever, bench.questions, kept)
        corrector = bench.corrector(retriever)
        systems = [
            StandardRag(retriever, bench.one_text, bench.top_k),
            Crag(corrector, bench.one_text),
            SelfRag(retriever, bench.reflective, bench.top_k),
            SelfCrag(corrector, bench.reflective),
        ]
        parts.append(bench.run(SELF_RAG, systems).assign(kept=kept))
    return pd.concat(parts, ignore_index=True)


def calibration_data(bench: Bench) -> dict[str, CalibrationData]:
    """What threshold calibration starts from, of the embedded dev and test questions: CRAG's three kinds of knowledge are
    answered from once a question, on the generator of Self-RAG. An abstention counts 0."""
    setup, data = bench.setup, {}
    corrector = bench.corrector(setup.embedded_retriever)
    for split in ("dev", "test"):
        questions = embedded_questions(setup, bench.task, split)
        rows = run_systems([Crag(corrector, bench.one_text, v) for v in SINGLE_ACTIONS], questions, bench.score)
        outcomes = [own[MAIN_METRIC[bench.task]].fillna(0.0) for _, own in rows.groupby("system", sort=False)]
        retrieved = embedded_hits(setup, questions)
        labels = [[pair.label for pair in own] for own in label_hits(questions, retrieved)]
        scores = score_hits(questions, retrieved, bench.evaluator)
        data[split] = CalibrationData(
            scores,
            np.array([max(own, default=-1.0) > 0 for own in labels]),
            np.concatenate(scores),
            np.concatenate(labels),
            np.stack(outcomes, axis=1),
        )
    return data
