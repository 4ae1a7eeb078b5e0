"""The systems end to end on fakes: what each stage sees, and what the trace says."""

import json
from contextlib import contextmanager

import pytest
from diva_fakes import FakeSetup, WritingGenerator
from fakes import (
    BAD,
    GOOD,
    NONE,
    QUESTIONS,
    TABLE,
    UNSURE,
    FakeWeb,
    MarkedEvaluator,
    ScriptedModel,
    TableRetriever,
    make_corrector,
)

from crag import experiments
from crag.ablations import (
    ACCURACY_KEPT,
    REMOVED_OPERATIONS,
    SINGLE_ACTIONS,
    DegradedRetriever,
    removed_actions,
    web_always,
)
from crag.actions import Action, Thresholds
from crag.rewriting import Rewrite
from crag.system import MAX_UNSELECTED_WORDS, Crag, CragCorrection, Variant, score_hits
from crag.web.types import Page, SearchOutcome
from diva.pruning import KEEP
from rag.cost import Spent
from rag.prompts import answer_prompt
from rag.systems import ClosedBook, Correction, GeneratorReader, StandardRag
from rag.types import Completion, Hit, Passage, Question

CORRECT, INCORRECT, AMBIGUOUS = Action.CORRECT, Action.INCORRECT, Action.AMBIGUOUS


def make_crag(echo, web, rewriter=None, variant=None):
    return Crag(make_corrector(web, rewriter), GeneratorReader(echo), variant)


def test_closed_book_and_standard_rag(echo):
    reader = GeneratorReader(echo)
    answers = ClosedBook(reader).answer(QUESTIONS)
    assert [answer.question_id for answer in answers] == ["good", "unsure", "bad", "none"]
    assert echo.prompts == [answer_prompt(question, "") for question in QUESTIONS]
    echo.prompts.clear()
    answers = StandardRag(TableRetriever(TABLE), reader, top_k=2).answer(QUESTIONS)
    assert echo.prompts[0] == answer_prompt(GOOD, "G: +right. More of it.\nG: wrong")
    assert echo.prompts[3] == answer_prompt(NONE, "")  # nothing was retrieved
    assert [answer.contexts for answer in answers] == [("g#0", "g#1"), ("u#0",), ("b#0",), ()]


def answered(tokens_in, tokens_out=3):
    """The trace of one call."""
    return {"calls": 1, "cost": {"answer": [1, tokens_in, tokens_out]}}


def test_closed_book_and_standard_rag_say_what_an_answer_costs():
    reader = GeneratorReader(WritingGenerator(lambda prompt: "a short answer"))
    # Ten words of instruction without a text, "Question: good?" is two.
    assert [answer.trace for answer in ClosedBook(reader).answer(QUESTIONS)] == [answered(12)] * 4
    # Sixteen words with a text, and "Text:"; then the passages of seven, two and two words.
    answers = StandardRag(TableRetriever(TABLE), reader, top_k=2).answer(QUESTIONS)
    assert [answer.trace for answer in answers] == [answered(26), answered(21), answered(21), answered(12)]


def test_a_reader_gives_what_the_generator_wrote():
    reader = GeneratorReader(WritingGenerator(lambda prompt: "a short answer"))
    assert reader.read([GOOD, BAD], ["", "the text"]) == [
        Completion("a short answer", 12, 3),
        Completion("a short answer", 21, 3),
    ]
    assert reader.read([], []) == []


def test_crag_acts_on_each_question(echo):
    web = FakeWeb()
    crag = make_crag(echo, web)
    good, unsure, bad, none = crag.answer(QUESTIONS)
    assert crag.name == "crag"
    assert [answer.trace["action"] for answer in (good, unsure, bad, none)] == [
        "correct",
        "ambiguous",
        "incorrect",
        "incorrect",
    ]
    assert web.queries == ["unsure", "bad", "none"]  # no search where retrieval is right
    assert good.contexts == ("g#0",)
    assert unsure.contexts == ("u#0", "http://web/unsure")  # internal, then external
    assert bad.contexts == ("http://web/bad",)
    assert echo.prompts == [
        answer_prompt(GOOD, "G: +right. More of it."),
        answer_prompt(UNSURE, "U: ~perhaps\nWeb: +from http://web/unsure"),
        answer_prompt(BAD, "Web: +from http://web/bad"),
        answer_prompt(NONE, "Web: +from http://web/none"),
    ]
    # The four passages, then the strips of all questions at once.
    assert [len(call) for call in crag.corrector.evaluator.calls] == [4, 2 + 1 + 2 * 3]


