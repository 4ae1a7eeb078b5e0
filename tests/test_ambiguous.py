"""Ambiguous questions: the rules on made-up articles, and properties of the real set."""

import random
from collections import Counter, defaultdict

import pytest

from rag.corpus import lead
from rag.datasets.ambiguous import build_ambiguous, build_given_names, find_families, find_readings, interleave, tell
from rag.datasets.readings import family_name, find_reign, profession
from rag.datasets.senses import described, sense
from rag.errors import RagError
from rag.experiment import score_texts
from rag.profile import load_profile
from rag.prompts import answer_prompt
from rag.scoring.text import contains_answer, normalise, settles
from rag.setup import Setup
from rag.types import Answer, Article, Interpretation, Question, Task


def article(title, description, extract="", topic="People"):
    return Article(title.replace(" ", "_"), title, description, extract or f"{title} is described above.", topic)


def asked(articles):
    """All questions on the articles by id, whatever their split."""
    return {question.id: question for own in build_ambiguous(articles).values() for question in own}


def pairs(question):
    return {interpretation.text: interpretation.answers for interpretation in question.interpretations}


def test_people_of_one_family_name(articles):
    questions = asked(articles)
    born = questions["birth year/surname/Stone"]
    assert born.text in ("When was Stone born?", "In what year was Stone born?", "What is the birth year of Stone?")
    assert born.answers == ("1801", "1900")
    clear = [born.text.replace("Stone", name) for name in ("the chemist Ada Stone", "the painter Ben Stone")]
    assert born.interpretations == (
        Interpretation(clear[0], ("1801",), "Ada_Stone"),
        Interpretation(clear[1], ("1900",), "Ben_Stone"),
    )
    assert born.references == (
        "The chemist Ada Stone was born in 1801, while the painter Ben Stone was born in 1900.",
        "That depends on who is meant. The year of birth of the chemist Ada Stone is 1801, while the year of birth of the "
        "painter Ben Stone is 1900.",
    )
    assert (born.task, born.form, born.relation, born.article_id) == (Task.AMBIGUOUS, "surname", "birth year", None)
    assert questions["occupation/surname/Stone"].answers == ("chemist", "painter")
    # English and Welsh are both British, but no people's name is another's.
    assert "nationality/surname/Stone" not in questions


def test_a_name_that_is_rather_a_given_name_is_no_family_name(articles):
    stones = [article(f"Stone {last}", "Welsh painter (1900–1950)") for last in ("Moor", "Hill", "Heath")]
    assert not [i for i in asked([*articles, *stones]) if i.endswith("/surname/Stone")]


@pytest.mark.parametrize(
    ("title", "description", "name", "job"),
    [
        ("Ada Stone", "English chemist (1801–1870)", "Stone", "chemist"),
        ("Ann Lee", "American jazz trumpeter and singer (1901–1971)", "Lee", "jazz trumpeter"),
        ("Cy Dow", "American track and field athlete (born 1961)", "Dow", "track and field athlete"),
        ("Di Fox", "Austrian–British psychoanalyst (1895–1982)", "Fox", "psychoanalyst"),
        ("Ed May Jr.", "Martial artist and actor (1940–1973)", "May", "martial artist"),
        ("Flo Day", "President of Azuria from 1953 to 1961", "Day", "President of Azuria"),
        ("Guy of Azuria", "English chemist (1801–1870)", None, "chemist"),
        ("Han Li", "Chinese chemist (1801–1870)", None, "chemist"),
        ("Ian III", "King of Azuria from 1901 to 1950", None, None),
        ("Jo Khan", "Indian painter (1901–1950)", None, "painter"),
        ("Kit Band", "American rock band (1987–1994)", None, None),
    ],
)
def test_family_names_and_professions(title, description, name, job):
    assert family_name(article(title, description)) == name
    assert profession(article(title, description)) == job


