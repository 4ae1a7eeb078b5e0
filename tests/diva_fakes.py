"""Stand-ins for DIVA's language model, encoder, retriever and setup, and a small world with two people called Stone."""

import re

import numpy as np
from fakes import make_profile

from rag.cache import NoCache
from rag.profile import AmbiguousSettings, GeneratorSettings
from rag.setup import Setup
from rag.types import Completion, Hit, Interpretation, NextWords, Passage, Question, Task, all_answers


class WritingGenerator:
    """Writes `write(prompt)`, says yes with `yes(prompt)`; tokens are words. Remembers the prompts of each call that
    has any."""

    identity = {"model": "writing"}

    def __init__(self, write=lambda prompt: "", yes=lambda prompt: (0.6, 0.3)):
        self.write = write
        self.yes = yes
        self.calls = []
        self.judged = []

    @property
    def prompts(self):
        return [prompt for call in self.calls for prompt in call]

    def generate(self, prompts):
        if prompts:
            self.calls.append(list(prompts))
        texts = [self.write(prompt) for prompt in prompts]
        return [Completion(t, len(p.split()), len(t.split())) for p, t in zip(prompts, texts, strict=True)]

    def next_words(self, prefixes, endings, words):
        assert list(words) == ["yes", "no"]
        prompts = [[prefix + end for end in own] for prefix, own in zip(prefixes, endings, strict=True)]
        self.judged.append(prompts)
        return [[NextWords(tuple(self.yes(prompt)), len(prompt.split())) for prompt in own] for own in prompts]


class WordEncoder:
    """Unit vectors of how often each of some words occurs; one more dimension keeps other texts from being zero."""

    name = "words"

    def __init__(self, *words):
        self.words = words
        self.calls = []

    def encode(self, texts):
        self.calls.append(list(texts))
        counts = [re.findall(r"\w+", text.lower()) for text in texts]
        rows = np.array([[own.count(word) for word in self.words] + [0.01] for own in counts], dtype=np.float32)
        rows = rows.reshape(len(texts), len(self.words) + 1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class CountingRetriever:
    """Gives each query its own passages, with falling scores. Remembers the queries of each call."""

    name = "counting"

    def __init__(self, table):
        self.table = table
        self.calls = []

    def retrieve(self, queries, k):
        self.calls.append(list(queries))
        return [[Hit(p, 1.0 - 0.1 * i) for i, p in enumerate(self.table.get(query, [])[:k])] for query in queries]


class FakeSetup(Setup):
    """A setup without a model, whose stages keep nothing: `writing` is its generator at any length, `adapted` those with an
    adapter by the name of its folder. With a `model` the profile's generator isn't the embedded one."""

    def __init__(self, questions, retriever, writing, adapted=None, encoder=None, model=None, **ambiguous):
        chosen = AmbiguousSettings(**{"dev": 1, "test": 1, **ambiguous})
        self.profile = make_profile(generator=GeneratorSettings(model=model), ambiguous=chosen)
        self.cache, self.sampling = NoCache(), None
        self.all_ambiguous = self.ambiguous = questions
        self.ambiguous_retrievers = {self.profile.retriever: retriever}
        self.encoder = encoder or WordEncoder("stone", "chemist", "painter")
        self.writing = writing
        self.adapted = adapted or {}
        self.lengths = []

    def uncached_generator(self, max_new_tokens):
        self.lengths.append(max_new_tokens)
        return self.writing

    def adapted_generator(self, adapter, max_new_tokens, end_bias=0.0):
        self.lengths.append(max_new_tokens)
        return self.adapted[adapter.name]


ADA = Passage("Ada_Stone#0", "Ada Stone", "Ada Stone was an English chemist born in 1801.")
BEN = Passage("Ben_Stone#0", "Ben Stone", "Ben Stone was a Welsh painter born in 1900.")
SEA = Passage("Sea#0", "Sea", "The sea is salt.")


def ambiguous(key, text, *pairs):
    """An ambiguous question with its interpretations, each a text and its one answer."""
    meant = tuple(Interpretation(asked, (answer,)) for asked, answer in pairs)
    return Question(key, text, all_answers(meant), task=Task.AMBIGUOUS, interpretations=meant)


ADA_BORN, BEN_BORN = "When was the chemist Ada Stone born?", "When was the painter Ben Stone born?"
BORN = ambiguous("born", "When was Stone born?", (ADA_BORN, "1801"), (BEN_BORN, "1900"))
CAPITAL_TEXT = "What is the capital of Azuria?"
CAPITAL = ambiguous("capital", CAPITAL_TEXT, (CAPITAL_TEXT, "Port Azure"))
AZURE = Passage("Port_Azure#0", "Port Azure", "Port Azure is the capital of Azuria.")
