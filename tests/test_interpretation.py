"""What questions can mean: prompts, analyses, and the interpreters on a scripted model."""

import numpy as np
import pytest
from diva_fakes import (
    ADA,
    ADA_BORN,
    BEN,
    BEN_BORN,
    BORN,
    CAPITAL,
    SEA,
    CountingRetriever,
    WordEncoder,
    WritingGenerator,
)
from hypothesis import given
from hypothesis import strategies as st

from diva.interpretation import (
    MAX_INTERPRETATIONS,
    REPEATED,
    UNAMBIGUOUS,
    Ambiguity,
    Demonstration,
    Demonstrations,
    GoldInterpreter,
    Interpreted,
    MergedInterpreter,
    NoInterpreter,
    TitlesInterpreter,
    TwoStepInterpreter,
    analysis_prompt,
    first_titles,
    interpretation_prompt,
    interpretations_line,
    merged_prompt,
    parse_analysis,
    parse_merged,
    titles_prompt,
)
from rag.errors import RagError
from rag.scoring.text import normalise
from rag.types import Passage, Question

SUBJECT, TIME, NONE = Ambiguity.SUBJECT, Ambiguity.TIME, Ambiguity.NONE
HILL = Demonstration(
    "When was Hill born?", (SUBJECT,), "Two people.", ("When was Al Hill born?", "When was Bo Hill born?")
)
KING = Demonstration(
    "Who is king of Azuria?", (TIME,), "Kings change.", ("Who was king in 1900?", "Who was king in 1950?")
)
RIVER = Demonstration("What is the river of Azuria?", (NONE,), "One river.", ("What is the river of Azuria?",))
POOL = [HILL, KING, RIVER]


def demonstrations(shots=2, pool=POOL):
    return Demonstrations(pool, WordEncoder("born", "king", "river", "azuria"), shots)


@pytest.mark.parametrize(
    ("text", "kinds", "reason"),
    [
        ("subject | Two people.", (SUBJECT,), "Two people."),
        ("time, subject | Both.", (SUBJECT, TIME), "Both."),
        (" Ambiguity: Subject and Time | Both. ", (SUBJECT, TIME), "Both."),
        ("Temporal ambiguity | Kings change.", (TIME,), "Kings change."),
        ("none | One river.", (NONE,), "One river."),
        ("None (the subject is clear) | One river.", (NONE,), "One river."),
        ("subject, none | Two people.", (SUBJECT,), "Two people."),
        ("The question is not ambiguous.", (NONE,), "The question is not ambiguous."),
        ("The subject is ambiguous.", (SUBJECT,), "The subject is ambiguous."),
        ("subject, time", (SUBJECT, TIME), ""),
        ("\n subject | Two people.\nQuestion: more", (SUBJECT,), "Two people."),
        ("Two people bear the name.", (), "Two people bear the name."),
        ("several | Two people.", (), "several | Two people."),
        ("sometimes | objective", (), "sometimes | objective"),
        ("", (), ""),
    ],
)
def test_analyses(text, kinds, reason):
    assert parse_analysis(text) == (kinds, reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("subject | Two. | Who is A B? | Who is C D?", ((SUBJECT,), "Two.", "Who is A B? | Who is C D?")),
        ("subject | Two.\n1. Who is A B?\n2. Who is C D?", ((SUBJECT,), "Two.", "1. Who is A B?\n2. Who is C D?")),
        ("subject | Who is A B? | Who is C D?", ((SUBJECT,), "", "Who is A B? | Who is C D?")),
        ("none | One.", ((NONE,), "One.", "")),
        ("none", ((NONE,), "", "")),
        ("Who is A B? | Who is C D?", ((), "", "Who is A B? | Who is C D?")),
    ],
)
def test_merged_calls(text, expected):
    assert parse_merged(text) == expected


def test_the_nearest_demonstrations_come_last_and_no_question_shows_itself():
    chosen = demonstrations(2).nearest(["When was Stone born?", "Who is king of Azuria?", "Which river is born?"])
    assert [[one.question[:8] for one in own] for own in chosen] == [
        ["Who is k", "When was"],  # born; the tie of the other two goes to the first
        ["When was", "What is "],  # itself is left out; Azuria is shared with the river
        ["What is ", "When was"],  # cosines 0.5 and 0.71; that of the king is 0
    ]
    assert demonstrations(2).nearest(["Which river of Azuria?"], ambiguous_only=True) == [[HILL, KING]]
    assert demonstrations(pool=[RIVER]).nearest(["x", "y"], ambiguous_only=True) == [[], []]
    assert Demonstrations([], WordEncoder("x")).nearest(["x"]) == [[]]


def test_the_pool_is_encoded_once():
    own = demonstrations()
    own.nearest(["When was Stone born?", "Why?"])
    own.nearest(["Why?"])
    assert [len(call) for call in own.encoder.calls].count(len(POOL)) == 1
    assert len(own.encoder.calls) == 3