def test_a_failed_search_gives_no_knowledge_and_says_so(echo):
    answers = make_crag(echo, FakeWeb(broken={"bad"})).answer([BAD, UNSURE])
    assert answers[0].trace["errors"] == ["the server answered 500"]
    assert answers[0].contexts == ()
    assert echo.prompts[0] == answer_prompt(BAD, "")
    assert answers[1].trace["errors"] == []  # the neighbour is not touched
    assert answers[1].contexts == ("u#0", "http://web/unsure")


def test_an_empty_result_is_no_knowledge(echo):
    class EmptyWeb(FakeWeb):
        def search(self, queries):
            return [SearchOutcome(query, error="the search found nothing") for query in queries]

    (answer,) = make_crag(echo, EmptyWeb()).answer([BAD])
    assert echo.prompts == [answer_prompt(BAD, "")]
    assert (answer.trace["errors"], answer.trace["query"], answer.contexts) == (["the search found nothing"], "bad", ())


class Shouting:
    """Rewrites in capitals by one call each; of one question it says that it lost it."""

    def rewrite(self, questions):
        cost = {"rewrite": Spent(1, 40, 2)}
        return [Rewrite(q.upper(), "lost" if q == "bad?" else None, cost) for q in questions]


def test_the_rewriter_makes_the_queries_and_its_note_is_in_the_trace(echo):
    web = FakeWeb()
    good, unsure, bad = make_crag(echo, web, Shouting()).answer([GOOD, UNSURE, BAD])
    assert web.queries == ["UNSURE?", "BAD?"]
    assert [answer.trace["query"] for answer in (good, unsure, bad)] == [None, "UNSURE?", "BAD?"]
    assert [answer.trace["rewriting"] for answer in (good, unsure, bad)] == [None, None, "lost"]
    assert bad.trace["errors"] == []


def test_what_the_rewriter_costs_is_counted_where_it_was_asked():
    reader = GeneratorReader(WritingGenerator(lambda prompt: "a short answer"))
    good, bad = Crag(make_corrector(FakeWeb(), Shouting()), reader).answer([GOOD, BAD])
    # Nineteen words and the knowledge: five from the passage, three from the web.
    assert (good.trace["calls"], good.trace["cost"]) == (1, {"answer": [1, 24, 3]})
    assert (bad.trace["calls"], bad.trace["cost"]) == (2, {"rewrite": [1, 40, 2], "answer": [1, 22, 3]})
    assert json.loads(json.dumps(bad.trace)) == bad.trace
    # A rule costs nothing, and without rewriting the rewriter isn't asked.
    (without,) = [variant for variant in REMOVED_OPERATIONS if not variant.rewrite]
    for rewriter, variant in ((None, None), (Shouting(), without)):
        (bad,) = Crag(make_corrector(FakeWeb(), rewriter), reader, variant).answer([BAD])
        assert (bad.trace["calls"], bad.trace["cost"]) == (1, {"answer": [1, 22, 3]})


def test_crag_as_the_correction_of_another_system():
    web = FakeWeb(broken={"NONE?"})
    good, bad, none = CragCorrection(make_corrector(web, Shouting())).correct([GOOD, BAD, NONE])
    assert (good.text, good.sources, good.cost) == ("G: +right. More of it.", ("g#0",), {})
    assert bad == Correction(
        "Web: +from http://web/BAD?",
        ("http://web/BAD?",),
        {
            "action": "incorrect",
            "scores": [-0.9],
            "strips": [["http://web/BAD?", 0.9]],
            "query": "BAD?",
            "rewriting": "lost",
            "errors": [],
        },
        {"rewrite": Spent(1, 40, 2)},
    )
    assert (none.text, none.sources, none.trace["errors"]) == ("", (), ["the server answered 500"])
    web = FakeWeb()
    (good,) = CragCorrection(make_corrector(web), by_name(SINGLE_ACTIONS, "only incorrect")).correct([GOOD])
    assert good.sources == ("http://web/good",)
    assert CragCorrection(make_corrector(web)).correct([]) == []


@pytest.mark.parametrize("variant", [None, *removed_actions(0.0), *SINGLE_ACTIONS, *REMOVED_OPERATIONS])
def test_answers_do_not_depend_on_the_batch(echo, variant):
    together = make_crag(echo, FakeWeb(), variant=variant).answer(QUESTIONS)
    alone = [make_crag(echo, FakeWeb(), variant=variant).answer([question])[0] for question in QUESTIONS]
    assert together == alone
    assert make_crag(echo, FakeWeb(), variant=variant).answer([]) == []


