"""Profiles, and the command line's refusals."""

import os
import subprocess
import sys

import pytest

from rag.errors import RagError
from rag.paths import NOTEBOOKS, ROOT
from rag.profile import load_profile, profile_names
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
    assert [profile.ambiguous.test for profile in (full, mini, smoke)] == [150, 24, 6]
    assert [profile.ambiguous.dev for profile in (full, mini, smoke)] == [40, 12, 4]
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
