"""Published question sets: each task's columns, and rows that are refused."""

import json
import logging

import pytest
import yaml

from rag.datasets.published import load_document_sets, load_questions
from rag.errors import RagError
from rag.profile import load_profile
from rag.setup import Setup
from rag.types import CRAG_TASKS, Interpretation, Question, Task


def write_rows(tmp_path, *rows, name="questions.jsonl", end="\n"):
    path = tmp_path / name
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("".join(f"{line}{end}" for line in lines).encode())
    return path


def test_short_answers_in_both_forms(tmp_path):
    path = write_rows(
        tmp_path,
        {"id": 7, "question": "Who?\u2028 \r\n\n Really?", "answers": ["A", "B"]},
        "",
        {
            "question": "When?",
            "possible_answers": '["1801", "1802"]',
            "prop": "birth year",
            "s_wiki_title": "Ada Stone",
        },
        {"question": "Unread", "answers": []},
    )
    first, second = load_questions(path, Task.SHORT_ANSWER, limit=2)
    assert (first.id, first.text, first.answers) == ("7", "Who?\u2028 \r\n\n Really?", ("A", "B"))
    assert (second.id, second.answers, second.relation) == ("2", ("1801", "1802"), "birth year")
    assert second.article_id is None  # a title of Wikipedia's is no id of the collection
    assert {question.task for question in (first, second)} == {Task.SHORT_ANSWER}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n\r\n"])
def test_line_ends_and_a_byte_order_mark_shift_nothing(tmp_path, end):
    rows = [{"question": f"Who?\u0085\u2029{i}", "answers": [str(i)]} for i in range(4)]
    path = write_rows(tmp_path, *rows, end=end)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    loaded = load_questions(path, Task.SHORT_ANSWER)
    assert [(q.id, q.text, q.answers) for q in loaded] == [
        (str(i + 1), f"Who?\u0085\u2029{i}", (str(i),)) for i in range(4)
    ]


def test_a_bare_carriage_return_does_not_shift_entities(tmp_path):
    path = write_rows(tmp_path, "Ada\rStone", " Ben\u2028Stone ", "\r", "Eva Lind", name="entities.txt")
    assert [question.id for question in load_questions(path, Task.BIOGRAPHY)] == ["Ada Stone", "Ben Stone", "Eva Lind"]


def test_the_long_tail(tmp_path, caplog):
    rows = [{"id": views, "question": "Who?", "answers": ["A"], "s_pop": views} for views in (99, 100, 5, 40000)]
    path = write_rows(tmp_path, *rows)
    assert [q.id for q in load_questions(path, Task.SHORT_ANSWER, page_views_below=100)] == ["99", "5"]
    assert "2 rows left out: 2 with 100 or more page views" in caplog.text
    assert len(load_questions(path, Task.SHORT_ANSWER)) == 4
    with pytest.raises(RagError, match=r"row 1: a row of task short-answer needs question and answers.*s_pop"):
        load_questions(write_rows(tmp_path, {"question": "Who?", "answers": ["A"]}), Task.SHORT_ANSWER, None, 100)


def test_claims(tmp_path, caplog):
    path = write_rows(
        tmp_path,
        {"claim_id": 15, "claim": "Dye is blue.", "label": "True"},
        {"claim_id": 16, "claim": "Dye is a food.", "label": "mixture"},
        {"claim_id": 17, "claim": "Dye is red.", "label": " FALSE"},
        {"claim_id": 18, "claim": "Dye helps.", "label": "Unproven"},
        {"claim_id": 19, "claim": "Dye is wet.", "label": True},
        {"claim_id": 20, "claim": "Dye?", "label": ""},
        {"question": "Dye is dry.", "answers": ["false"]},
    )
    claims = load_questions(path, Task.CLAIM)
    assert [(claim.id, claim.text, claim.answers) for claim in claims] == [
        ("15", "Dye is blue.", ("true",)),
        ("17", "Dye is red.", ("false",)),
        ("19", "Dye is wet.", ("true",)),
        ("7", "Dye is dry.", ("false",)),
    ]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "questions.jsonl: 3 rows left out: 1 mixture, 1 unlabelled, 1 unproven" in caplog.text


def test_choices_in_both_forms(tmp_path):
    path = write_rows(
        tmp_path,
        {"id": "a", "question": "Which?", "choices": {"A": "tin", "B": "ice", "C": "air"}, "answer": "B"},
        {"id": "b", "question": "Which?", "choices": {"text": ["tin", "ice"], "label": ["1", "2"]}, "answerKey": "2"},
        {"id": "c", "question": "Which?", "choices": {"1": "tin", "2": "ice"}, "answer": 1},
    )
    letters, digits, number = load_questions(path, Task.CHOICE)
    assert (letters.choices, letters.answers) == ({"A": "tin", "B": "ice", "C": "air"}, ("B",))
    assert (digits.choices, digits.answers) == ({"1": "tin", "2": "ice"}, ("2",))
    assert number.answers == ("1",)


