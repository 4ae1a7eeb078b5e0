"""Answers from released knowledge: the file, the action that chooses, and the systems on it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from fakes import MarkedEvaluator

from crag.actions import Action, Thresholds
from crag.external import choose_actions, knowledge_rows, load_knowledge
from rag.errors import RagError
from rag.types import Completion

ROWS = [
    {"index": 7, "question": "Good?", "answers": ["sure"], "internal": "+sure. Of it. Bad.", "web": "W"},
    {"index": 8, "question": "Bad?", "answers": ["web"], "internal": "Nothing of it.", "web": "the web"},
    {"index": 9, "question": "Empty?", "answers": ["zebra"], "internal": "", "web": ""},
    {
        "index": 10,
        "question": "Unsure?",
        "answers": ["zebra"],
        "internal": "Bad one. Bad two. ~perhaps.",
        "web": "or so",
    },
]
THRESHOLDS = Thresholds(0.5, -0.5)


def write(tmp_path, rows):
    path = tmp_path / "knowledge.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_rows_are_joined_by_their_index(tmp_path):
    known = load_knowledge(write(tmp_path, ROWS))
    assert [one.question.id for one in known] == ["7", "8", "9", "10"]
    assert known[0].question.answers == ("sure",) and known[0].question.article_id is None
    assert (known[1].internal, known[1].web) == ("Nothing of it.", "the web")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "row 2: a row needs index, question, answers, internal and web"),
        ({"index": 1}, "row 2: a row needs index"),
        ({**ROWS[1], "answers": None}, "row 2: a row needs index"),
        ({**ROWS[1], "index": 7}, "row 2: index 7 occurs twice"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, says):
    with pytest.raises(RagError, match=f"knowledge.jsonl, {says}"):
        load_knowledge(write(tmp_path, [ROWS[0], row]))


def test_the_action_is_of_the_scores_of_the_strips(tmp_path):
    evaluator = MarkedEvaluator()
    actions = choose_actions(load_knowledge(write(tmp_path, ROWS)), evaluator, THRESHOLDS)
    assert actions == {
        "7": Action.CORRECT,
        "8": Action.INCORRECT,
        "9": Action.INCORRECT,
        "10": Action.AMBIGUOUS,
    }
    # Strips of two sentences, all in one call.
    assert evaluator.calls == [["+sure. Of it.", "Bad.", "Nothing of it.", "Bad one. Bad two.", "~perhaps."]]


def test_each_system_reads_its_own_knowledge(tmp_path):
    prompts = []

    class Echo:
        identity = {"model": "echo"}

        def generate(self, asked):
            prompts.append(asked)
            return [Completion(prompt, 6, 2) for prompt in asked]

    known = load_knowledge(write(tmp_path, ROWS))
    rows = knowledge_rows(SimpleNamespace(generator=Echo), known, MarkedEvaluator(), THRESHOLDS)
    assert rows["system"].unique().tolist() == ["internal", "web", "both", "crag"]
    accuracy = {name: own["accuracy"].tolist() for name, own in rows.groupby("system")}
    assert accuracy == {
        "internal": [1.0, 0.0, 0.0, 0.0],
        "web": [0.0, 1.0, 0.0, 0.0],
        "both": [1.0, 1.0, 0.0, 0.0],
        "crag": [1.0, 1.0, 0.0, 0.0],
    }
    traces = [json.loads(trace) for trace in rows["trace"]]
    assert [trace["action"] for trace in traces] == ["correct", "incorrect", "incorrect", "ambiguous"] * 4
    assert all(trace["calls"] == 1 and trace["cost"] == {"answer": [1, 6, 2]} for trace in traces)
    read = np.array([["Text:" in prompt for prompt in asked] for asked in prompts])
    assert read[:, 2].tolist() == [False] * 4  # where there is none, it answers from memory
    assert "~perhaps.\nor so" in prompts[3][3]  # Ambiguous: internal, then external
