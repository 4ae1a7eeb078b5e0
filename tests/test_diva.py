"""DIVA end to end on fakes: what each stage sees, and what the trace says."""

import json

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
    WordEncoder,
    WritingGenerator,
    ambiguous,
)

from diva.generation import (
    PerInterpretationWriter,
    TwoStepWriter,
    consolidation_prompt,
    extraction_prompt,
)
from diva.interpretation import UNAMBIGUOUS, Ambiguity, Interpreted, NoInterpreter
from diva.parsing import Pair
from diva.system import ABLATIONS, Diva, Variant
from diva.verification import GeneratorVerifier, verification_prompt
from rag.cost import Spent
from rag.errors import RagError
from rag.prompts import answer_prompt
from rag.systems import ClosedBook, Correction, GeneratorReader, StandardRag, as_knowledge
from rag.types import Passage

GHOST = ambiguous("ghost", "Who was the ghost?", ("Who was the ghost?", "x"))
KING = ambiguous("king", "Who was king?", ("Who was king?", "x"))
QUESTIONS = [BORN, CAPITAL, GHOST, KING]
PORT = Passage("Port#0", "Port", "A port is a harbour.")
TABLE = {
    ADA_BORN: [ADA, SEA],
    BEN_BORN: [BEN, SEA],
    CAPITAL.text: [AZURE],
    "Who was king in 1900?": [PORT],
    "Who was king in 1950?": [PORT],
    KING.text: [PORT],
}
KING_1900, KING_1950 = "Who was king in 1900?", "Who was king in 1950?"


class TableInterpreter:
    """Born and king are ambiguous, the others are not."""

    def interpret(self, questions):
        table = {
            "born": Interpreted((ADA_BORN, BEN_BORN), (Ambiguity.SUBJECT,), "Two.", cost={"analyse": Spent(1, 9, 2)}),
            "king": Interpreted((KING_1900, KING_1950), (Ambiguity.TIME,), "Kings change."),
        }
        return [table.get(q.id, Interpreted((q.text,), (Ambiguity.NONE,), "One.", UNAMBIGUOUS)) for q in questions]


class TableCorrective:
    """Knows of kings and ghosts; remembers the questions of each call."""

    def __init__(self, text="The king was Cy.\nHis son was Dan."):
        self.text = text
        self.calls = []

    def correct(self, questions):
        self.calls.append([question.id for question in questions])
        return [
            Correction(self.text, ("http://web/1",), {"action": "incorrect"}, {"rewrite": Spent(1, 5, 3)})
            for _ in questions
        ]


def write(prompt):
    if "It can stand for" in prompt:
        return f"{ADA_BORN} -> 1801"
    return "long" if "Its meanings and their answers" in prompt else "from text" if "Text:" in prompt else "from memory"


def yes(prompt):
    """Ada's birth and the capital are in the text, Ben's birth and the kings are not."""
    return (0.9, 0.1) if prompt.endswith((ADA_BORN, CAPITAL.text)) else (0.2, 0.8)


def make_diva(variant=None, generator=None, **settings):
    generator = generator or WritingGenerator(write, yes)
    encoder = WordEncoder("stone", "chemist", "painter", "king", "azuria")
    parts = {
        "interpreter": TableInterpreter(),
        "retriever": CountingRetriever(TABLE),
        "verifier": GeneratorVerifier(generator),
        "writer": TwoStepWriter(generator),
    }
    return Diva(**{**parts, **settings}, encoder=encoder, generator=generator, variant=variant)


def test_each_question_goes_its_own_way():
    diva = make_diva(Variant(keep=2))
    born, capital, ghost, king = diva.answer(QUESTIONS)
    assert diva.name == "diva"
    assert [answer.trace["usefulness"] for answer in (born, capital, ghost, king)] == [
        "partially useful",
        "useful",
        "useless",
        "useless",
    ]
    assert [answer.text for answer in (born, capital, ghost, king)] == ["long", "long", "from memory", "from memory"]
    # Useless passages aren't read.
    assert [answer.contexts for answer in (born, capital, ghost, king)] == [
        ("Ada_Stone#0", "Ben_Stone#0"),
        ("Port_Azure#0",),
        (),
        (),
    ]
    stones, port = as_knowledge([ADA, BEN]), as_knowledge([AZURE])
    pair = [Pair(ADA_BORN, "1801")]
    assert diva.generator.calls == [
        [extraction_prompt(BORN, (ADA_BORN, BEN_BORN), stones), extraction_prompt(CAPITAL, (CAPITAL.text,), port)],
        [consolidation_prompt(BORN, stones, pair), consolidation_prompt(CAPITAL, port, pair)],
        [answer_prompt(GHOST, ""), answer_prompt(KING, "")],
    ]
    # Every stage is one call for all questions.
    assert diva.retriever.calls == [[ADA_BORN, BEN_BORN, CAPITAL.text, GHOST.text, KING_1900, KING_1950]]
    assert len(diva.encoder.calls) == len(diva.verifier.generator.judged) == 1


