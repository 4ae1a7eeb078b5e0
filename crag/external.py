"""Real data from outside: labelled PopQA pairs, and PopQA questions with the knowledge that CRAG's authors released.

Nothing is trained, fitted or copied here: cuts and thresholds are those of the embedded dev questions, and the tables hold ids
and scores. `make external` reads the folder that RAG_EXTERNAL_DATA names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from crag.actions import Action, Thresholds, decide
from crag.analysis import judge_all, retrieved_pairs
from crag.evaluator import Evaluator
from crag.pairs import Pair, load_pairs
from crag.refinement import STRIP_SENTENCES
from crag.setup import calibrate, evaluators, llm_judges, train_evaluator
from rag.corpus import read_lines, sentences
from rag.cost import cost_trace, spent
from rag.errors import RagError
from rag.experiment import run_systems, summarise
from rag.external import draw, external_run
from rag.results import write_table
from rag.setup import Setup, load_setup
from rag.systems import GeneratorReader, Reader
from rag.types import Answer, Question

PAIRS = Path("popqa") / "wiki18_pairs.jsonl"
KNOWLEDGE = Path("popqa") / "crag_knowledge.jsonl"


@dataclass(frozen=True)
class ReleasedKnowledge:
    """A question with released internal and web knowledge."""

    question: Question
    internal: str
    web: str


def load_knowledge(path: Path) -> list[ReleasedKnowledge]:
    """JSON lines with index, question, answers, internal and web. Raises `RagError` that names the first bad row."""
    found: dict[str, ReleasedKnowledge] = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            question = Question(str(row["index"]), row["question"], tuple(row["answers"]), form="published")
            known = ReleasedKnowledge(question, row["internal"], row["web"])
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise RagError(
                f"{path.name}, row {number}: a row needs index, question, answers, internal and web ({error!r})"
            ) from error
        if question.id in found:
            raise RagError(f"{path.name}, row {number}: index {question.id} occurs twice: indexes must be unique")
        found[question.id] = known
    return list(found.values())


class GivenKnowledge:
    """Answers from knowledge that is given by question id; the trace holds the action that chose it, and the cost."""

    def __init__(self, name: str, reader: Reader, knowledge: Mapping[str, str], actions: Mapping[str, Action]):
        self.name = name
        self.reader = reader
        self.knowledge = knowledge
        self.actions = actions

    def answer(self, questions: list[Question]) -> list[Answer]:
        read = self.reader.read(questions, [self.knowledge[question.id] for question in questions])
        return [
            Answer(
                question.id,
                own.text,
                trace={"action": self.actions[question.id].value, **cost_trace({"answer": spent([own])})},
            )
            for question, own in zip(questions, read, strict=True)
        ]


def choose_actions(known: list[ReleasedKnowledge], evaluator: Evaluator, thresholds: Thresholds) -> dict[str, Action]:
    """CRAG's action for each question, from the scores of the strips of its internal knowledge."""
    strips = []
    for one in known:
        parts = sentences(one.internal)
        strips.append([" ".join(parts[i : i + STRIP_SENTENCES]) for i in range(0, len(parts), STRIP_SENTENCES)])
    pairs = [Pair(one.question.text, "", strip) for one, own in zip(known, strips, strict=True) for strip in own]
    scores = iter(evaluator.score(pairs).tolist())
    return {
        one.question.id: decide([next(scores) for _ in own], thresholds) for one, own in zip(known, strips, strict=True)
    }


def knowledge_rows(
    setup: Setup, known: list[ReleasedKnowledge], evaluator: Evaluator, thresholds: Thresholds
) -> pd.DataFrame:
    """The embedded generator with internal knowledge, with web knowledge, with both, and with what CRAG's action chooses."""
    reader = GeneratorReader(setup.generator())
    actions = choose_actions(known, evaluator, thresholds)
    sources = {
        "internal": {one.question.id: one.internal for one in known},
        "web": {one.question.id: one.web for one in known},
        "both": {one.question.id: "\n".join(filter(None, (one.internal, one.web))) for one in known},
    }
    of_action = {Action.CORRECT: "internal", Action.INCORRECT: "web", Action.AMBIGUOUS: "both"}
    chosen = {i: sources[of_action[action]][i] for i, action in actions.items()}
    systems = [GivenKnowledge(name, reader, own, actions) for name, own in {**sources, "crag": chosen}.items()]
    return run_systems(systems, [one.question for one in known])


def main() -> None:
    """Write the external tables of a profile."""
    run = external_run(__doc__)
    setup = load_setup(run.profile)
    profile = setup.profile
    samples, seed = profile.bootstrap_samples, profile.seed

    table, rows = judge_all(
        evaluators(setup),
        llm_judges(setup),
        retrieved_pairs(setup, "dev"),
        load_pairs(run.folder / PAIRS),
        profile.evaluator.judged_pairs,
        samples,
        seed,
    )
    write_table(profile, "external_evaluator", table)
    write_table(profile, "external_evaluator_rows", rows)

    known = draw(load_knowledge(run.folder / KNOWLEDGE), run.questions, lambda one: one.question.id)
    evaluator = train_evaluator(setup)
    rows = knowledge_rows(setup, known, evaluator, calibrate(setup, evaluator))
    write_table(profile, "external_knowledge", summarise(rows, "internal", samples, seed))
    write_table(profile, "external_knowledge_rows", rows.drop(columns="output"))


if __name__ == "__main__":
    main()