def scripted(prompt):
    """The two-step model: Stone is ambiguous, the capital is not."""
    asked = prompt.rpartition("Question: ")[2]
    if asked.endswith("\nAmbiguity:"):
        return "none | One capital." if "capital" in asked else "subject | Several people are called Stone."
    return f"1. {ADA_BORN} | 2. {BEN_BORN} | {ADA_BORN} | When was Stone born?"


def test_two_steps():
    generator = WritingGenerator(scripted)
    born, capital = TwoStepInterpreter(generator, demonstrations()).interpret([BORN, CAPITAL])
    assert (born.interpretations, born.kinds, born.note) == ((ADA_BORN, BEN_BORN), (SUBJECT,), None)
    assert (capital.interpretations, capital.kinds, capital.note) == ((CAPITAL.text,), (NONE,), UNAMBIGUOUS)
    assert capital.reason == "One capital."
    # Each step is one call, and the second is for the ambiguous question alone, with ambiguous examples.
    assert generator.calls == [
        [analysis_prompt(BORN.text, [KING, HILL]), analysis_prompt(CAPITAL.text, [RIVER, KING])],
        [interpretation_prompt(BORN.text, (SUBJECT,), born.reason, [KING, HILL], MAX_INTERPRETATIONS)],
    ]
    tokens = [len(call[0].split()) for call in generator.calls]
    written = len(scripted(generator.calls[1][0]).split())
    assert {stage: (own.calls, own.tokens_in, own.tokens_out) for stage, own in born.cost.items()} == {
        "analyse": (1, tokens[0], 7),
        "interpret": (1, tokens[1], written),
    }
    assert list(capital.cost) == ["analyse"]
    assert born.trace == {
        "kinds": ["subject"],
        "reason": "Several people are called Stone.",
        "interpretations": [ADA_BORN, BEN_BORN],
        "note": None,
    }


@pytest.mark.parametrize(
    ("analysis", "listed", "note", "calls"),
    [
        ("", "never asked for", "the analysis was empty", 1),
        ("subject | Two.", "", "no interpretation could be read from ''", 2),
        ("subject | Two.", "I don't know.", 'no interpretation could be read from "I don\'t know."', 2),
        ("subject | Two.", "When was Stone born?", REPEATED, 2),
        ("subject | Two.", "None.", UNAMBIGUOUS, 2),
    ],
)
def test_where_nothing_is_read_the_question_stands_and_the_note_says_why(analysis, listed, note, calls):
    generator = WritingGenerator(lambda prompt: analysis if prompt.endswith("Ambiguity:") else listed)
    (own,) = TwoStepInterpreter(generator, demonstrations()).interpret([BORN])
    assert (own.interpretations, own.note, len(generator.prompts)) == ((BORN.text,), note, calls)


def test_an_analysis_without_a_kind_still_leads_to_interpretations():
    generator = WritingGenerator(
        lambda prompt: "Two people." if prompt.endswith("Ambiguity:") else f"{ADA_BORN} | {BEN_BORN}"
    )
    (own,) = TwoStepInterpreter(generator, demonstrations()).interpret([BORN])
    assert (own.kinds, own.reason, own.interpretations) == ((), "Two people.", (ADA_BORN, BEN_BORN))
    assert "\nAmbiguity: Two people.\nInterpretations:" in generator.prompts[1]


def test_the_merged_call():
    def write(prompt):
        if "capital" in prompt.rpartition("Question: ")[2]:
            return "none | One capital. | What is the capital of Azuria?"
        return f"subject | Several people. | {ADA_BORN} | {BEN_BORN}"

    generator = WritingGenerator(write)
    born, capital = MergedInterpreter(generator, demonstrations()).interpret([BORN, CAPITAL])
    assert (born.interpretations, born.kinds, born.reason) == ((ADA_BORN, BEN_BORN), (SUBJECT,), "Several people.")
    assert (capital.interpretations, capital.note) == ((CAPITAL.text,), UNAMBIGUOUS)
    assert [len(call) for call in generator.calls] == [2]
    assert generator.prompts[0] == merged_prompt(BORN.text, [KING, HILL], MAX_INTERPRETATIONS)
    assert born.cost["interpret"].calls == 1


def test_the_merged_prompt_shows_examples_in_the_form_that_is_read():
    prompt = merged_prompt("{question} %s?", [HILL], 4)
    assert prompt.endswith("Question: {question} %s?\nAnalysis:") and "at most 4" in prompt
    line = prompt.split("\nAnalysis: ")[1].splitlines()[0]
    assert parse_merged(line) == ((SUBJECT,), "Two people.", interpretations_line(HILL.interpretations))