def test_biographies_in_both_forms(tmp_path):
    rows = write_rows(tmp_path, {"entity": "Ada Stone"}, {"topic": "Ben Stone", "id": "q9"})
    lines = write_rows(tmp_path, "Ada Stone", "Ben Stone", name="entities.txt")
    first, second = load_questions(rows, Task.BIOGRAPHY)
    assert (first.id, second.id) == ("Ada Stone", "q9")
    assert (first.answers, first.relation) == (("Ada Stone",), "biography")
    assert [(q.text, q.answers) for q in (first, second)] == [
        (q.text, q.answers) for q in load_questions(lines, Task.BIOGRAPHY)
    ]


def test_ambiguous_questions_of_asqa(tmp_path):
    row = {
        "sample_id": "s7",
        "question": "When was Stone born?",
        "qa_pairs": [
            {"question": "When was Ada Stone born?", "short_answers": ["1801", "in 1801"], "wikipage": None},
            {"question": "When was Ben Stone born?", "short_answers": ["1900"]},
        ],
        "annotations": [{"long_answer": "Ada in 1801, Ben in 1900.", "knowledge": []}, {"long_answer": "It depends."}],
    }
    (question,) = load_questions(write_rows(tmp_path, row), Task.AMBIGUOUS)
    assert (question.id, question.text, question.task) == ("s7", "When was Stone born?", Task.AMBIGUOUS)
    assert question.interpretations == (
        Interpretation("When was Ada Stone born?", ("1801", "in 1801")),
        Interpretation("When was Ben Stone born?", ("1900",)),
    )
    assert question.answers == ("1801", "in 1801", "1900")
    assert question.references == ("Ada in 1801, Ben in 1900.", "It depends.")


def test_ambiguous_questions_of_situatedqa(tmp_path, caplog):
    years = [("2021", ["The 12"]), ("2020", ["11", "eleven"]), ("2019", ["eleven", "11"]), ("2018", ["12"])]
    row = {
        "id": 7,
        "question": "how many bridges are there",
        "context_answer_pairs": [
            {"edited_question": f"how many bridges are there as of {year}", "answers": answers}
            for year, answers in years
        ],
    }
    path = write_rows(tmp_path, row, {**row, "id": 8, "context_answer_pairs": []})
    (question,) = load_questions(path, Task.AMBIGUOUS)
    assert question.id == "7" and question.references == ()
    assert question.interpretations == (
        Interpretation("how many bridges are there as of 2021", ("The 12",)),
        Interpretation("how many bridges are there as of 2020", ("11", "eleven")),
    )
    assert "1 rows left out: 1 without interpretations" in caplog.text


DOCUMENTS = {
    "question": "When was Stone born?",
    "disambig_entity": ["Ada Stone", "Ben Stone"],
    "gold_answers": ["1801", "1900"],
    "wrong_answers": ["1802"],
    "documents": [
        {"text": "Ada Stone was born in 1802.", "type": "misinfo", "answer": "1802"},
        {"text": "Ben Stone was born in 1900.", "type": "correct", "answer": "1900"},
        {"text": "Log in", "type": "noise", "answer": "unknown"},
    ],
}


def test_document_sets_of_ramdocs(tmp_path):
    (own,) = load_document_sets(write_rows(tmp_path, DOCUMENTS))
    assert own.question.interpretations == (
        Interpretation("When was Stone born? (Ada Stone)", ("1801",)),
        Interpretation("When was Stone born? (Ben Stone)", ("1900",)),
    )
    assert own.question.id == "1" and own.question.answers == ("1801", "1900")
    assert [(p.id, p.text) for p in own.passages][1:] == [("1#1", "Ben Stone was born in 1900."), ("1#2", "Log in")]
    assert own.kinds == ("misinfo", "correct", "noise")
    assert own.wrong_answers == ("1802",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"documents": []}, "row 2: a row of RAMDocs needs question, documents, .*documents are of the types"),
        ({"documents": [{"text": "x", "type": "odd"}]}, "row 2: a row of RAMDocs .*correct, misinfo, noise"),
        ({"documents": [{"type": "noise"}]}, r"row 2: a row of RAMDocs .*KeyError\('text'\)"),
        ({"wrong_answers": "1802"}, "row 2: .*wrong_answers must be a list of strings"),
        ({"gold_answers": ["1801"]}, "row 2: a row of RAMDocs needs"),
        (
            {"gold_answers": ["1801", " "]},
            r"row 2: interpretation 'When was Stone born\? \(Ben Stone\)' has an empty gold",
        ),
    ],
)
def test_bad_document_sets_are_named(tmp_path, change, says):
    with pytest.raises(RagError, match=says) as caught:
        load_document_sets(write_rows(tmp_path, DOCUMENTS, {**DOCUMENTS, **change}))
    assert "\n" not in str(caught.value)