def test_the_senses_of_a_name():
    planet = article("Zorn (planet)", "Third planet from its star", "Zorn is the third planet.", "Uncategorized")
    tool = article("Zorn (carpentry)", "Type of tool", "A zorn is a tool for smoothing wood.", "Technology")
    person = article("Max Zorn", "German mathematician (1906–1993)", "Max Zorn was a German mathematician.")
    question = asked([planet, tool, person])["kind/sense/Zorn"]
    assert pairs(question) == {
        "Who is Max Zorn?": ("mathematician",),
        "What is a zorn in woodworking?": ("tool",),
        "What is Zorn in astronomy?": ("third planet", "planet"),
    }
    assert question.references[0] == (
        "Max Zorn is known as a mathematician; in woodworking, a zorn is a type of tool; and in astronomy, Zorn is the "
        "third planet from its star."
    )
    assert question.text in {f'What {end} "Zorn"?' for end in ("is meant by",)} | {
        f'What does "Zorn" {end}?' for end in ("stand for", "refer to")
    }
    # Unless each sense is known, and of a field of its own, nothing is asked.
    idea = article("Zorn (idea)", "Thing that nobody understands", topic="Philosophy and religion")
    star = article("Zorn (star)", "Brightest star in the sky", topic="Physical sciences")
    for other in (idea, star):
        assert "kind/sense/Zorn" not in asked([planet, tool, person, other])


@pytest.mark.parametrize(
    ("title", "description", "extract", "clear", "answers", "told"),
    [
        ("Wob", "SI derived unit of pressure", "The wob is a unit.", "the wob in measurement", ("unit of pressure",), "an"),
        ("Wob", "Family of long-legged birds", "Wobs are birds.", "a wob in zoology", ("long-legged birds", "bird"), "one of a family of"),
        ("Wob", "Small insects of the family Wobidae", "Wobs hop.", "a wob in zoology", ("small insects", "insect"), "one of the"),
        ("Wob (finance)", "Type of financial contract", "In finance, a wob is one.", "a wob in finance", ("financial contract", "contract"), "a type of"),
        ("Wob River", "Major river in Azuria", "The Wob River flows.", "the Wob in hydrology", ("major river", "river"), "a"),
        ("Wob", "Capital and largest city of Azuria", "Wob is a city.", "Wob in geography", ("capital", "city"), "the"),
        ("Wob", "1818 novel by Eva Lind", "Wob is a novel.", "Wob in literature", ("novel",), "an"),
        ("Wob", "Head of the Azurian Church", "The wob is a bishop.", "the wob in religion", ("head of the Azurian Church",), "the"),
    ],
)  # fmt: skip
def test_what_a_thing_is(title, description, extract, clear, answers, told):
    one = article(title, description, extract, "Uncategorized")
    fact = sense("Wob", one)
    assert (fact.clear, fact.answers) == (clear, answers)
    assert described(one).startswith(f"{told} ")


def test_rulers_of_one_name_and_an_office():
    otto = article("Otto I of Azuria", "King of Azuria from 1201 to 1240")
    second = article("Otto II of Azuria", "King of Azuria from 1302 to 1340")
    hugo = article("Hugo, King of Azuria", "King of Azuria from 1402 to 1440")
    question = asked([otto, second])["rule start/ruler/King Otto"]
    found = {i.article_id: i.answers for i in question.interpretations}
    assert found == {"Otto_I_of_Azuria": ("1201",), "Otto_II_of_Azuria": ("1302",)}
    assert "Otto II of Azuria" in question.interpretations[0].text
    office = asked([otto, hugo])["holder/office/King of Azuria"]
    assert office.text in ("Who was King of Azuria?", "Who held the office of King of Azuria?")
    assert pairs(office) == {
        "Who was King of Azuria from 1402 to 1440?": ("Hugo",),
        "Who was King of Azuria from 1201 to 1240?": ("Otto I",),
    }
    # "Otto I" stands in "Otto II": neither can be looked for.
    assert "holder/office/King of Azuria" not in asked([otto, second])
    emperor = article("Otto the Bald", "Emperor of Bor from 1501 to 1540")
    assert "rule start/ruler/the monarch Otto" in asked([otto, emperor])