def test_the_trace_follows_a_question_through_every_stage():
    diva = make_diva(Variant(keep=2))
    trace = diva.answer(QUESTIONS)[0].trace
    judged = [verification_prompt(as_knowledge([ADA, BEN]), text) for text in (ADA_BORN, BEN_BORN)]
    asked = [diva.generator.calls[0][0], diva.generator.calls[1][0]]
    cost = trace.pop("cost")
    assert trace == {
        "kinds": ["subject"],
        "reason": "Two.",
        "interpretations": [ADA_BORN, BEN_BORN],
        "note": None,
        "hits": [["Ada_Stone#0", "Sea#0"], ["Ben_Stone#0", "Sea#0"]],
        "pool": 3,
        # Stone twice (title and text) and the calling once: cosine 3/√10 to the own interpretation, 2/√10 to the other.
        "kept": [["Ada_Stone#0", pytest.approx(0.7906, abs=2e-4)], ["Ben_Stone#0", pytest.approx(0.7906, abs=2e-4)]],
        "dropped": [],
        "usefulness": "partially useful",
        "verdicts": [["yes", 0.9, None], ["no", 0.2, None]],
        "correction": None,
        "form": "two steps",
        "pairs": [[ADA_BORN, "1801"]],
        "generation": None,
        "calls": 5,
    }
    assert cost == {
        "analyse": [1, 9, 2],
        "verify": [2, sum(len(prompt.split()) for prompt in judged), 2],
        "extract": [1, len(asked[0].split()), len(f"{ADA_BORN} -> 1801".split())],
        "write": [1, len(asked[1].split()), 1],
    }


@pytest.mark.parametrize("variant", [None, *ABLATIONS, Variant("small", top_k=1, pool=1, keep=1)])
@pytest.mark.parametrize("corrected", [False, True])
def test_answers_do_not_depend_on_the_batch_and_traces_are_json(variant, corrected):
    settings = {"corrective": TableCorrective()} if corrected else {}
    together = make_diva(variant, **settings).answer(QUESTIONS)
    assert together == [make_diva(variant, **settings).answer([question])[0] for question in QUESTIONS]
    assert make_diva(variant, **settings).answer([]) == []
    for answer in together:
        assert json.loads(json.dumps(answer.trace)) == answer.trace
        assert answer.trace["calls"] == sum(calls for calls, _, _ in answer.trace["cost"].values())


def by_name(name):
    return next(variant for variant in ABLATIONS if variant.name == name)


def test_without_diversification_each_question_is_its_own_interpretation():
    diva = make_diva(by_name("diva without diversification"), interpreter=None)
    born, _, _, king = diva.answer(QUESTIONS)
    assert diva.retriever.calls == [[question.text for question in QUESTIONS]]
    assert (born.trace["interpretations"], king.trace["interpretations"]) == ([BORN.text], [KING.text])
    assert born.trace["verdicts"] and "interpret" not in born.trace["cost"]


def test_without_adaptation_it_is_standard_rag_on_diversified_passages():
    diva = make_diva(by_name("diva without adaptation"))
    born, capital, ghost, king = diva.answer(QUESTIONS)
    assert diva.generator.judged == [] and len(diva.generator.calls) == 1
    assert [answer.trace["form"] for answer in (born, ghost, king)] == ["standard", "closed book", "standard"]
    assert diva.generator.prompts[3] == answer_prompt(KING, as_knowledge([PORT]))
    assert king.contexts == ("Port#0",) and king.trace["verdicts"] == []
    assert king.trace["cost"].keys() == {"write"}


def test_without_verification_every_passage_is_useful():
    diva = make_diva(by_name("diva without verification"))
    answers = diva.answer(QUESTIONS)
    assert diva.generator.judged == []
    assert [answer.trace["form"] for answer in answers] == ["two steps", "two steps", "closed book", "two steps"]


def test_without_pruning_nothing_is_encoded_and_the_same_number_is_kept():
    diva = make_diva(Variant("x", prune=False, keep=2))
    (born,) = diva.answer([BORN])
    assert born.trace["kept"] == [["Ada_Stone#0", None], ["Ben_Stone#0", None]]
    assert diva.encoder.calls == []


def test_verified_but_not_adapted_reads_useless_passages():
    (king,) = make_diva(Variant("x", adapt=False)).answer([KING])
    assert (king.trace["usefulness"], king.trace["form"], king.contexts) == ("useless", "standard", ("Port#0",))


def test_the_corrective_is_asked_where_something_is_lacking():
    corrective = TableCorrective()
    diva = make_diva(Variant("diva + crag", keep=2), corrective=corrective)
    born, capital, ghost, king = diva.answer(QUESTIONS)
    assert diva.name == "diva + crag"
    assert corrective.calls == [["born", "ghost", "king"]]
    web = "The king was Cy.\nHis son was Dan."
    # Behind passages that are partially useful, in place of useless ones.
    assert diva.generator.calls[0] == [
        extraction_prompt(BORN, (ADA_BORN, BEN_BORN), as_knowledge([ADA, BEN]) + f"\n{web}"),
        extraction_prompt(CAPITAL, (CAPITAL.text,), as_knowledge([AZURE])),
        extraction_prompt(GHOST, (GHOST.text,), web),
        extraction_prompt(KING, (KING_1900, KING_1950), web),
    ]
    assert born.contexts == ("Ada_Stone#0", "Ben_Stone#0", "http://web/1")
    assert (capital.contexts, king.contexts) == (("Port_Azure#0",), ("http://web/1",))
    assert king.trace["correction"] == {"action": "incorrect", "cut_lines": 0} and capital.trace["correction"] is None
    assert king.trace["cost"]["rewrite"] == [1, 5, 3]


