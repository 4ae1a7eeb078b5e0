"""Verdicts over the kept passages, by hand."""

import pytest
from diva_fakes import ADA, ADA_BORN, AZURE, BEN, BEN_BORN, CAPITAL, WritingGenerator

from diva.diversification import Candidates, Kept
from diva.verification import (
    GeneratorVerifier,
    Usefulness,
    Verdict,
    told_answer,
    usefulness,
    verification_prefix,
    verification_prompt,
)
from rag.errors import RagError
from rag.systems import as_knowledge
from rag.types import Hit

USEFUL, PARTIAL, USELESS = Usefulness.USEFUL, Usefulness.PARTIALLY_USEFUL, Usefulness.USELESS


def candidates(*pairs):
    """Interpretations, each with the one passage that was retrieved for it or None."""
    hits = tuple((Hit(passage, 1.0),) if passage else () for _, passage in pairs)
    return Candidates(tuple(text for text, _ in pairs), hits, tuple(passage for _, passage in pairs if passage))


STONES = candidates((ADA_BORN, ADA), (BEN_BORN, BEN))


def says(table):
    """A model with these probabilities of yes and no, by the interpretation at the end of the prompt."""
    return WritingGenerator(yes=lambda prompt: next(chance for text, chance in table.items() if prompt.endswith(text)))


@pytest.mark.parametrize(
    ("ada", "ben", "expected", "chances"),
    [
        ((0.6, 0.2), (0.3, 0.1), USEFUL, [0.75, 0.75]),
        ((0.6, 0.2), (0.1, 0.3), PARTIAL, [0.75, 0.25]),
        ((0.1, 0.3), (0.01, 0.01), PARTIAL, [0.25, 0.5]),  # yes as likely as no is yes
        ((0.1, 0.3), (0.0, 0.3), USELESS, [0.25, 0.0]),
    ],
)
def test_yes_against_no(ada, ben, expected, chances):
    generator = says({ADA_BORN: ada, BEN_BORN: ben})
    (own,) = GeneratorVerifier(generator).verify([STONES], [Kept((ADA, BEN))])
    assert own.usefulness == expected
    assert [(verdict.answered, verdict.chance) for verdict in own.verdicts] == [(c >= 0.5, c) for c in chances]
    assert own.trace["verdicts"] == [["yes" if c >= 0.5 else "no", c, None] for c in chances]


def test_one_call_with_the_passages_as_the_shared_beginning():
    generator = says({ADA_BORN: (0.9, 0.1), BEN_BORN: (0.1, 0.9), CAPITAL.text: (0.9, 0.1)})
    azure = candidates((CAPITAL.text, AZURE))
    stones, capital = GeneratorVerifier(generator).verify([STONES, azure], [Kept((BEN,)), Kept((AZURE,))])
    assert generator.judged == [
        [
            [verification_prompt(as_knowledge([BEN]), ADA_BORN), verification_prompt(as_knowledge([BEN]), BEN_BORN)],
            [verification_prompt(as_knowledge([AZURE]), CAPITAL.text)],
        ]
    ]
    assert (stones.usefulness, capital.usefulness) == (PARTIAL, USEFUL)
    sizes = [len(prompt.split()) for prompt in generator.judged[0][0]]
    assert (stones.cost["verify"].calls, stones.cost["verify"].tokens_in) == (2, sum(sizes))
    assert stones.cost["verify"].tokens_out == 2


def test_the_prompt_begins_with_the_passages_and_ends_with_the_interpretation():
    prompt = verification_prompt(as_knowledge([ADA, BEN]), "Is {x} it?")
    assert prompt.startswith(f"Text:\nAda Stone: {ADA.text}\nBen Stone: {BEN.text}\n")
    assert prompt == verification_prefix(as_knowledge([ADA, BEN])) + "Is {x} it?"
    assert "\nDoes the text tell the answer to the question below? Reply no, or yes and then the answer.\n" in prompt


def test_nothing_to_read_is_no_without_a_call():
    generator = says({ADA_BORN: (0.9, 0.1)})
    half, empty = GeneratorVerifier(generator).verify(
        [candidates((ADA_BORN, ADA), (BEN_BORN, None)), STONES], [Kept((ADA,)), Kept(())]
    )
    assert half.usefulness == PARTIAL
    assert half.verdicts == (Verdict(True, 0.9), Verdict(False, None, "nothing was retrieved for it"))
    assert empty.usefulness == USELESS
    assert empty.verdicts == (Verdict(False, None, "there are no passages"),) * 2
    assert [len(own) for own in generator.judged[0]] == [1]
    assert (half.cost["verify"].calls, empty.cost["verify"].calls) == (1, 0)
    assert GeneratorVerifier(generator).verify([], []) == []


def test_a_model_that_says_neither_has_not_verified():
    (own,) = GeneratorVerifier(WritingGenerator(yes=lambda prompt: (0.0, 0.0))).verify([STONES], [Kept((ADA,))])
    assert own.usefulness == USELESS
    assert own.verdicts[0] == Verdict(False, None, "the model gives neither yes nor no a probability")


def test_the_threshold():
    generator = says({ADA_BORN: (0.6, 0.4), BEN_BORN: (0.8, 0.2)})
    (own,) = GeneratorVerifier(generator, threshold=0.7).verify([STONES], [Kept((ADA,))])
    assert [verdict.answered for verdict in own.verdicts] == [False, True]
    for bad in (0.0, 1.5, -1):
        with pytest.raises(RagError, match="threshold of verification"):
            GeneratorVerifier(generator, bad)


@pytest.mark.parametrize(
    ("answered", "expected"),
    [([True], USEFUL), ([True, True], USEFUL), ([True, False], PARTIAL), ([False, False], USELESS), ([], USELESS)],
)
def test_usefulness(answered, expected):
    assert usefulness([Verdict(each) for each in answered]) == expected


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("yes: 1801", "1801"), ("Yes : a: b ", "a: b"), ("no", ""), ("no: 1801", ""), ("yes", ""), ("", ""), ("1801", "")],
)
def test_the_answer_stands_behind_a_yes(reply, answer):
    assert told_answer(reply) == answer
