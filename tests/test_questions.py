"""Question rules on made-up articles, and properties of the real question sets."""

import re
from collections import Counter

import pytest

from rag.corpus import lead, sentences
from rag.datasets.embedded import facts_of
from rag.datasets.facts import alias, background, clue, occupations, surname
from rag.errors import RagError
from rag.scoring.text import contains_answer, settles
from rag.types import CRAG_TASKS, Article, Question, Task


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


def every(sets):
    """All questions of a task."""
    return [question for questions in sets.values() for question in questions]


def test_the_four_tasks_share_no_article_between_splits(real_questions):
    assert set(real_questions) == set(CRAG_TASKS)
    by_split = {
        split: {question.article_id for sets in real_questions.values() for question in sets[split]}
        for split in ("train", "dev", "test")
    }
    assert not by_split["train"] & by_split["test"]
    assert not by_split["dev"] & (by_split["train"] | by_split["test"])
    for task, sets in real_questions.items():
        questions = every(sets)
        assert all(question.task == task for question in questions)
        assert len({question.id for question in questions}) == len(questions) > 400
        share = {split: len(own) / len(questions) for split, own in sets.items()}
        assert share == pytest.approx({"train": 0.5, "dev": 0.1, "test": 0.4}, abs=0.03)


@pytest.mark.parametrize("task", CRAG_TASKS)
def test_every_prefix_is_balanced_over_relations(real_questions, task):
    for questions in real_questions[task].values():
        left = Counter(question.relation for question in questions)
        taken = Counter(dict.fromkeys(left, 0))
        for question in questions:
            taken[question.relation] += 1
            left[question.relation] -= 1
            most = max(taken.values())
            # Only a relation of which none is left may be behind.
            assert all(taken[relation] >= most - 1 or not left[relation] for relation in taken)


def test_short_questions_ask_for_what_their_article_states(real_articles, real_questions):
    articles = {article.id: article for article in real_articles}
    questions = every(real_questions[Task.SHORT_ANSWER])
    assert len(questions) > 3000
    for question in questions:
        article = articles[question.article_id]
        assert contains_answer(f"{lead(article)} {article.extract}", question.answers), question
        assert question.text[0].isupper() and question.text.endswith("?"), question
        assert "{" not in question.text, question
    # The first of a split goes round the relations.
    first = [question.relation for question in real_questions[Task.SHORT_ANSWER]["test"][:16]]
    assert len(set(first)) == 16
    assert all(len(answer) >= 4 for question in questions for answer in question.answers)


def test_half_of_the_claims_are_false_and_none_by_a_right_value(real_questions):
    claims = every(real_questions[Task.CLAIM])
    true = {claim.id for claim in claims if claim.answers == ("true",)}
    # Three standard deviations of a fair draw.
    assert len(true) / len(claims) == pytest.approx(0.5, abs=1.5 / len(claims) ** 0.5)
    for claim in claims:
        assert claim.text[0].isupper() and claim.text.endswith(".") and "{" not in claim.text, claim
        assert claim.evidence and claim.relation == claim.id.split("/")[1]
    years = 0
    for claim in claims:
        # What the claim states stands last, but for the words of some wordings behind it.
        said = claim.text.removesuffix(" family of languages.").rstrip(".")
        assert any(said.endswith(value) for value in claim.evidence) == (claim.id in true), claim
        if claim.id not in true and (stated := re.search(r"(\d{4})$", said)):
            years += 1
            assert 2 <= abs(int(stated[1]) - int(claim.evidence[0])) <= 60, claim
    assert years > 300


def test_choices_hold_the_right_answer_once(real_questions):
    questions = every(real_questions[Task.CHOICE])
    for question in questions:
        texts = list(question.choices.values())
        assert 3 <= len(texts) <= 5
        assert "".join(question.choices) in {word[: len(texts)] for word in ("ABCDE", "12345")}
        right = question.choices[question.answers[0]]
        assert right == question.evidence[0] and texts.count(right) == 1
        # No wrong one is another name of the right one, or is held by it.
        assert [text for text in texts if contains_answer(text, question.evidence)] == [right], question
        assert len(set(map(str.casefold, texts))) == len(texts)
    sizes = Counter(len(question.choices) for question in questions)
    assert {size: count / len(questions) for size, count in sizes.items()} == pytest.approx(
        {3: 0.1, 4: 0.8, 5: 0.1}, abs=0.03
    )
    assert sum("1" in question.choices for question in questions) / len(questions) == pytest.approx(0.1, abs=0.03)
    # No place is the right one more often than another.
    of_four = Counter(list(q.choices).index(q.answers[0]) for q in questions if len(q.choices) == 4)
    assert {place: count / sizes[4] for place, count in of_four.items()} == pytest.approx(
        dict.fromkeys(range(4), 0.25), abs=0.03
    )


def test_biographies_are_of_people_with_an_article_of_some_length(real_articles, real_questions):
    articles = {article.id: article for article in real_articles}
    for question in every(real_questions[Task.BIOGRAPHY]):
        article = articles[question.article_id]
        assert question.answers[0] in question.text and article.title.startswith(question.answers[0])
        assert len(sentences(article.extract)) >= 4


def test_a_text_settles_a_question_by_its_answer_or_by_the_fact_behind_it():
    born = "Ada Stone was born in 1801."
    assert settles(Question("s", "When was Ada Stone born?", ("1801",)), born)
    assert not settles(Question("s", "When was Ada Stone born?", ("1802",)), born)
    claim = Question("t", "Ada Stone was born in 1833.", ("false",), task=Task.CLAIM, evidence=("1801",))
    assert settles(claim, born) and not settles(claim, "It is false that she was born in 1833.")
    choices = {"A": "1833", "B": "1801"}
    choice = Question("c", "When?", ("B",), task=Task.CHOICE, choices=choices, evidence=("1801",))
    assert settles(choice, born) and not settles(choice, "B is a letter, 1833 a year.")


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
