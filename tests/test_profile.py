"""Profiles, and the command line's refusals."""

import json
import os
import subprocess
import sys

import pytest
from fakes import TableRetriever, make_profile

from rag import reproduce, results, setup
from rag.cache import NoCache
from rag.encoding import SentenceEncoder
from rag.errors import RagError
from rag.generation import LanguageModel, LocalGenerator, Sampling
from rag.paths import NOTEBOOKS, ROOT
from rag.profile import AmbiguousSettings, GeneratorSettings, load_profile, profile_names
from rag.reproduce import check_parameters
from rag.setup import Setup
from rag.types import CRAG_TASKS, Task


def test_the_offline_profiles_are_valid():
    assert profile_names() == ["full", "mini", "paper", "smoke"]
    full, mini, smoke = (load_profile(name) for name in ("full", "mini", "smoke"))
    assert (full.name, mini.name, smoke.name) == ("full", "mini", "smoke")
    for task, settings in full.tasks.items():
        assert settings.test > mini.tasks[task].test > smoke.tasks[task].test > 0
    assert full.questions.test >= 300
    assert [full.tasks[task].max_new_tokens for task in CRAG_TASKS] == [24, 96, 16, 24]
    assert [profile.ambiguous.test for profile in (full, mini, smoke)] == [125, 24, 6]
    assert [profile.ambiguous.dev for profile in (full, mini, smoke)] == [30, 12, 4]
    assert full.answer_tokens(Task.AMBIGUOUS) == 96 and full.answer_tokens(Task.CLAIM) == 16


def test_the_paper_profile_names_what_it_lacks():
    with pytest.raises(RagError, match=r"paper\.yaml: settings: .*data/external/wikipedia\.jsonl does not exist"):
        load_profile("paper")


SIZES = """\
questions: {train: 1, dev: 1, test: 1}
claims: {dev: 1, test: 1}
choices: {dev: 1, test: 1}
biographies: {dev: 1, test: 1}
"""


def test_a_profile_needs_no_more_than_the_sizes_of_its_tasks(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(SIZES)
    profile = load_profile(str(path))
    assert (profile.name, profile.top_k, profile.self_rag.delta) == ("mine", 5, 0.2)
    assert set(profile.tasks) == set(CRAG_TASKS)
    path.write_text(SIZES.splitlines()[0])
    assert list(load_profile(str(path)).tasks) == [Task.SHORT_ANSWER]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{SIZES}topk: 5", "topk: Extra inputs are not permitted"),
        ("questions: {train: 1, dev: 1, test: 0}", "questions.test: Input should be greater"),
        (SIZES.replace("claims: {dev: 1, ", "claims: {"), "claims.dev: Field required"),
        (SIZES.replace("choices: {dev: 1,", "choices: {train: 9, dev: 1,"), "choices.train: Extra inputs"),
        (SIZES.replace("claims: {", "claims: {source: gone.jsonl, "), "gone.jsonl does not exist"),
        (SIZES.replace("questions: {", "questions: {page_views_below: 100, "), "page_views_below needs a source"),
        (f"{SIZES}ambiguous: {{test: 1}}", "ambiguous.dev: Field required"),
        (f"{SIZES}ambiguous: {{dev: 1, test: 1, seeds: 1}}", "ambiguous.seeds: Input should be greater"),
        (f"{SIZES}ambiguous: {{dev: 1, test: 1, timed: 0}}", "ambiguous.timed: Input should be greater"),
        (f"{SIZES}ambiguous: {{dev: 1, test: 1, source: gone.json}}", "gone.json does not exist"),
        # Of the hub only the four tasks of CRAG are read.
        (f"{SIZES}ambiguous: {{dev: 1, test: 1, source: 'hub:owner/asqa'}}", "hub:owner/asqa does not exist"),
        (f"{SIZES}self_rag: {{delta: 1.5}}", "self_rag.delta: Input should be less"),
        (f"{SIZES}retriever: bm26", "retriever: Input should be"),
        (f"{SIZES}collection: none.jsonl", "none.jsonl does not exist"),
        ("top_k: 5", "questions: Field required"),
        ("just words", "not a YAML file of settings"),
        ("a: [", "not a YAML file of settings"),
    ],
)
def test_bad_profiles_are_named(tmp_path, text, says):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(RagError, match=f"mine.yaml.*{says}") as caught:
        load_profile(str(path))
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_is_one_line_on_the_command_line():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rag.reproduce", "huge"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "error: unknown profile 'huge': take one of full, mini, paper, smoke, or the path of a .yaml file"
    ]