def test_scores_stay_with_their_questions():
    retrieved = [[], [Hit(TABLE["good?"][0], 1.0), Hit(TABLE["good?"][1], 1.0)], [], [Hit(TABLE["unsure?"][0], 1.0)]]
    assert score_hits(QUESTIONS, retrieved, MarkedEvaluator()) == [[], [0.9, -0.9], [], [0.0]]


def by_name(variants, name):
    return next(variant for variant in variants if variant.name == name)


def correct(variant, questions=QUESTIONS, web=None, rewriter=None):
    """The knowledge that a variant gathers, and the corrector and web that were used."""
    web = web or FakeWeb()
    corrector = make_corrector(web, rewriter)
    return corrector.correct(questions, variant), corrector, web


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("without correct", [AMBIGUOUS, AMBIGUOUS, INCORRECT, INCORRECT]),
        ("without incorrect", [CORRECT, AMBIGUOUS, AMBIGUOUS, AMBIGUOUS]),
        ("without ambiguous", [CORRECT, CORRECT, INCORRECT, INCORRECT]),  # 0.0 reaches the single threshold of 0.0
        ("only correct", [CORRECT] * 4),
        ("only incorrect", [INCORRECT] * 4),
        ("only ambiguous", [AMBIGUOUS] * 4),
    ],
)
def test_removed_and_single_actions(name, actions):
    knowledge, _, web = correct(by_name([*removed_actions(0.0), *SINGLE_ACTIONS], name))
    assert [known.action for known in knowledge] == actions
    assert web.queries == [q.id for q, action in zip(QUESTIONS, actions, strict=True) if action != CORRECT]
    internal = [[strip.source for strip in known.internal] for known in knowledge]
    kept = [["g#0"], ["u#0"], [], []]  # what the evaluator lets through of each question's passages
    assert internal == [own if action != INCORRECT else [] for own, action in zip(kept, actions, strict=True)]
    external = [[strip.text for strip in known.external] for known in knowledge]
    assert external == [
        [f"+from http://web/{q.id}"] if action != CORRECT else [] for q, action in zip(QUESTIONS, actions, strict=True)
    ]


def test_one_threshold_leaves_no_ambiguous_between_its_ends():
    # The questions' best scores are 0.9, 0.0 and -0.9, and one has no passage.
    for single, right in ((0.95, 0), (0.9, 1), (0.0, 2), (-0.9, 3)):
        knowledge, _, _ = correct(by_name(removed_actions(single), "without ambiguous"))
        assert [known.action for known in knowledge] == [CORRECT] * right + [INCORRECT] * (4 - right)


def test_without_refinement_passages_stay_whole_and_unscored():
    knowledge, corrector, _ = correct(by_name(REMOVED_OPERATIONS, "without refinement"))
    assert knowledge[0].text == "G: +right. More of it.\nG: wrong"
    assert knowledge[1].text == "U: ~perhaps\nWeb: +from http://web/unsure"  # the web is still selected from
    passages, strips = corrector.evaluator.calls
    assert len(passages) == 4 and len(strips) == 2 * 3
    assert all(text == "clutter" or text.startswith("+from") for text in strips)


def test_without_rewriting_the_question_itself_is_searched():
    knowledge, _, web = correct(by_name(REMOVED_OPERATIONS, "without rewriting"), rewriter=Shouting())
    assert web.queries == ["unsure?", "bad?", "none?"]
    assert [known.trace["rewriting"] for known in knowledge] == [None] * 4


def test_without_selection_pages_are_kept_and_the_evaluator_sees_none_of_them():
    knowledge, corrector, _ = correct(by_name(REMOVED_OPERATIONS, "without selection"))
    assert knowledge[2].text == "Web: +from http://web/bad clutter"
    assert knowledge[1].text == "U: ~perhaps\nWeb: +from http://web/unsure clutter"
    assert corrector.evaluator.calls[1] == ["+right. More of it.", "wrong", "~perhaps"]


