"""DIVA's experiments and the choice of its parts, on a setup without a model."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from diva_fakes import (
    ADA,
    ADA_BORN,
    AZURE,
    BEN,
    BEN_BORN,
    BORN,
    CAPITAL,
    SEA,
    CountingRetriever,
    FakeSetup,
    WordEncoder,
    WritingGenerator,
    ambiguous,
)

from diva import experiments
from diva.clarifications import GeneratorExpander, PerInterpretationExpander
from diva.experiments import (
    ablation_results,
    ambiguous_test,
    interpretation_rows,
    lost_rows,
    main_results,
    recall_rows,
    seed_results,
    sweep_rows,
    timed,
    verification_rows,
)
from diva.generation import PerInterpretationWriter, TwoStepWriter
from diva.interpretation import Ambiguity, Demonstration, TitlesInterpreter, TwoStepInterpreter
from diva.setup import (
    answer_reader,
    baselines,
    demonstration,
    make_clarifications,
    make_diva,
    make_interpreter,
    make_refinement,
    make_verifier,
    make_writer,
)
from diva.system import Variant
from rag.profile import AmbiguousSettings
from rag.scoring.readers import ExtractiveReader, LexicalReader
from rag.types import Answer, Passage

TOLD = ("Ada Stone was born in 1801, while Ben Stone was born in 1900.",)
STONE = replace(
    BORN,
    form="surname",
    references=TOLD,
    interpretations=tuple(
        replace(own, article_id=name)
        for own, name in zip(BORN.interpretations, ("Ada_Stone", "Ben_Stone"), strict=True)
    ),
)
PORT = replace(CAPITAL, form="unambiguous", references=("Port Azure is the capital of Azuria.",))
HILL = replace(
    ambiguous("hill", "When was Hill born?", ("When was Al Hill born?", "1700"), ("When was Bo Hill born?", "1750")),
    form="surname",
    references=("Al Hill was born in 1700, Bo Hill in 1750.",),
)
EVERY = {"train": [HILL], "dev": [STONE, PORT], "test": [STONE, PORT, HILL]}


def make_setup(table, write=lambda prompt: "", adapted=None, questions=None, **settings):
    questions = {**EVERY, **(questions or {})}
    return FakeSetup(questions, CountingRetriever(table), WritingGenerator(write), adapted or {}, **settings)


# Which parts a profile has


def embedded(table=None, **settings):
    adapted = {name: WritingGenerator() for name in ("interpretation", "verification")}
    return make_setup(table or {}, adapted=adapted, **settings)


def test_the_embedded_model_has_its_adapters_and_answers_one_interpretation_at_a_time():
    setup = embedded()
    interpreter = make_interpreter(setup, setup.ambiguous_retriever)
    assert isinstance(interpreter, TitlesInterpreter)
    assert interpreter.generator is setup.adapted["interpretation"]
    assert make_verifier(setup).generator is setup.adapted["verification"]
    assert setup.lengths == [128, 1]  # of a list of questions, and of one word
    writer = make_writer(setup)
    assert isinstance(writer, PerInterpretationWriter) and writer.generator.generator is setup.writing
    assert writer.extractor is setup.adapted["verification"]
    tree = make_clarifications(setup)
    assert isinstance(tree.expander, PerInterpretationExpander) and tree.join
    assert tree.expander.extractor is setup.adapted["verification"]
    assert setup.lengths[2:] == [16, 96, 96, 128, 16]  # the answer of one interpretation, a long one, and the tree's


def test_any_other_model_is_prompted():
    setup = make_setup({}, model="m")
    interpreter = make_interpreter(setup, setup.ambiguous_retriever)
    assert isinstance(interpreter, TwoStepInterpreter)
    assert interpreter.demonstrations.pool == [demonstration(HILL)]
    assert make_verifier(setup).generator.generator is setup.writing
    assert isinstance(make_writer(setup), TwoStepWriter)
    tree = make_clarifications(setup)
    assert isinstance(tree.expander, GeneratorExpander) and not tree.join
    assert set(setup.lengths) == {96}


def test_a_train_question_is_an_example_by_its_form():
    texts = ("When was Al Hill born?", "When was Bo Hill born?")
    assert demonstration(HILL) == Demonstration(
        "When was Hill born?", (Ambiguity.SUBJECT,), "several people have this family name", texts
    )
    assert demonstration(replace(HILL, form="office")).kinds == (Ambiguity.TIME,)
    assert not demonstration(PORT).ambiguous and demonstration(PORT).interpretations == (PORT.text,)


def test_the_systems_by_name():
    assert [system.name for system in baselines(embedded())] == [
        "closed-book",
        "rag",
        "query-refinement",
        "iterative-rag",
    ]
    assert make_diva(embedded()).name == "diva"
    web = SimpleNamespace(correct=list)
    other = make_diva(embedded(), Variant("diva + web"), web)
    assert (other.name, other.corrective) == ("diva + web", web)
    assert make_refinement(embedded()).rewriter.generator is not None


def test_the_reader_that_the_profile_names():
    assert isinstance(answer_reader(embedded()), LexicalReader)
    reader = answer_reader(embedded(reader="deepset/roberta"))
    assert isinstance(reader, ExtractiveReader) and reader.model == "deepset/roberta"


# Main results


class Saying:
    """Says the same to all questions, at the same cost."""

    def __init__(self, name, text, cost=None, log=None):
        self.name = name
        self.text = text
        self.trace = {"cost": cost} if cost else {}
        self.log = log if log is not None else []

    def answer(self, questions):
        self.log.append((self.name, [question.id for question in questions]))
        return [Answer(question.id, self.text, (), self.trace) for question in questions]


# Of the two stones standard RAG finds one; the port; of the hills nothing.
FOUND = {STONE.text: [SEA, ADA], PORT.text: [AZURE]}


def test_main_results_have_scores_costs_and_coverage():
    setup = make_setup(FOUND)
    paid = Saying("paid", "It was 1801.", {"answer": [1, 100, 50], "write": [2, 100, 50]})
    rows = main_results(setup, [Saying("free", "1700, 1750, Port Azure"), paid])
    assert rows["system"].tolist() == ["free"] * 3 + ["paid"] * 3
    assert rows["question_id"].tolist() == ["born", "capital", "hill"] * 2
    assert (rows["dataset"] == "embedded").all()
    assert rows["str_em"].tolist() == [0, 1, 1, 0.5, 0, 0]
    assert {"d_f1", "rouge_l", "output", "contexts", "trace", "relation", "form"} < set(rows)
    # The same for both systems, whatever they read: that of standard RAG.
    assert rows["coverage"].tolist() == ["partial", "full", "none"] * 2
    assert rows[["calls", "tokens_in", "tokens_out"]].to_numpy().tolist() == [[0, 0, 0]] * 3 + [[3, 200, 100]] * 3
    # A thousand times 200 tokens at half a dollar a million and 100 at one and a half.
    assert rows["usd"].tolist() == pytest.approx([0.0] * 3 + [0.25] * 3)
    assert setup.ambiguous_retriever.calls == [[STONE.text, PORT.text, HILL.text]]


def test_coverage_is_of_as_many_passages_as_are_read():
    # Of six the last is not among the five that standard RAG reads.
    others = [Passage(f"Other#{i}", "Other", "Nothing.") for i in range(4)]
    rows = main_results(make_setup({STONE.text: [ADA, *others, BEN]}), [Saying("free", "")])
    assert rows["coverage"].iloc[0] == "partial"
    rows = main_results(make_setup({STONE.text: [ADA, *others[1:], BEN]}), [Saying("free", "")])
    assert rows["coverage"].iloc[0] == "full"


def test_rows_name_the_users_own_questions():
    setup = make_setup({})
    own = AmbiguousSettings(dev=1, test=1, source="somewhere/asqa-dev.jsonl")
    setup.profile = setup.profile.model_copy(update={"ambiguous": own})
    assert set(main_results(setup, [Saying("free", "")])["dataset"]) == {"asqa-dev"}


def test_ablations_are_run_beside_the_whole_method():
    table = {text: [ADA, BEN] for text in (STONE.text, PORT.text, HILL.text)}
    rows = ablation_results(embedded(table))
    assert rows["system"].unique().tolist() == [
        "diva",
        "diva without diversification",
        "diva without adaptation",
        "diva without pruning",
        "diva without verification",
    ]
    assert rows.groupby("system").size().tolist() == [3] * 5
    stages = {own.system: set(json.loads(own.trace)["cost"]) for own in rows.itertuples()}
    assert "verify" in stages["diva"] and "verify" not in stages["diva without verification"]


# Time


def test_systems_take_turns_after_one_unmeasured_answer_each(monkeypatch):
    log, clock = [], iter(range(1000))
    systems = [Saying("one", "", log=log), Saying("two", "", log=log)]
    monkeypatch.setattr(experiments, "time", SimpleNamespace(perf_counter=lambda: next(clock) ** 2))
    rows = timed(systems, [STONE, PORT])
    first = [("one", ["born"]), ("two", ["born"])]
    assert log == [*first, *first, ("one", ["capital"]), ("two", ["capital"])]
    assert rows.to_numpy().tolist() == [
        ["one", "born", 1 - 0],  # the clock was not looked at before
        ["two", "born", 9 - 4],
        ["one", "capital", 25 - 16],
        ["two", "capital", 49 - 36],
    ]


# Seeds


class Drawing(FakeSetup):
    """Its generator writes the temperature and the seed that it draws with, and another year with each seed."""

    def uncached_generator(self, max_new_tokens):
        drawn = self.sampling
        return WritingGenerator(lambda prompt: f"{drawn.temperature}, {drawn.seed}: {1800 + drawn.seed}")


def test_each_seed_answers_the_dev_questions_anew():
    questions = {**EVERY, "dev": [STONE, HILL]}
    adapted = {name: WritingGenerator() for name in ("interpretation", "verification")}
    setup = Drawing(questions, CountingRetriever({}), WritingGenerator(), adapted, seeds=3)
    rows = seed_results(setup)
    assert rows[["seed", "system", "question_id"]].to_numpy().tolist() == [
        [seed, system, question] for seed in range(3) for system in ("rag", "diva") for question in ("born", "hill")
    ]
    # The paper's temperature.
    assert rows["output"].tolist() == [f"0.3, {seed}: {1800 + seed}" for seed in range(3) for _ in range(4)]
    born = rows[rows["question_id"] == "born"]
    assert born["str_em"].tolist() == [0, 0, 0.5, 0.5, 0, 0]
    assert setup.sampling is None


# Interpretation


def test_interpretations_are_compared_word_for_word_after_normalising():
    def titles(prompt):
        if "Stone" in prompt:
            return f"{ADA_BORN.upper()} | When was the tailor Cy Stone born?"
        return "What is the river of Azuria?" if "Azuria" in prompt else "no ambiguity"

    def write(prompt):
        asked = prompt.rpartition("Question: ")[2]
        if asked.endswith("Ambiguity:"):
            return "subject | Two." if "Stone" in asked else "none | One."
        if asked.endswith("Analysis:"):
            return "none | One."
        return f"{BEN_BORN} | {ADA_BORN}"

    setup = make_setup({}, write, {"interpretation": WritingGenerator(titles)})
    rows = interpretation_rows(setup, "dev").set_index(["interpreter", "question_id"])
    assert rows["ambiguous"].tolist() == [True, False] * 3
    columns = rows[["recall", "precision", "changed", "interpretations"]]
    assert {key: own.tolist() for key, own in columns.iterrows()} == {
        ("two calls", "born"): [1, 1, 1, 2],
        ("two calls", "capital"): [1, 1, 0, 1],
        ("one merged call", "born"): [0, 0, 0, 1],
        ("one merged call", "capital"): [1, 1, 0, 1],
        ("titles", "born"): [0.5, 0.5, 1, 2],
        ("titles", "capital"): [0, 0, 1, 1],
    }


def test_a_prompted_model_has_no_titles_form():
    rows = interpretation_rows(make_setup({}, lambda prompt: "none | One.", model="m"), "dev")
    assert rows["interpreter"].unique().tolist() == ["two calls", "one merged call"]


# Retrieval

MARK = Passage("Mark#0", "Mark", "Number 18010 on the list.")  # holds 1801 as a substring alone
RETRIEVED = {
    STONE.text: [SEA, MARK, BEN],
    "births of all stones": [ADA, BEN],
    ADA_BORN: [SEA, ADA],
    BEN_BORN: [BEN],
    "When was the tailor Cy Stone born?": [SEA],
}
INTERPRETED = f"{ADA_BORN} | When was the tailor Cy Stone born?"


def retrieving(interpreted=INTERPRETED, table=None, **settings):
    """Only the stones are asked. The generator writes the refined query."""
    adapted = {"interpretation": WritingGenerator(lambda prompt: interpreted), "verification": WritingGenerator()}
    write = lambda prompt: "births of all stones"  # noqa: E731
    return make_setup(table or RETRIEVED, write, adapted, {"test": [STONE, PORT]}, **settings)


def test_only_questions_with_several_interpretations_are_retrieved_for():
    assert ambiguous_test(retrieving()) == [STONE]


def test_recall_by_hand():
    rows = recall_rows(retrieving())
    assert set(rows["question_id"]) == {"born"} and len(rows) == 6 * 5
    curves = {name: own.set_index("k")[["mrecall", "mrecall_token"]] for name, own in rows.groupby("retrieval")}
    assert {name: own["mrecall"].tolist() for name, own in curves.items()} == {
        # The sea; the mark, one of two; Ben, two of two.
        "standard": [0, 0, 1, 1, 1],
        # Ada, one of one; both.
        "query-refinement": [1, 1, 1, 1, 1],
        # Ada before the sea (a name of Stone, a chemist), then no other.
        "diva": [1, 0, 0, 0, 0],
        "gold": [1, 1, 1, 1, 1],
        # The sea, which is first for Ada and for Cy, then Ada; no Ben.
        "diva, in turn": [0, 0, 0, 0, 0],
        # The sea, Ben, Ada.
        "gold, in turn": [0, 0, 1, 1, 1],
    }
    assert curves["standard"]["mrecall_token"].tolist() == [0, 0, 0, 0, 0]
    assert curves["gold"]["mrecall_token"].tolist() == [1, 1, 1, 1, 1]


def test_recall_is_measured_with_every_retriever():
    setup = retrieving()
    setup.ambiguous_retrievers = {"hybrid": CountingRetriever(RETRIEVED), "bm25": CountingRetriever({})}
    at_five = recall_rows(setup).query("k == 5").set_index(["retriever", "retrieval"])["mrecall"]
    assert (at_five["hybrid", "standard"], at_five["bm25", "standard"]) == (1, 0)


def test_sweeps_change_one_setting_at_a_time():
    waves = [Passage(f"Wave_{i}#0", f"Wave {i}", "Salt water.") for i in range(7)]
    table = {ADA_BORN: [waves[0], ADA, *waves[1:4]], BEN_BORN: [*waves[4:7], BEN]}
    setup = retrieving(f"{ADA_BORN} | {BEN_BORN}", table)
    rows = sweep_rows(setup)
    assert {
        name: dict(zip(own["setting_value"], own["mrecall"], strict=True)) for name, own in rows.groupby("setting")
    } == {
        # With the first alone only Ada's page is looked for.
        "interpretations": {1: 0, 2: 1, 3: 1, 5: 1},
        # Ada's page is the second that is found for her, Ben's the fourth.
        "top_k": {1: 0, 3: 0, 5: 1, 10: 1},
        # Fused, Ben's page comes behind three waves of his and what is as high for Ada.
        "pool": {5: 0, 10: 1, 25: 1},
    }
    assert (rows["question_id"] == "born").all()
    # The interpreter is asked once, with a first retrieval; then one retrieval a value.
    calls = setup.ambiguous_retriever.calls
    assert len(calls) == 1 + 4 + 4 + 3
    assert calls[0] == [STONE.text] and calls[1] == [ADA_BORN] and calls[2:] == [[ADA_BORN, BEN_BORN]] * 10


# Verification


def test_verdicts_stand_beside_what_the_passages_hold():
    # Ben's year is told of another, and his own page doesn't tell it.
    elsewhere = Passage("Sea#1", "Sea", "In 1900 the sea was salt.")
    mute = Passage("Ben_Stone#1", "Ben Stone", "Ben Stone was a Welsh painter.")
    table = {ADA_BORN: [ADA, elsewhere], BEN_BORN: [mute, elsewhere], PORT.text: []}
    adapted = {
        "interpretation": WritingGenerator(),
        "verification": WritingGenerator(
            yes=lambda prompt: (0.9, 0.1) if "chemist Ada" in prompt[-40:] else (0.1, 0.3)
        ),
    }
    rows = verification_rows(make_setup(table, adapted=adapted), "dev")
    assert rows["verifier"].tolist() == ["prompted"] * 3 + ["trained"] * 3
    trained = rows[rows["verifier"] == "trained"].set_index("interpretation")
    assert trained["answered"].to_dict() == {ADA_BORN: True, BEN_BORN: False, PORT.text: False}
    assert trained["yes"].to_dict() == {ADA_BORN: True, BEN_BORN: False, PORT.text: False}
    assert trained["chance"].tolist()[:2] == [0.9, 0.25] and pd.isna(trained["chance"].iloc[2])
    prompted = rows[rows["verifier"] == "prompted"]
    assert prompted["answered"].tolist() == [True, False, False]
    assert prompted["yes"].tolist() == [True, True, False] and prompted["chance"].iloc[0] == pytest.approx(0.6667)
    other = verification_rows(make_setup(table, model="m"), "dev")
    assert other["verifier"].unique().tolist() == ["prompted"]


def test_without_an_article_any_passage_holds_the_answer():
    rows = verification_rows(
        make_setup({ADA_BORN: [SEA], BEN_BORN: [BEN]}, questions={"dev": [BORN]}, model="m"), "dev"
    )
    assert rows["answered"].tolist() == [False, True]


# Where answers are lost


def lost(output, hits, kept, form="two steps"):
    """The stages at which the two years are lost."""
    trace = {"hits": hits, "kept": [[i, 0.5] for i in kept], "form": form}
    rows = pd.DataFrame([{"question_id": "born", "output": output, "trace": json.dumps(trace)}])
    found = lost_rows(rows, [STONE], {passage.id: passage for passage in (ADA, BEN, SEA)})
    assert (found["question_id"] == "born").all() and (found["form"] == "surname").all()
    return found["stage"].tolist()


BOTH = [[ADA.id, SEA.id], [BEN.id]]


@pytest.mark.parametrize(
    ("output", "hits", "kept", "form", "stages"),
    [
        ("1801 and 1900", BOTH, [ADA.id, BEN.id], "two steps", ["none", "none"]),
        ("Only 1801.", BOTH, [ADA.id, BEN.id], "two steps", ["none", "generation"]),
        ("Only 1801.", BOTH, [ADA.id, SEA.id], "two steps", ["none", "pruning"]),
        ("", [[SEA.id], [BEN.id]], [BEN.id], "standard", ["retrieval", "generation"]),
        ("", BOTH, [BEN.id], "closed book", ["pruning", "verification"]),
        ("", [[], []], [], "closed book", ["retrieval", "retrieval"]),
        # Known without having been found.
        ("1801", [[SEA.id], []], [SEA.id], "closed book", ["none", "retrieval"]),
        # One interpretation may find what the other lacks.
        ("", [[BEN.id], [ADA.id]], [BEN.id, ADA.id], "two steps", ["generation", "generation"]),
    ],
)
def test_the_first_stage_without_the_answer(output, hits, kept, form, stages):
    assert lost(output, hits, kept, form) == stages


def test_every_answer_of_every_question_is_accounted_for():
    def yes(prompt):
        return (0.9, 0.1) if "Stone" in prompt else (0.1, 0.9)

    adapted = {
        "interpretation": WritingGenerator(lambda prompt: f"{ADA_BORN} | {BEN_BORN}" if "Stone" in prompt else "none"),
        "verification": WritingGenerator(lambda prompt: "yes: 1801" if prompt.endswith(ADA_BORN) else "no", yes),
    }
    table = {ADA_BORN: [ADA], BEN_BORN: [SEA, BEN], PORT.text: [AZURE]}
    encoder = WordEncoder("stone", "chemist", "painter", "azuria")
    setup = make_setup(table, lambda prompt: "?", adapted, encoder=encoder)
    rows = main_results(setup, [make_diva(setup)])
    found = lost_rows(rows, setup.ambiguous["test"], {p.id: p for p in (ADA, BEN, SEA, AZURE)})
    # The port was found and not believed, of the hills nothing was found.
    assert found.groupby("question_id", sort=False)["stage"].agg(list).to_dict() == {
        "born": ["none", "generation"],
        "capital": ["verification"],
        "hill": ["retrieval", "retrieval"],
    }