def test_a_correction_that_found_nothing_leaves_the_model_alone():
    ghost, born = make_diva(corrective=TableCorrective("")).answer([GHOST, BORN])
    assert (ghost.text, ghost.contexts, ghost.trace["form"]) == ("from memory", (), "closed book")
    assert "http://web/1" not in born.contexts


@pytest.mark.parametrize(
    ("words", "kept", "dropped", "form"),
    [
        (22, ["Ada_Stone#0", "Ben_Stone#0"], [], "two steps"),  # eleven words each, with the title
        (21, ["Ada_Stone#0"], ["Ben_Stone#0"], "two steps"),
        (5, [], ["Ada_Stone#0", "Ben_Stone#0"], "closed book"),
    ],
)
def test_a_context_that_is_too_long_says_what_was_dropped(words, kept, dropped, form):
    diva = make_diva(Variant(keep=2), max_context_words=words)
    (born,) = diva.answer([BORN])
    assert [passage for passage, _ in born.trace["kept"]] == kept
    assert (born.trace["dropped"], born.trace["form"]) == (dropped, form)
    assert list(born.contexts) == kept
    for prompt in diva.generator.prompts + [p for call in diva.generator.judged for own in call for p in own]:
        assert "painter born in 1900" not in prompt or not dropped


def test_a_correction_that_is_too_long_loses_its_last_lines():
    (born,) = make_diva(Variant(keep=2), corrective=TableCorrective(), max_context_words=27).answer([BORN])
    assert born.trace["correction"]["cut_lines"] == 1
    (king,) = make_diva(Variant(keep=2), corrective=TableCorrective(), max_context_words=3).answer([KING])
    assert (king.trace["correction"]["cut_lines"], king.contexts, king.text) == (2, (), "from memory")


def test_an_interpretation_that_retrieves_nothing_is_not_answered():
    retriever = CountingRetriever({ADA_BORN: [ADA]})
    (born,) = make_diva(retriever=retriever).answer([BORN])
    assert born.trace["verdicts"] == [["yes", 0.9, None], ["no", None, "nothing was retrieved for it"]]
    assert born.trace["hits"] == [["Ada_Stone#0"], []]


def test_no_passage_at_all_is_closed_book():
    diva = make_diva(retriever=CountingRetriever({}))
    (born,) = diva.answer([BORN])
    assert (born.text, born.contexts, born.trace["kept"]) == ("from memory", (), [])
    assert born.trace["verdicts"] == [["no", None, "there are no passages"]] * 2
    assert diva.generator.calls[-1] == [answer_prompt(BORN, "")]


def test_empty_text_is_traced():
    generator = WritingGenerator(lambda prompt: "", yes)
    born, ghost = make_diva(generator=generator).answer([BORN, GHOST])
    assert (born.text, born.trace["generation"]) == ("", "no pair could be read from ''")
    assert (ghost.text, ghost.trace["generation"]) == ("", "the model wrote nothing")


def test_per_interpretation_answers_for_small_models():
    generator = WritingGenerator(lambda prompt: "yes: 1801" if prompt.endswith(ADA_BORN) else "yes: 1900", yes)
    (born,) = make_diva(Variant(keep=2), generator, writer=PerInterpretationWriter(generator, generator)).answer([BORN])
    assert born.text == "When was the chemist Ada Stone born: 1801. When was the painter Ben Stone born: 1900."
    assert born.trace["form"] == "joined by rule" and born.trace["cost"]["extract"][0] == 2


def test_what_is_left_of_it_without_all_steps_are_the_baselines():
    plain = Variant("plain", prune=False, verify=False, adapt=False, top_k=2, pool=2, keep=2)
    ours, theirs = WritingGenerator(write), WritingGenerator(write)
    make_diva(plain, ours, interpreter=NoInterpreter()).answer([CAPITAL, KING])
    StandardRag(CountingRetriever(TABLE), GeneratorReader(theirs), top_k=2).answer([CAPITAL, KING])
    assert ours.calls[-1] == theirs.calls[-1]
    ours, theirs = WritingGenerator(write, yes), WritingGenerator(write)
    make_diva(generator=ours).answer([GHOST])
    ClosedBook(GeneratorReader(theirs)).answer([GHOST])
    assert ours.calls[-1] == theirs.calls[-1]


def test_variants_are_checked():
    assert [variant.name for variant in ABLATIONS] == [
        "diva without diversification",
        "diva without adaptation",
        "diva without pruning",
        "diva without verification",
    ]
    for bad in ({"top_k": 0}, {"keep": 0}, {"pool": 4, "keep": 5}):
        with pytest.raises(RagError, match="variant 'x'"):
            Variant("x", **bad)