def test_the_holders_of_an_office():
    first = article("Ann Lee", "President of Azuria from 1953 to 1961")
    second = article("Bo Dow", "President of Azuria (1966–1977; 1980–1984)")
    third = article("Cy Fox", "President of Azuria since 2014")
    question = asked([first, second, third])["holder/office/President of Azuria"]
    assert pairs(question) == {
        "Who was President of Azuria from 1953 to 1961?": ("Ann Lee",),
        "Who was President of Azuria from 1966 to 1977 and from 1980 to 1984?": ("Bo Dow",),
        "Who has been President of Azuria since 2014?": ("Cy Fox",),
    }
    end = asked([first, second, third])["rule end/office/the President of Azuria"]
    assert end.answers == ("1961", "1984")
    # One more, of whom only the text says so: the question would lack an answer.
    fourth = article("Di May", "Azurian writer (1890–1960)", "Di May was the first President of Azuria.")
    assert not [i for i in asked([first, second, third, fourth]) if i.endswith("President of Azuria")]


def test_an_office_of_many_is_asked_by_the_century():
    years = [(1101, 1130), (1131, 1199), (1199, 1220), (1305, 1306), (1401, 1402), (1501, 1502), (1601, 1602)]
    names = ["Ann", "Bodo", "Cyrus", "Dietrich", "Egon", "Fritz", "Gerd"]
    holders = [
        article(f"{n} the Good", f"Emperor of Azuria from {a} to {b}") for n, (a, b) in zip(names, years, strict=True)
    ]
    questions = asked(holders)
    office = [i for i in questions if i.startswith("holder/office/")]
    assert office == ["holder/office/Emperor of Azuria in the 12th century"]
    assert questions[office[0]].answers == ("Ann the Good", "Bodo the Good", "Cyrus the Good")


@pytest.mark.parametrize(
    ("description", "when", "start", "end", "sure"),
    [
        ("King of Azuria from 1201 to 1240", "from 1201 to 1240", "1201", "1240", True),
        ("King of Azuria from c. 375 to c. 415", "from 375 to 415", "375", "415", True),
        ("Pharaoh of Azuria from 305 to 282 BC", "from 305 to 282 BC", "305", "282", False),
        ("Shah of Azuria from 1530 to 1540 and from 1555 to 1556", "from 1530 to 1540 and from 1555 to 1556", "1530", "1556", True),
        ("King of Azuria from 1567 to 1625, King of Bor from 1603", "from 1567 to 1625", "1567", "1625", False),
        ("President of Azuria (1996; 1998–99, 2009–present)", "in 1996 and from 1998 to 1999 and since 2009", "1996", "", True),
        ("Head of the Catholic Church from 440 to 461", "from 440 to 461", "440", "461", True),
    ],
)  # fmt: skip
def test_reigns(description, when, start, end, sure):
    reign = find_reign(article("Otto", description))
    assert (reign.when, reign.start, reign.end, reign.sure) == (when, start, end, sure)


def test_a_lifespan_is_no_reign():
    assert find_reign(article("Otto", "King of Azuria and Duke of Bor (1670–1733)")) is None
    assert find_reign(article("Otto", "President and Dictator of Azuria from 1901 to 1911")) is None


def test_events_without_an_ordinal():
    wars = [
        article("First Salt War", "1401–1405 war in Azuria", "The First Salt War was long.", "History"),
        article("Second Salt War", "1420–1421 war in Azuria", "The Second Salt War was short.", "History"),
    ]
    question = asked(wars)["event start/event/the Salt War"]
    assert list(pairs(question).values()) == [("1401",), ("1420",)]
    assert "the First Salt War" in question.interpretations[0].text
    # "The Salt War" is the first one's title: a question that names it so isn't clear.
    plain = article("Salt War", "1401–1405 war in Azuria", "The Salt War was long.", "History")
    assert not [i for i in asked([plain, wars[1]]) if "/event/" in i]