def test_an_unknown_parameter_is_refused():
    notebook = next(NOTEBOOKS.glob("00_*.ipynb"))
    check_parameters(notebook, {"profile": "smoke"})
    with pytest.raises(RagError, match="no parameter seed: it has profile"):
        check_parameters(notebook, {"seed": "1"})


def test_too_many_questions_are_refused(real_articles):
    profile = load_profile("smoke")
    setup = Setup(profile.model_copy(update={"questions": profile.questions.model_copy(update={"dev": 5000})}))
    with pytest.raises(RagError, match=r"asks for 5000 dev questions of task short-answer, \d+ can be built"):
        setup.questions  # noqa: B018


def test_the_settings_of_ambiguous_questions(tmp_path):
    (tmp_path / "asqa.json").write_text("{}")
    path = tmp_path / "mine.yaml"
    path.write_text(f"{SIZES}ambiguous: {{dev: 2, test: 3}}")
    plain = load_profile(str(path)).ambiguous
    assert (plain.source, plain.reader, plain.timed, plain.seeds) == (None, None, 12, 5)
    path.write_text(
        f"{SIZES}ambiguous: {{dev: 2, test: 3, source: {tmp_path}/asqa.json, reader: r, timed: 1, seeds: 2}}"
    )
    own = load_profile(str(path)).ambiguous
    assert (own.source, own.reader, own.timed, own.seeds) == (tmp_path / "asqa.json", "r", 1, 2)


ASQA = """\
{"id": "a", "question": "When was Stone born?", "qa_pairs": [{"question": "Ada?", "short_answers": ["1801"]}]}
{"id": "b", "question": "When was Hill born?", "qa_pairs": [{"question": "Al?", "short_answers": ["1700"]}]}
"""


def test_the_users_own_test_questions_stand_in_for_the_embedded(tmp_path, cache_folder):
    path = tmp_path / "asqa.jsonl"
    path.write_text(ASQA)
    embedded = {"train": ["t1", "t2"], "dev": ["d1", "d2"], "test": ["e1", "e2", "e3"]}

    def ambiguous(**settings):
        own = Setup(make_profile(ambiguous=AmbiguousSettings(source=path, **settings)))
        own.all_ambiguous = embedded
        return own.ambiguous

    chosen = ambiguous(dev=1, test=1)
    assert (chosen["train"], chosen["dev"]) == (["t1", "t2"], ["d1"])
    assert [question.text for question in chosen["test"]] == ["When was Stone born?"]
    assert len(ambiguous(dev=1, test=2)["test"]) == 2
    assert len(embedded["test"]) == 3
    with pytest.raises(RagError, match=rf"asks for 3 ambiguous test questions, {path} holds 2: lower that number"):
        ambiguous(dev=1, test=3)
    with pytest.raises(RagError, match="asks for 3 ambiguous dev questions, 2 can be built: lower that number"):
        ambiguous(dev=3, test=1)


@pytest.fixture
def own(tiny_llama, cache_folder):
    """A setup on a tiny model."""
    return Setup(make_profile(generator=GeneratorSettings(model=str(tiny_llama), batch_size=3)))


def test_another_setup_shares_what_is_loaded(own):
    before = own.generator()
    own._adapted["adapter"] = LanguageModel()
    own.encoder = SentenceEncoder()
    own.ambiguous_retrievers = {"hybrid": TableRetriever({})}
    cache, drawing = NoCache(), Sampling(0.3, 1)
    other = own.but(cache=cache)
    both = other.but(sampling=drawing)
    assert (own.cache is cache, other.cache is cache, both.cache is cache) == (False, True, True)
    assert (own.sampling, other.sampling, both.sampling) == (None, None, drawing)
    assert own.but().cache is own.cache
    for one in (other, both):
        assert one.profile is own.profile and one.encoder is own.encoder
        assert one.ambiguous_retriever is own.ambiguous_retriever
        assert one.generator().generator.lm is before.generator.lm
        assert one.cached_encoder.encoder is own.encoder and one.cached_encoder.cache is cache
        assert one.adapted_generator("adapter", 5).generator.lm is own._adapted["adapter"]
    assert both.generator().generator.sampling == both.adapted_generator("adapter", 5).generator.sampling == drawing
    assert other.generator().identity == before.identity != both.generator().identity


