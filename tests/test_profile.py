"""Profiles, published question files, and the command line's refusals."""

import json
import os
import subprocess
import sys

import pytest

from rag.datasets.published import load_questions
from rag.errors import RagError
from rag.paths import NOTEBOOKS, ROOT
from rag.profile import load_profile, profile_names
from rag.reproduce import check_parameters
from rag.setup import Setup


def test_the_offline_profiles_are_valid():
    assert profile_names() == ["full", "mini", "paper", "smoke"]
    full, mini, smoke = (load_profile(name) for name in ("full", "mini", "smoke"))
    assert (full.name, mini.name, smoke.name) == ("full", "mini", "smoke")
    assert full.questions.test >= 300 and mini.questions.test >= 60


def test_the_paper_profile_names_what_it_lacks():
    with pytest.raises(RagError, match=r"paper\.yaml: .*data/external/wikipedia\.jsonl does not exist"):
        load_profile("paper")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("questions: {train: 1, dev: 1, test: 1}\ntopk: 5", "topk: Extra inputs are not permitted"),
        ("questions: {train: 1, dev: 1, test: 0}", "questions.test: Input should be greater"),
        ("questions: {train: 1, dev: 1, test: 1}\nretriever: bm26", "retriever: Input should be"),
        ("questions: {train: 1, dev: 1, test: 1}\ncollection: none.jsonl", "none.jsonl does not exist"),
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
    with pytest.raises(RagError, match=r"asks for 5000 dev questions, \d+ can be built"):
        setup.questions  # noqa: B018


def write_rows(tmp_path, *rows):
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_published_questions(tmp_path):
    path = write_rows(
        tmp_path,
        {"id": 7, "question": "Who?\u2028 \r Really?", "answers": ["A", "B"]},
        {"question": "When?", "possible_answers": '["1801", "1802"]'},
        {"question": "Unread", "answers": []},
    )
    first, second = load_questions(path, limit=2)
    assert (first.id, first.text, first.answers) == ("7", "Who?\u2028 \r Really?", ("A", "B"))
    assert (second.id, second.answers, second.article_id) == ("2", ("1801", "1802"), None)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "row 2: not JSON"),
        ({"question": "Who?"}, "row 2: a row needs question and answers"),
        ({"question": "Who?", "answers": "A"}, "row 2: a row needs question and answers"),
        ({"question": "Who?", "answers": []}, "row 2: question '2' has an empty gold answer"),
        ({"question": "", "answers": ["A"]}, "row 2: question '2' has no text"),
        ({"question": "x" * 10_000, "answers": ["A"]}, "row 2: question '2' has 10,000 characters"),
        ({"id": "1", "question": "Who?", "answers": ["A"]}, "row 2: question id '1' occurs twice"),
        ("[1]", "row 2: a row needs question and answers"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, says):
    path = write_rows(tmp_path, {"question": "Where?", "answers": ["A"]}, row)
    with pytest.raises(RagError, match=says):
        load_questions(path)


def test_a_missing_hub_is_one_line(monkeypatch):
    import datasets

    def fail(name, split):
        raise ConnectionError("Couldn't reach the hub\nlong story")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(RagError, match=r"cannot load 'a/b' from the hub \(Couldn't reach the hub\)"):
        load_questions("hub:a/b")


def test_hub_rows(monkeypatch):
    import datasets

    rows = datasets.Dataset.from_list([{"id": 1, "question": "Who?", "possible_answers": '["A"]'}])
    monkeypatch.setattr(datasets, "load_dataset", lambda name, split: rows if split == "test" else None)
    assert load_questions("hub:a/b")[0].answers == ("A",)
