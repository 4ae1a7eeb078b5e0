"""The pairs that the judge of facts is trained on."""

import re

import pytest

from crag.factuality import claim_pairs, sentence_pairs, with_changed_fact
from crag.pairs import Pair
from rag.corpus import split_article
from rag.datasets.vocabulary import NATIONALITIES, OCCUPATIONS
from rag.types import Passage, Question, Task

PAGES = {
    "Ada_Stone": [
        Passage("Ada_Stone#0", "Ada Stone", "Ada Stone: Chemist (1801–1870). She made dyes."),
        Passage("Ada_Stone#1", "Ada Stone", "She taught by the sea."),
    ],
    "Ben_Stone": [Passage("Ben_Stone#0", "Ben Stone", "Ben Stone was a Welsh painter.")],
}


def claim(name, text, truth, evidence, article="Ada_Stone"):
    return Question(name, text, (truth,), article, task=Task.CLAIM, evidence=(evidence,))


def told(pairs):
    return [(labelled.pair.question, labelled.passage_id, labelled.label) for labelled in pairs]


def test_a_claim_is_supported_where_its_passage_says_so():
    true, false = "Ada Stone was born in 1801.", "Ada Stone was born in 1833."
    claims = [claim("a", true, "true", "1801"), claim("b", false, "false", "1801")]
    assert told(claim_pairs(claims, PAGES)) == [
        (true, "Ada_Stone#0", 1.0),
        (true, "Ada_Stone#1", -1.0),  # nothing of it is there
        (false, "Ada_Stone#0", -1.0),
        (false, "Ada_Stone#1", -1.0),
    ]


def test_a_claim_makes_the_pairs_that_its_page_has():
    said = "Ben Stone was Welsh."
    assert told(claim_pairs([claim("c", said, "true", "Welsh", "Ben_Stone")], PAGES)) == [(said, "Ben_Stone#0", 1.0)]
    assert told(claim_pairs([claim("d", said, "true", "Irish", "Ben_Stone")], PAGES)) == [(said, "Ben_Stone#0", -1.0)]


def person(article):
    return Question(f"b/{article.id}", f"Tell of {article.title}.", (article.title,), article.id, task=Task.BIOGRAPHY)


def test_sentences_are_supported_by_their_passage_alone(articles):
    ada, ben, *_ = articles
    pages = {article.id: split_article(article) for article in articles}
    pairs = list(sentence_pairs([person(ada), person(ben)], pages))
    texts = {passage.id: passage.text for own in pages.values() for passage in own}
    for labelled in pairs:
        pair = labelled.pair
        page = labelled.passage_id.split("#")[0]
        asked_of = labelled.question_id.removeprefix("b/")
        stands = pair.question in texts[labelled.passage_id]
        assert pair == Pair(pair.question, page.replace("_", " "), texts[labelled.passage_id])
        assert (labelled.label > 0) == (stands and page == asked_of), labelled
        if labelled.label < 0 and page == asked_of:
            assert pair.question not in texts.values()  # a fact was changed
    supported = [labelled.pair.question for labelled in pairs if labelled.label > 0]
    # Every sentence once, but for the lines of description.
    assert supported == [
        "Ada Maria Stone was an English chemist who worked on dyes.",
        "She discovered a bright blue dye in her own garden shed.",
        "Later in life Stone taught at a small school by the sea.",
        "Her notes were lost in a fire.",
        "Ben Stone was a Welsh painter of harbours.",
        "His pictures hang in the town hall of Port Azure.",
    ]
    changed = [labelled.pair.question for labelled in pairs if labelled.label < 0 and "Maria" in labelled.pair.question]
    assert len(changed) == 1 and re.fullmatch(r"Ada Maria Stone was an (?!English)\S+ chemist who .*", changed[0])


def test_the_page_of_the_only_person_contradicts_none_of_its_sentences(articles):
    pages = {articles[0].id: split_article(articles[0])}
    pairs = list(sentence_pairs([person(articles[0])], pages))
    # One sentence has a fact to change; the others stand as they are.
    assert [labelled.label for labelled in pairs].count(-1.0) == 1


@pytest.mark.parametrize("key", ["a", "b", "c", "d", "e"])
def test_a_year_is_changed_by_up_to_forty(key):
    changed = with_changed_fact("She was born in 1801 and died in 1870, a Welsh poet.", key)
    found = re.fullmatch(r"She was born in (\d{4}) and died in 1870, a Welsh poet\.", changed)
    assert 1 <= abs(int(found[1]) - 1801) <= 40
    assert with_changed_fact("She was born in 1801 and died in 1870, a Welsh poet.", key) == changed


def test_years_change_in_both_directions():
    changed = {int(with_changed_fact("In 1801.", str(i))[3:7]) for i in range(40)}
    assert min(changed) < 1801 < max(changed) and 1801 not in changed and len(changed) > 15


@pytest.mark.parametrize(
    ("sentence", "pattern", "kind"),
    [
        ("He was a Welsh poet.", r"He was a (\S+) poet\.", NATIONALITIES),
        ("He was a poet by trade.", r"He was a (\S+) by trade\.", OCCUPATIONS),
        # The word itself is changed, not what only begins like it.
        ("In Thailand he was a Thai king.", r"In Thailand he was a (\S+) king\.", NATIONALITIES),
        ("Of poetry the poet said little.", r"Of poetry the (\S+) said little\.", OCCUPATIONS),
    ],
)
def test_a_nationality_or_else_an_occupation_is_changed(sentence, pattern, kind):
    for key in map(str, range(20)):
        found = re.fullmatch(pattern, with_changed_fact(sentence, key))
        assert found[1] in kind and found[1] not in sentence.split()


@pytest.mark.parametrize("sentence", ["Her notes were lost.", "It has 3000 pages.", "He lived in Thailand.", ""])
def test_a_sentence_without_such_a_fact_is_left(sentence):
    assert with_changed_fact(sentence, "k") is None