def test_an_adapter_is_loaded_once_whatever_it_writes(own, monkeypatch, tmp_path):
    loads = []

    class Adapted:
        identity = {"model": "adapted"}

        def __init__(self, adapter, precision):
            loads.append((adapter, precision))

    monkeypatch.setattr(setup, "LanguageModel", Adapted)
    first, longer = (own.adapted_generator(tmp_path / "a", length) for length in (1, 128))
    own.but(cache=NoCache()).adapted_generator(tmp_path / "a", 1)
    own.adapted_generator(tmp_path / "b", 1)
    assert loads == [(tmp_path / "a", "native"), (tmp_path / "b", "native")]
    assert isinstance(first.generator, LocalGenerator) and first.generator.lm is longer.generator.lm
    assert (first.generator.max_new_tokens, longer.generator.max_new_tokens, first.generator.batch_size) == (1, 128, 3)
    assert first.cache is own.cache


@pytest.mark.parametrize("settings", [{}, {"ambiguous": AmbiguousSettings(dev=1, test=1)}])
def test_divas_notebooks_need_ambiguous_questions(settings, monkeypatch, capsys, cache_folder, tmp_path):
    run, written = [], []
    everything = ["00_data", "06_diva_retrieval", "07_diva_results"]
    for stem in everything:
        (tmp_path / f"{stem}.ipynb").touch()
    monkeypatch.setattr(reproduce, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(reproduce, "load_profile", lambda name: make_profile(**settings))
    monkeypatch.setattr(reproduce.assets, "fetch", lambda asset: None)
    monkeypatch.setattr(reproduce, "run_notebook", lambda notebook, *_: run.append(notebook.stem))
    monkeypatch.setattr(reproduce, "write_provenance", lambda profile, *facts: written.append(facts))
    reproduce.reproduce("fakes")
    left_out = [] if settings else ["06_diva_retrieval", "07_diva_results"]
    assert run == [stem for stem in everything if stem not in left_out]
    said = capsys.readouterr().out
    for stem in left_out:
        assert f"{stem} left out: the profile has no section ambiguous\n" in said
    assert said.count("left out") == len(left_out)
    assert set(written[0][0]) == set(run) and written[0][1]["started_with_empty_cache"]


def test_notebooks_are_chosen_by_how_their_names_begin(monkeypatch, tmp_path):
    for stem in ("00_data", "06_diva_retrieval", "07_diva_results", "draft"):
        (tmp_path / f"{stem}.ipynb").touch()
    monkeypatch.setattr(reproduce, "NOTEBOOKS", tmp_path)
    assert [own.stem for own in reproduce.chosen_notebooks(["07", "00"])] == ["00_data", "07_diva_results"]
    assert [own.stem for own in reproduce.chosen_notebooks([])] == ["00_data", "06_diva_retrieval", "07_diva_results"]
    with pytest.raises(RagError, match=r"no notebook begins with '7': there are 00_data, 06_diva_retrieval"):
        reproduce.chosen_notebooks(["06", "7"])


def test_a_run_of_some_notebooks_keeps_what_is_known_of_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "git_revision", lambda: "first")
    profile = make_profile()
    results.write_provenance(profile, {"00_data": 1.5, "06_diva_retrieval": 20.0}, {})
    monkeypatch.setattr(results, "git_revision", lambda: "second")
    results.write_provenance(profile, {"06_diva_retrieval": 30.0}, {})
    record = json.loads((tmp_path / profile.name / "provenance.json").read_text())
    assert record["notebooks"] == {
        "00_data": {"revision": "first", "seconds": 1.5},
        "06_diva_retrieval": {"revision": "second", "seconds": 30.0},
    }
