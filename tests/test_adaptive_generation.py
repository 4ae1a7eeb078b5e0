"""Long answers from passages and from memory, on a scripted model."""

from diva_fakes import ADA, ADA_BORN, BEN, BEN_BORN, BORN, CAPITAL, WritingGenerator

from diva.generation import (
    PerInterpretationWriter,
    TwoStepWriter,
    answer_directly,
    consolidation_prompt,
    extraction_prompt,
    join_answers,
)
from diva.parsing import Pair
from diva.verification import verification_prompt
from rag.prompts import OPEN_BOOK, answer_prompt
from rag.systems import as_knowledge
from rag.types import Task

STONES = as_knowledge([ADA, BEN])
PAIRS = [Pair(ADA_BORN, "1801"), Pair(BEN_BORN, "1900")]
MEANINGS = [ADA_BORN, BEN_BORN]


def test_two_steps_are_two_calls():
    generator = WritingGenerator(
        lambda prompt: f"{ADA_BORN} -> 1801 | {BEN_BORN} -> 1900" if "It can stand for" in prompt else "A long answer."
    )
    both = TwoStepWriter(generator).write([BORN, BORN], [MEANINGS, MEANINGS[:1]], [STONES, "Some text."])
    assert generator.calls == [
        [extraction_prompt(BORN, MEANINGS, STONES), extraction_prompt(BORN, MEANINGS[:1], "Some text.")],
        [consolidation_prompt(BORN, STONES, PAIRS), consolidation_prompt(BORN, "Some text.", PAIRS)],
    ]
    assert both[0].text == "A long answer." and both[0].pairs == tuple(PAIRS)
    assert both[0].trace == {
        "form": "two steps",
        "pairs": [[ADA_BORN, "1801"], [BEN_BORN, "1900"]],
        "generation": None,
    }
    assert {stage: own.calls for stage, own in both[0].cost.items()} == {"extract": 1, "write": 1}
    assert TwoStepWriter(generator).write([], [], []) == []


def test_without_a_pair_the_knowledge_is_read_directly():
    generator = WritingGenerator(lambda prompt: "I see no answers." if "It can stand for" in prompt else "Plain.")
    (own,) = TwoStepWriter(generator).write([BORN], [MEANINGS], [STONES])
    assert generator.calls[1] == [answer_prompt(BORN, STONES)]
    assert (own.text, own.form, own.pairs) == ("Plain.", "standard", ())
    assert own.trace["generation"] == "no pair could be read from 'I see no answers.'"


def test_each_interpretation_on_its_own_joined_by_rule():
    answers = {ADA_BORN: "Yes: 1801.", BEN_BORN: "no", CAPITAL.text: "yes: Port Azure"}
    extractor = WritingGenerator(lambda prompt: answers[prompt.rpartition("Question: ")[2]])
    generator = WritingGenerator()
    born, capital = PerInterpretationWriter(extractor, generator).write(
        [BORN, CAPITAL], [MEANINGS, [CAPITAL.text]], [STONES, "Some text."]
    )
    assert extractor.calls == [
        [
            verification_prompt(STONES, ADA_BORN),
            verification_prompt(STONES, BEN_BORN),
            verification_prompt("Some text.", CAPITAL.text),
        ]
    ]
    assert not generator.calls
    assert born.text == "When was the chemist Ada Stone born: 1801."
    assert (born.form, born.pairs) == ("joined by rule", (Pair(ADA_BORN, "1801."),))
    assert born.note == "1 of 2 interpretations have no answer"
    assert (capital.text, capital.note) == ("What is the capital of Azuria: Port Azure.", None)
    assert (born.cost["extract"].calls, capital.cost["extract"].calls) == (2, 1)


def test_where_no_interpretation_has_an_answer_the_knowledge_is_read_as_in_standard_rag():
    generator = WritingGenerator(lambda prompt: "A long answer.")
    extractor = WritingGenerator(lambda prompt: "yes:" if ADA_BORN in prompt else "no")
    (born,) = PerInterpretationWriter(extractor, generator).write([BORN], [MEANINGS], [STONES])
    assert generator.calls == [[answer_prompt(BORN, STONES)]]
    assert (born.text, born.form, born.pairs) == ("A long answer.", "standard", ())
    assert born.note == "2 of 2 interpretations have no answer"
    assert {stage: own.calls for stage, own in born.cost.items()} == {"extract": 2, "write": 1}


def test_joined_answers():
    assert join_answers(PAIRS) == (
        "When was the chemist Ada Stone born: 1801. When was the painter Ben Stone born: 1900."
    )
    assert join_answers([]) == ""


def test_direct_answers_use_the_prompts_of_the_baselines():
    generator = WritingGenerator(lambda prompt: "" if "Text:" in prompt else "From memory.")
    read, remembered = answer_directly(generator, [BORN, CAPITAL], [STONES, ""])
    assert generator.calls == [[answer_prompt(BORN, STONES), answer_prompt(CAPITAL, "")]]
    assert (read.form, remembered.form, remembered.text) == ("standard", "closed book", "From memory.")
    assert read.trace["generation"] == "the model wrote nothing"
    assert remembered.trace["generation"] is None


def test_prompts_hold_text_question_meanings_and_pairs():
    prompt = extraction_prompt(BORN, ["What {x}?"], "Some {text}.")
    assert prompt.startswith("Text:\nSome {text}.\n\nQuestion: When was Stone born?\n") and "\n- What {x}?\n" in prompt
    last = consolidation_prompt(BORN, "Some {text}.", PAIRS)
    assert (
        last.startswith("Text:\nSome {text}.\n\nQuestion: When was Stone born?\n")
        and f"\n- {ADA_BORN} -> 1801\n" in last
    )
    assert OPEN_BOOK[Task.AMBIGUOUS] in last