def test_works_of_one_kind_by_one_maker():
    books = [
        article("Dust", "1931 novel by Eva Lind", "Dust is a 1931 novel by Eva Lind.", "Arts"),
        article("Rust", "1940 novel by Eva Lind", "Rust is a 1940 novel by Eva Lind.", "Arts"),
        article("Must", "1950 play by Eva Lind", "Must is a 1950 play by Eva Lind.", "Arts"),
    ]
    questions = asked(books)
    assert questions["work year/work/the novel by Eva Lind"].answers == ("1931", "1940")
    titles = questions["title/work/the novel by Eva Lind"]
    assert titles.answers == ("Dust", "Rust")
    assert all(str(year) in i.text for year, i in zip((1931, 1940), titles.interpretations, strict=True))
    # A single work's maker has others, so it is not unambiguous.
    assert not [i for i in questions if "/unambiguous/" in i]


def test_answers_that_two_could_give_count_for_neither():
    def jobs(*each):
        people = [article(f"{n} Stone", f"English {job} (1801–1870)") for n, job in zip("AB", each, strict=True)]
        return [f.readings for f in find_families(find_readings(people)) if f.first.fact.relation == "occupation"]

    ((first, second),) = jobs("poet and painter", "novelist and painter")
    assert (first.fact.answers, second.fact.answers) == (("poet",), ("novelist",))
    assert jobs("poet", "poet and painter") == []  # nothing is left of the first
    assert jobs("painter", "house painter") == []  # the one holds the other


def test_sentences_hold_up_to_three_clauses():
    assert tell(["a is b"]) == "A is b."
    assert tell(["a is b", "c is d"]) == "A is b, while c is d."
    assert tell(list("abcde")) == "A; b; and c. D, while e."


def test_every_fifth_question_is_unambiguous():
    ambiguous, single = ([Question(f"{kind}{n}", "?", ("x",)) for n in range(9)] for kind in "as")
    ids = [question.id for question in interleave(ambiguous, single)]
    assert ids == ["a0", "a1", "a2", "a3", "s0", "a4", "a5", "a6", "a7", "s1", "a8"]
    assert [question.id for question in interleave(ambiguous, single[:1])][9:] == ["a8"]


def test_no_articles_give_no_questions():
    assert build_ambiguous([]) == {"train": [], "dev": [], "test": []}


@pytest.fixture(scope="module")
def sets(real_articles):
    return build_ambiguous(real_articles)


@pytest.fixture(scope="module")
def every(sets):
    return [question for own in sets.values() for question in own]


def is_ambiguous(question):
    return len(question.interpretations) > 1


def test_there_are_enough_and_a_fifth_is_unambiguous(sets):
    for split, least in {"train": 300, "dev": 40, "test": 120}.items():
        ambiguous = [question for question in sets[split] if is_ambiguous(question)]
        assert len(ambiguous) >= least
        assert 2 <= max(len(question.interpretations) for question in ambiguous) <= 6
        assert [question.form == "unambiguous" for question in sets[split]] == [
            not is_ambiguous(question) for question in sets[split]
        ]
        for end in range(5, len(sets[split]), 5):
            assert sum(not is_ambiguous(question) for question in sets[split][:end]) == end // 5
    names = {question.id.split("/")[2] for question in sets["test"] if is_ambiguous(question)}
    assert len({name.removeprefix("the ") for name in names}) >= 60


def test_a_name_and_its_articles_are_of_one_split(sets):
    articles, names, texts = defaultdict(set), defaultdict(set), Counter()
    for split, questions in sets.items():
        for question in questions:
            texts[question.text] += 1
            names[question.id.split("/")[2].removeprefix("the ").casefold()].add(split)
            for interpretation in question.interpretations:
                articles[interpretation.article_id].add(split)
    assert all(len(splits) == 1 for splits in [*articles.values(), *names.values()])
    assert max(texts.values()) == 1
    assert len({question.id for own in sets.values() for question in own}) == texts.total()