def test_without_selection_pages_are_cut_at_the_limit_of_words():
    class LongWeb(FakeWeb):
        def read(self, urls):
            half = "word " * (MAX_UNSELECTED_WORDS // 2)
            return {url: Page(url, "Web", (half, half, "too much")) for url in urls}

    knowledge, _, _ = correct(by_name(REMOVED_OPERATIONS, "without selection"), [BAD], LongWeb())
    assert len(knowledge[0].external) == 2
    assert sum(len(strip.text.split()) for strip in knowledge[0].external) == MAX_UNSELECTED_WORDS == 600


def test_the_web_always_adds_to_whole_passages():
    variant = web_always("rag + web")
    knowledge, _, web = correct(variant)
    assert variant.name == "rag + web"
    assert web.queries == ["good", "unsure", "bad", "none"]
    assert [known.text for known in knowledge] == [
        "G: +right. More of it.\nG: wrong\nWeb: +from http://web/good",
        "U: ~perhaps\nWeb: +from http://web/unsure",
        "B: wrong\nWeb: +from http://web/bad",
        "Web: +from http://web/none",
    ]


def test_the_default_variant_is_the_method():
    assert [known.text for known in correct(Variant())[0]] == [known.text for known in correct(Variant("all"))[0]]


ASKED = [Question(f"q{i}", f"About {i}?", ("x",), f"own{i}") for i in range(60)]
# Of each question's 25 passages every fifth is of its own article.
RANKING = {
    question.text: [
        Passage(f"{question.article_id if rank % 5 == 0 else 'other'}#{rank}", "T", f"text {rank}")
        for rank in range(25)
    ]
    for question in ASKED
}


def degraded(kept, k=5):
    """The ids of the passages at a level, by question."""
    retriever = DegradedRetriever(TableRetriever(RANKING), ASKED, kept)
    found = retriever.retrieve([question.text for question in ASKED], k)
    return {question.id: [hit.passage.id for hit in hits] for question, hits in zip(ASKED, found, strict=True)}


def test_full_accuracy_changes_nothing():
    assert degraded(1.0) == {q.id: [passage.id for passage in RANKING[q.text][:5]] for q in ASKED}


def test_at_no_accuracy_others_move_up_in_their_order():
    # Of the ranks from 0 on, 0 and 5 are accurate.
    assert degraded(0.0) == {question.id: [f"other#{rank}" for rank in (1, 2, 3, 4, 6)] for question in ASKED}
    # Five accurate ones of 25 leave 20.
    assert all(len(own) == 20 for own in degraded(0.0, k=25).values())


def test_levels_of_accuracy_are_nested_and_near_their_share():
    lost = {}
    for kept in ACCURACY_KEPT:
        found = degraded(kept)
        own = {q.id: [i for i in found[q.id] if i.startswith(f"{q.article_id}#")] for q in ASKED}
        # A question keeps all of its accurate passages, or none.
        assert all(accurate in ([], [f"own{i[1:]}#0"]) for i, accurate in own.items())
        lost[kept] = {i for i, accurate in own.items() if not accurate}
    sizes = [len(lost[kept]) for kept in ACCURACY_KEPT]
    assert ACCURACY_KEPT == (1.0, 0.75, 0.5, 0.25, 0.0)
    assert all(lost[more] < lost[less] for more, less in zip(ACCURACY_KEPT, ACCURACY_KEPT[1:], strict=False))
    assert sizes[0] == 0 and sizes[-1] == 60
    # Three standard deviations of a binomial draw of 60.
    assert sizes[1:4] == pytest.approx([15, 30, 45], abs=12)


def test_crags_systems_on_ambiguous_questions(monkeypatch):
    web, evaluator, model, opened = FakeWeb(), MarkedEvaluator(), ScriptedModel(lambda prompt: None), []

    @contextmanager
    def open_web(setup):
        opened.append("open")
        yield web
        opened.append("closed")

    setup = FakeSetup({}, TableRetriever(TABLE), WritingGenerator(lambda prompt: "written"), max_new_tokens=77)
    thresholds = Thresholds(0.5, -0.5)
    monkeypatch.setattr(experiments, "train_evaluator", lambda setup: evaluator)
    monkeypatch.setattr(experiments, "calibrate", lambda setup, evaluator: thresholds)
    monkeypatch.setattr(experiments, "reflective_model", lambda setup: model)
    monkeypatch.setattr(experiments, "open_web", open_web)
    with experiments.open_ambiguous(setup) as (systems, correction):
        assert opened == ["open"]
        self_rag, crag = systems
        assert (self_rag.name, crag.name) == ("self-rag", "crag")
        answers = crag.answer(QUESTIONS)
        corrections = correction.correct([BAD])
    assert opened == ["open", "closed"]
    assert [answer.trace["action"] for answer in answers] == ["correct", "ambiguous", "incorrect", "incorrect"]
    assert {answer.text for answer in answers} == {"written"}
    assert corrections[0].sources == answers[2].contexts and corrections[0].sources[0].startswith("http://web/")
    # Long answers, from as many passages as DIVA keeps.
    assert setup.lengths == [77] and self_rag.reader.settings.max_new_tokens == 77
    assert self_rag.retriever is correction.corrector.retriever is setup.ambiguous_retriever
    assert self_rag.top_k == correction.corrector.top_k == KEEP
