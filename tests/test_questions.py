"""Question rules on made-up articles, and properties of the real question sets."""

import pytest

from rag.corpus import lead
from rag.datasets.embedded import build_questions, facts_of
from rag.datasets.facts import alias, background, clue, occupations, surname
from rag.errors import RagError
from rag.scoring.text import contains_answer
from rag.types import Article, Question


def facts(articles, article_id):
    known = background(articles)
    return {fact.relation: fact for fact in facts_of(next(a for a in articles if a.id == article_id), known)}


def test_facts_of_a_person(articles):
    found = facts(articles, "Ada_Stone")
    assert {relation: fact.answers for relation, fact in found.items()} == {
        "birth year": ("1801",),
        "death year": ("1870",),
        "occupation": ("chemist",),
        "nationality": ("English", "British"),
    }
    assert found["birth year"].names == {
        "title": "Ada Stone",
        "alias": "Ada Maria Stone",
        "surname": "the chemist Stone",  # shared with Ben Stone, but he is a painter
        "description": "the chemist who discovered a bright blue dye in her own garden shed",
    }
    assert "surname" not in found["occupation"].names  # a bare "Stone" could be either


def test_facts_of_places(articles):
    assert facts(articles, "Port_Azure")["capital"].names == {"description": "Azuria"}
    assert facts(articles, "Port_Azure")["capital"].answers == ("Port Azure",)
    continent = facts(articles, "Azuria")["continent"]
    assert continent.answers == ("Africa",)
    assert continent.names["hop"] == "the country whose capital is Port Azure"


def test_facts_of_a_work_and_its_maker():
    book = Article("Dust", "Dust", "1931 novel by Eva Lind", "Dust is a novel by Eva Lind, published in 1931.", "Arts")
    author = Article("Eva_Lind", "Eva Lind", "Swedish writer (1890–1960)", "Eva Lind was a Swedish writer.", "People")
    found = facts([book, author], "Dust")
    assert found["author"].answers == ("Eva Lind", "Lind")
    assert found["author"].names == {"title": "the novel Dust"}
    assert found["work year"].answers == ("1931",)
    assert found["title of work"].fields == {"year": "1931", "kind": "novel", "maker": "Eva Lind"}
    assert facts([book, author], "Eva_Lind")["birth year"].names["hop"] == "the author of the novel Dust"


def test_facts_of_an_element():
    text = "Ironium is a chemical element; it has symbol Im and atomic number 126. It is soft."
    found = facts([Article("Ironium", "Ironium", "Chemical element", text, "Physical sciences")], "Ironium")
    assert found["element"].answers == ("ironium",)
    assert found["element"].names == {"description": "the atomic number 126", "symbol": "the symbol Im"}


def test_rules_prefer_silence(articles):
    king = Article("X_I", "X I", "Ruler of many lands", "X I was a ruler.", "People")
    assert facts([king], "X_I") == {}
    twins = [
        Article(f"{n}_Stone", f"{n} Stone", "English chemist (1801–1870)", articles[0].extract, "People") for n in "AB"
    ]
    assert "surname" not in facts(twins, "A_Stone")["birth year"].names  # two chemists of that name


def test_parts_of_a_person(articles):
    assert alias(articles[0]) == "Ada Maria Stone"
    assert surname(articles[0]) == "Stone"
    assert occupations(articles[1]) == ["painter"]
    assert clue(articles[1]) is None


def test_a_fact_that_its_article_does_not_state_is_dropped():
    odd = Article("Odd", "Odd", "Capital of Azuria", "A town.", "Geography")
    assert contains_answer(f"{lead(odd)} {odd.extract}", ("Odd",))
    nation = Article("Al_Bo", "Al Bo", "French writer (1801–1870)", "Al Bo was a writer.", "People")
    assert "nationality" not in facts([nation], "Al_Bo")


def test_short_answers_are_dropped():
    tin = Article("Tin", "Tin", "Metal", "Tin is a chemical element; it has symbol Sn and atomic number 50.", "Physics")
    assert facts([tin], "Tin") == {}


def test_real_question_sets(real_articles):
    articles = {article.id: article for article in real_articles}
    sets = build_questions(real_articles)
    split_articles = {split: {question.article_id for question in questions} for split, questions in sets.items()}
    assert not split_articles["train"] & split_articles["test"]
    assert not split_articles["dev"] & (split_articles["train"] | split_articles["test"])
    everything = [question for questions in sets.values() for question in questions]
    assert len({question.id for question in everything}) == len(everything) > 3000
    assert len({question.relation for question in everything}) >= 8
    for question in everything:
        article = articles[question.article_id]
        assert contains_answer(f"{lead(article)} {article.extract}", question.answers), question
        assert question.text[0].isupper() and question.text.endswith("?"), question
        assert "{" not in question.text, question
    # Every prefix goes round the relations.
    first = [question.relation for question in sets["test"][:16]]
    assert len(set(first)) == 16
    assert all(len(answer) >= 4 for question in everything for answer in question.answers)


@pytest.mark.parametrize(
    ("text", "answers", "says"),
    [
        ("  ", ("x",), "question 'q' has no text"),
        ("x" * 10_000, ("x",), "10,000 characters"),
        ("Who?", (), "empty gold answer"),
        ("Who?", ("x", " "), "empty gold answer"),
    ],
)
def test_bad_questions_are_refused(text, answers, says):
    with pytest.raises(RagError, match=says):
        Question("q", text, answers)