def test_answers_stand_in_their_articles_and_nowhere_they_should_not(real_articles, every):
    articles = {one.id: one for one in real_articles}
    for question in every:
        for interpretation in question.interpretations:
            own = articles[interpretation.article_id]
            text = f"{lead(own)} {own.extract}"
            assert all(contains_answer(text, [answer]) for answer in interpretation.answers), question
            assert min(len(normalise(answer)) for answer in interpretation.answers) >= 4, question
            assert not contains_answer(interpretation.text, interpretation.answers), question
            assert not contains_answer(question.text, interpretation.answers), question
            for other in question.interpretations:
                apart = [not contains_answer(answer, other.answers) for answer in interpretation.answers]
                assert other is interpretation or all(apart), question


def test_questions_and_references_read_as_sentences(every):
    for question in every:
        texts = [interpretation.text for interpretation in question.interpretations]
        assert len(set(texts)) == len(texts)
        assert (question.text in texts) == (not is_ambiguous(question))
        for text in [question.text, *texts]:
            assert text[0].isupper() and text.endswith("?") and "{" not in text and "  " not in text, text
        assert len(set(question.references)) == 2
        for reference in question.references:
            assert reference[0].isupper() and reference.endswith(".") and "{" not in reference, reference
            # A reference answers every reading.
            assert all(contains_answer(reference, i.answers) for i in question.interpretations), question
            assert len(reference.split()) < 120


def test_people_by_their_given_names(real_articles, sets):
    questions = build_given_names(real_articles, "train")
    elsewhere = {i.article_id for split in ("dev", "test") for q in sets[split] for i in q.interpretations}
    assert not [own for question in questions for own in question.interpretations if own.article_id in elsewhere]
    assert {len(question.interpretations) for question in questions} == {1, 2, 3, 4, 5, 6}
    meant = {question.id: {own.article_id for own in question.interpretations} for question in questions}
    alberts = {"Albert_A._Michelson", "Albert_Bandura", "Albert_Camus", "Albert_Einstein"}
    assert meant["occupation/given name/Albert"] == alberts
    # One question on a name that one page has, on which there is more to ask.
    assert [own for key, own in meant.items() if key.endswith("/Zinedine")] == [{"Zinedine_Zidane"}]
    assert not {question.id for question in questions} & {question.id for own in sets.values() for question in own}


def test_every_prefix_goes_round_the_forms_and_relations(sets):
    for questions in sets.values():
        for pool in (
            [(q.form, q.relation) for q in questions if is_ambiguous(q)],
            [q.relation for q in questions if not is_ambiguous(q)],
        ):
            left, taken = Counter(pool), Counter(dict.fromkeys(pool, 0))
            for kind in pool:
                taken[kind] += 1
                left[kind] -= 1
                # Only a kind of which none is left may be behind.
                assert all(taken[k] >= max(taken.values()) - 1 or not left[k] for k in taken)
    assert len({question.relation for question in sets["test"][:24]}) >= 10


def test_known_names(every):
    questions = {question.id: question for question in every}

    def answers(i):
        return {interpretation.article_id: interpretation.answers for interpretation in questions[i].interpretations}

    assert answers("birth year/surname/Bernoulli") == {
        "Daniel_Bernoulli": ("1700",),
        "Jacob_Bernoulli": ("1655",),
        "Johann_Bernoulli": ("1667",),
    }
    assert answers("occupation/surname/Foucault") == {
        "Léon_Foucault": ("physicist",),
        "Michel_Foucault": ("philosopher", "critic"),
    }
    assert answers("nationality/surname/Hepburn") == {
        "Audrey_Hepburn": ("British",),
        "Katharine_Hepburn": ("American",),
    }
    assert answers("kind/sense/Mercury") == {
        "Mercury_(element)": ("chemical element", "element"),
        "Mercury_(planet)": ("first planet", "planet"),
    }
    assert answers("kind/sense/Mars") == {"Mars": ("fourth planet", "planet"), "Mars_(mythology)": ("Roman god",)}
    assert answers("kind/sense/Java")["Java_(programming_language)"][-1] == "programming language"
    assert answers("rule start/ruler/King Edward") == {"Edward_I": ("1272",), "Edward_III": ("1327",)}
    assert answers("event end/event/the Opium War") == {"First_Opium_War": ("1842",), "Second_Opium_War": ("1860",)}
    assert answers("title/work/the film by Alfred Hitchcock") == {
        "Psycho_(1960_film)": ("Psycho",),
        "Vertigo_(film)": ("Vertigo",),
    }
    assert answers("holder/office/King of England in the 12th century") == {
        "Henry_II_of_England": ("Henry II",),
        "John,_King_of_England": ("John",),
        "Richard_I_of_England": ("Richard I",),
    }
    # Presidents and the like have gaps in the encyclopedia that its own texts tell of.
    assert not [i for i in questions if "Prime Minister of the United Kingdom" in i and "/office/" in i]


