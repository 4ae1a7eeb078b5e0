"""The systems end to end on fakes: what each stage sees, and what the trace says."""

import pytest
from fakes import BAD, GOOD, NONE, QUESTIONS, TABLE, UNSURE, FakeWeb, MarkedEvaluator, TableRetriever, make_corrector

from crag.ablations import (
    ACCURACY_KEPT,
    REMOVED_OPERATIONS,
    SINGLE_ACTIONS,
    DegradedRetriever,
    removed_actions,
    web_always,
)
from crag.actions import Action
from crag.rewriting import Rewrite
from crag.system import MAX_UNSELECTED_WORDS, Crag, Variant, score_hits
from crag.web.types import Page, SearchOutcome
from rag.prompts import answer_prompt
from rag.systems import ClosedBook, GeneratorReader, StandardRag
from rag.types import Hit, Passage, Question

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
    """Rewrites in capitals; of one question it says that it lost it."""

    def rewrite(self, questions):
        return [Rewrite(q.upper(), "lost" if q == "bad?" else None) for q in questions]


def test_the_rewriter_makes_the_queries_and_its_note_is_in_the_trace(echo):
    web = FakeWeb()
    good, unsure, bad = make_crag(echo, web, Shouting()).answer([GOOD, UNSURE, BAD])
    assert web.queries == ["UNSURE?", "BAD?"]
    assert [answer.trace["query"] for answer in (good, unsure, bad)] == [None, "UNSURE?", "BAD?"]
    assert [answer.trace["rewriting"] for answer in (good, unsure, bad)] == [None, None, "lost"]
    assert bad.trace["errors"] == []


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