GOOD = {
    Task.SHORT_ANSWER: {"question": "Where?", "answers": ["A"]},
    Task.CLAIM: {"claim": "Dye is blue.", "label": "true"},
    Task.CHOICE: {"question": "Which?", "choices": {"A": "tin", "B": "ice"}, "answer": "A"},
    Task.BIOGRAPHY: {"entity": "Ada Stone"},
    Task.AMBIGUOUS: {"question": "Who?", "qa_pairs": [{"question": "Who is Ada?", "short_answers": ["A"]}]},
}


@pytest.mark.parametrize(
    ("task", "row", "says"),
    [
        (Task.SHORT_ANSWER, "{", "row 2: not JSON"),
        (Task.SHORT_ANSWER, {"question": "Who?"}, "row 2: a row of task short-answer needs question and answers"),
        (Task.SHORT_ANSWER, {"question": "Who?", "answers": "A"}, "answers must be a list"),
        (Task.SHORT_ANSWER, {"question": "Who?", "answers": [None]}, "answers must be a list of strings"),
        (Task.SHORT_ANSWER, {"question": "Who?", "possible_answers": "A"}, "row 2: a row of task short-answer needs"),
        (Task.SHORT_ANSWER, {"question": "Who?", "answers": []}, "row 2: question '2' has an empty gold answer"),
        (Task.SHORT_ANSWER, {"question": "", "answers": ["A"]}, "row 2: question '2' has no text"),
        (Task.SHORT_ANSWER, {"question": "x" * 10_000, "answers": ["A"]}, "row 2: question '2' has 10,000 characters"),
        (Task.SHORT_ANSWER, {"id": "1", "question": "Who?", "answers": ["A"]}, "row 2: question id '1' occurs twice"),
        (Task.SHORT_ANSWER, "[1]", "row 2: a row of task short-answer needs"),
        (Task.CLAIM, {"claim": "Dye is red."}, r"row 2: a row of task claim needs claim and label \(true or false\)"),
        (Task.CLAIM, {"claim": "Dye is red.", "label": "maybe"}, "row 2: claim '2' is labelled .*a claim is true or"),
        (Task.CLAIM, {"claim": "Dye is red.", "label": 0}, "row 2: claim '2' is labelled"),
        (Task.CLAIM, {"claim": "Dye is red.", "answers": ["true", "false"]}, "row 2: a row of task claim needs"),
        (Task.CHOICE, {"question": "Which?", "choices": ["tin"], "answer": "A"}, "row 2: a row of task choice needs"),
        (Task.CHOICE, {**GOOD[Task.CHOICE], "answer": "D"}, "row 2: .*its answer 'D' is not one of its choices"),
        (Task.CHOICE, {**GOOD[Task.CHOICE], "answer": "a"}, "its answer 'a' is not one of its choices"),
        (Task.CHOICE, {**GOOD[Task.CHOICE], "choices": {"A": "tin", "B": " "}}, "row 2: .*a choice has no text"),
        (Task.CHOICE, {**GOOD[Task.CHOICE], "choices": {"A": "tin", "(B)": "ice"}}, "not different letters or digits"),
        (
            Task.CHOICE,
            {**GOOD[Task.CHOICE], "choices": {"text": ["tin", "ice"], "label": ["A", "A"]}},
            "not different letters or digits",
        ),
        (Task.CHOICE, {**GOOD[Task.CHOICE], "choices": {"text": ["tin", "ice"], "label": ["A"]}}, "row 2: a row of"),
        (Task.BIOGRAPHY, {"name": "Ben"}, "row 2: a row of task biography needs entity"),
        (Task.BIOGRAPHY, {"entity": "  "}, "row 2: .*the entity has no name"),
        (Task.BIOGRAPHY, {"topic": "Ada  Stone"}, "row 2: question id 'Ada Stone' occurs twice"),
        (Task.AMBIGUOUS, {"question": "Who?"}, "row 2: a row of task ambiguous needs question and its interpretations"),
        (Task.AMBIGUOUS, {"question": "Who?", "qa_pairs": []}, "row 2: question '2' has an empty gold answer"),
        (
            Task.AMBIGUOUS,
            {"question": "Who?", "qa_pairs": [{"question": "Who is Ada?", "short_answers": []}]},
            r"row 2: interpretation 'Who is Ada\?' has an empty gold answer",
        ),
        (
            Task.AMBIGUOUS,
            {"question": "Who?", "qa_pairs": [{"question": " ", "short_answers": ["A"]}]},
            "row 2: an interpretation .* has no text",
        ),
        (
            Task.AMBIGUOUS,
            {"question": "Who?", "qa_pairs": [{"question": "Who is Ada?", "short_answers": "A"}]},
            "row 2: .*short_answers must be a list of strings",
        ),
    ],
)
def test_bad_rows_are_named(tmp_path, task, row, says):
    with pytest.raises(RagError, match=says) as caught:
        load_questions(write_rows(tmp_path, GOOD[task], row), task)
    assert "\n" not in str(caught.value)