def test_the_prompts_hold_question_kinds_and_examples():
    prompt = analysis_prompt("Why {x}?", [HILL, RIVER])
    assert prompt.endswith("Question: Why {x}?\nAmbiguity:")
    assert prompt.index("When was Hill born?\nAmbiguity: subject | Two people.") < prompt.index(RIVER.question)
    assert all(f"\n{kind.value}: " in prompt for kind in Ambiguity)
    second = interpretation_prompt("Why {x}?", (SUBJECT, TIME), "Both.", [HILL], 3)
    assert second.endswith("Question: Why {x}?\nAmbiguity: subject, time | Both.\nInterpretations:")
    assert "Interpretations: When was Al Hill born? | When was Bo Hill born?\n" in second and "at most 3" in second


def test_titles_of_a_first_retrieval():
    more = [ADA.__class__(f"{p.article_id}#1", p.title, "More.") for p in (ADA, BEN)]
    retriever = CountingRetriever({BORN.text: [ADA, more[0], BEN, more[1], SEA]})
    generator = WritingGenerator(
        lambda prompt: f"{ADA_BORN} | {BEN_BORN}" if "Stone" in prompt else "What is the capital of Azuria?"
    )
    born, capital = TitlesInterpreter(generator, retriever, depth=4).interpret([BORN, CAPITAL])
    assert retriever.calls == [[BORN.text, CAPITAL.text]]
    assert generator.calls == [[titles_prompt(BORN.text, ["Ada Stone", "Ben Stone"]), titles_prompt(CAPITAL.text, [])]]
    assert generator.prompts[0] == (
        "Question: When was Stone born?\nPages found: Ada Stone | Ben Stone\nInterpretations:"
    )
    assert (born.interpretations, born.kinds, born.note) == ((ADA_BORN, BEN_BORN), (), None)
    assert (capital.interpretations, capital.note) == ((CAPITAL.text,), REPEATED)


def test_first_titles_are_by_article_in_the_order_found():
    pages = [SEA, ADA, Passage("Ada_Stone#1", "Ada Stone", "More."), Passage("Stone#0", "", "No title."), BEN]
    retriever = CountingRetriever({"Stone?": pages})
    assert first_titles(retriever, ["Stone?", "Nothing?"], depth=5) == [
        {"Sea": "Sea", "Ada_Stone": "Ada Stone", "Ben_Stone": "Ben Stone"},
        {},
    ]
    assert list(first_titles(retriever, ["Stone?"], depth=5)[0].values()) == ["Sea", "Ada Stone", "Ben Stone"]
    assert first_titles(retriever, ["Stone?"], depth=4) == [{"Sea": "Sea", "Ada_Stone": "Ada Stone"}]
    assert retriever.calls[0] == ["Stone?", "Nothing?"]


def test_gold_and_no_interpretation():
    assert GoldInterpreter().interpret([BORN]) == [Interpreted((ADA_BORN, BEN_BORN))]
    with pytest.raises(RagError, match="'plain' has no gold interpretations"):
        GoldInterpreter().interpret([BORN, Question("plain", "When was Stone born?", ("1801",))])
    assert NoInterpreter().interpret([BORN]) == [Interpreted((BORN.text,), note="not interpreted")]


def interpreters(text):
    generator = WritingGenerator(lambda prompt: text)
    return [
        TwoStepInterpreter(generator, demonstrations(), 3),
        MergedInterpreter(generator, demonstrations(), 3),
        TitlesInterpreter(generator, CountingRetriever({}), limit=3),
    ]


@given(st.text())
def test_every_question_has_one_to_n_different_interpretations(text):
    for interpreter in interpreters(text):
        (own,) = interpreter.interpret([BORN])
        assert 1 <= len(own.interpretations) <= 3
        assert len({normalise(each) for each in own.interpretations}) == len(own.interpretations)
        # A note exactly where the question stands for itself.
        assert (own.note is not None) == (own.interpretations == (BORN.text,))


def test_interpretations_do_not_depend_on_the_batch():
    for build in (TwoStepInterpreter, MergedInterpreter):
        together = build(WritingGenerator(scripted), demonstrations()).interpret([BORN, CAPITAL])
        assert together == [
            build(WritingGenerator(scripted), demonstrations()).interpret([q])[0] for q in (BORN, CAPITAL)
        ]
        assert build(WritingGenerator(scripted), demonstrations()).interpret([]) == []


def test_twenty_items_are_capped():
    twenty = " | ".join(f"When was Stone number {i} born?" for i in range(20))
    (own,) = TitlesInterpreter(WritingGenerator(lambda prompt: twenty), CountingRetriever({})).interpret([BORN])
    assert len(own.interpretations) == MAX_INTERPRETATIONS == 5


def test_cosines_are_of_unit_vectors():
    assert np.linalg.norm(WordEncoder("a").encode(["a a a", "b"]), axis=1) == pytest.approx([1, 1])