def test_the_order_of_the_articles_does_not_matter(real_articles):
    some = [one for one in real_articles if one.topic in ("People", "Arts")]
    shuffled = random.Random(0).sample(some, len(some))
    assert build_ambiguous(shuffled) == build_ambiguous(some)


PAIR = Interpretation("When was Ada Stone born?", ("1801",))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Interpretation(" ", ("x",)), "has no text"),
        (lambda: Interpretation("Who?", ()), "interpretation 'Who\\?' has an empty gold answer"),
        (lambda: Interpretation("Who?", ("x", "")), "empty gold answer"),
        (lambda: Question("q", "When?", ("1801",), task=Task.AMBIGUOUS), "question 'q' has no interpretations"),
        (lambda: Question("q", "When?", ("1802",), interpretations=(PAIR,)), "not those of its interpretations"),
        (lambda: Question("q", "When?", ("1801",), interpretations=(PAIR,), references=("",)), "an empty reference"),
    ],
)
def test_bad_rows_are_refused(make, says):
    with pytest.raises(RagError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_ambiguous_question_is_prompted_and_settled_like_the_others():
    question = Question("q", "When?", ("1801",), task=Task.AMBIGUOUS, interpretations=(PAIR,))
    assert "every meaning" in answer_prompt(question, "")
    assert answer_prompt(question, "known").startswith("Read the text, then")
    assert settles(question, "in 1801") and not settles(question, "in 1802")
    with pytest.raises(RagError, match="question 'q' is ambiguous: score it by rag.scoring.ambiguous"):
        score_texts([question], [Answer("q", "1801")])


def test_a_setup_gives_the_profile_its_ambiguous_questions(real_articles, sets):
    setup = Setup(load_profile("smoke"))
    setup.encyclopedia, setup.all_ambiguous = real_articles, sets
    assert {split: len(own) for split, own in setup.ambiguous.items()} == {
        "train": len(sets["train"]),
        "dev": 4,
        "test": 6,
    }
    assert setup.ambiguous["test"] == sets["test"][:6]
    # Everything that a question can mean is there to be found, be it in the profile's sample or not.
    there = {passage.article_id for passage in setup.ambiguous_collection}
    asked = [question for split in ("dev", "test") for question in setup.ambiguous[split]]
    meant = {i.article_id for question in asked for i in question.interpretations}
    assert meant | {one.id for one in setup.articles} == there
    assert meant - {one.id for one in setup.articles}


def test_a_profile_without_them_says_so(sets):
    profile = load_profile("smoke").model_copy(update={"ambiguous": None})
    with pytest.raises(RagError, match="profile 'smoke' has no ambiguous questions: give it a section `ambiguous`"):
        Setup(profile).ambiguous  # noqa: B018
    with pytest.raises(RagError, match="no questions of task ambiguous"):
        profile.answer_tokens(Task.AMBIGUOUS)
    many = load_profile("smoke").ambiguous.model_copy(update={"test": 5000})
    setup = Setup(profile.model_copy(update={"ambiguous": many}))
    setup.all_ambiguous = sets
    with pytest.raises(RagError, match=r"asks for 5000 ambiguous test questions, \d+ can be built: lower that number"):
        setup.ambiguous  # noqa: B018