def test_a_file_without_questions_is_refused(tmp_path):
    with pytest.raises(RagError, match="holds no questions of task claim"):
        load_questions(write_rows(tmp_path, {"claim": "Dye is a food.", "label": "mixture"}), Task.CLAIM)


class Hub:
    """Serves one data set and remembers what it was asked for."""

    def __init__(self, rows, features=None):
        import datasets

        self.rows = datasets.Dataset.from_list(rows, features=features)
        self.asked = []

    def load(self, path, name=None, *, split):
        self.asked.append((path, name, split))
        return self.rows


def test_hub_rows(monkeypatch):
    rows = [{"id": 1, "question": "Who?", "possible_answers": '["A"]', "s_pop": 12}]
    hub = Hub(rows)
    monkeypatch.setattr("datasets.load_dataset", hub.load)
    assert load_questions("hub:a/b", Task.SHORT_ANSWER)[0].answers == ("A",)
    choices = [{"id": "x", "question": "Which?", "choices": {"text": ["tin", "ice"], "label": ["A", "B"]}}]
    hub.rows = Hub([{**row, "answerKey": "B"} for row in choices]).rows
    assert load_questions("hub:a/b/c-D", Task.CHOICE)[0].choices == {"A": "tin", "B": "ice"}
    assert hub.asked == [("a/b", None, "test"), ("a/b", "c-D", "test")]


def test_hub_classes_have_names(monkeypatch, caplog):
    from datasets import ClassLabel, Features, Value

    features = Features({"claim": Value("string"), "label": ClassLabel(names=["false", "mixture", "true"])})
    rows = [{"claim": f"Dye {label}.", "label": label} for label in (2, 0, 1, -1)]
    monkeypatch.setattr("datasets.load_dataset", Hub(rows, features).load)
    assert [claim.answers for claim in load_questions("hub:a/b", Task.CLAIM)] == [("true",), ("false",)]
    assert "2 rows left out: 1 mixture, 1 unlabelled" in caplog.text


def test_a_missing_hub_is_one_line(monkeypatch):
    def fail(*_, **__):
        raise ConnectionError("Couldn't reach the hub\nlong story")

    monkeypatch.setattr("datasets.load_dataset", fail)
    with pytest.raises(RagError) as caught:
        load_questions("hub:a/b", Task.SHORT_ANSWER)
    assert str(caught.value) == (
        "cannot load 'a/b' from the hub (Couldn't reach the hub): is there a network, and is the name right?"
    )


def make_setup(tmp_path, **questions):
    """A setup whose embedded questions are made up: only the test questions come from a file."""
    settings = {
        "questions": {"train": 1, "dev": 1, "test": 2, **questions},
        "claims": {"dev": 1, "test": 1},
        "choices": {"dev": 1, "test": 1},
        "biographies": {"dev": 1, "test": 1},
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(settings))
    setup = Setup(load_profile(str(path)))
    embedded = {split: [Question(split, "Where?", ("A",))] for split in ("train", "dev", "test")}
    setup.all_questions = dict.fromkeys(CRAG_TASKS, embedded)
    return setup


def test_a_profile_takes_its_test_questions_from_a_file(tmp_path, cache_folder):
    rows = [{"id": i, "question": "Who?", "answers": ["A"], "s_pop": i} for i in range(90, 102)]
    source = str(write_rows(tmp_path, *rows))
    sets = make_setup(tmp_path, source=source, page_views_below=92).questions
    found = {split: [question.id for question in own] for split, own in sets[Task.SHORT_ANSWER].items()}
    assert found == {"train": ["train"], "dev": ["dev"], "test": ["90", "91"]}
    assert [question.id for question in sets[Task.CLAIM]["test"]] == ["test"]
    with pytest.raises(RagError, match=r"asks for 13 test questions of task short-answer, .*\.jsonl holds 12: lower"):
        make_setup(tmp_path, source=source, test=13).questions  # noqa: B018


def test_page_views_need_a_source(tmp_path, cache_folder):
    with pytest.raises(RagError, match="page_views_below needs a source"):
        make_setup(tmp_path, page_views_below=100)
