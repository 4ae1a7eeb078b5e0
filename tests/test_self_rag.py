"""Self-RAG: its tokens, scores and decoding against hand-computed values, and the systems on scripted models."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fakes import (
    BAD,
    GOOD,
    NONE,
    QUESTIONS,
    UNSURE,
    FakeWeb,
    ScriptedModel,
    TableRetriever,
    continuation,
    make_corrector,
)

from crag.ablations import REMOVED_OPERATIONS
from crag.refinement import Strip
from crag.rewriting import Rewrite
from crag.self_rag.decoding import Continuation, ReflectiveModel, Weights, score
from crag.self_rag.system import (
    DecodingSettings,
    Evidence,
    OneTextReader,
    ReflectiveReader,
    SelfCrag,
    SelfRag,
    as_evidence,
)
from crag.self_rag.tokens import ALL_TOKENS, RELEVANCE_GROUP, SUPPORT_GROUP, UTILITY, opening, without_tokens
from rag.cache import Cache
from rag.cost import Spent
from rag.errors import RagError
from rag.generation import LanguageModel
from rag.systems import ClosedBook
from rag.types import Completion, Passage, Question, Task

SHORT = Question("s", "Who?", ("Ada",))
CLAIM = Question("t", "Ice floats.", ("true",), task=Task.CLAIM)
CHOICE = Question("c", "What floats?", ("B",), task=Task.CHOICE, choices={"A": "lead", "B": "ice", "C": "iron"})
LIFE = Question("b", "Tell me of Ada.", ("Ada",), task=Task.BIOGRAPHY)


def test_tokens_are_spelled_as_in_the_published_models():
    assert set(ALL_TOKENS) == {
        *("[Retrieval]", "[No Retrieval]", "[Continue to Use Evidence]", "[Relevant]", "[Irrelevant]"),
        *("[Fully supported]", "[Partially supported]", "[No support / Contradictory]"),
        *("[Utility:1]", "[Utility:2]", "[Utility:3]", "[Utility:4]", "[Utility:5]", "<paragraph>", "</paragraph>"),
    }
    assert len(ALL_TOKENS) == 15
    assert opening(SHORT) == "### Instruction:\nWho?\n\n### Response:\n"
    assert "Statement: Ice floats.\n\n###" in opening(CLAIM) and "true or false" in opening(CLAIM)
    assert opening(CHOICE).endswith("Question: What floats?\nA: lead\nB: ice\nC: iron\n\n### Response:\n")


def test_texts_lose_their_tokens_alone():
    assert without_tokens("[Relevant]In  Rome.[Fully supported][Utility:5]") == "In Rome."
    assert without_tokens("One [1].[Continue to Use Evidence] Two [Utility:9].") == "One [1]. Two [Utility:9]."


def judged(likelihood=1.0, relevance=(0.0, 1.0), support=(), utility=()):
    return Continuation("x", 1, 1, math.log(likelihood), relevance, support, utility, True)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (judged(0.25), 0.25),  # exp(mean log-probability)
        (judged(1.0, relevance=(0.8, 0.2)), 1.0 + 0.8),
        (judged(1.0, support=(0.5, 0.3, 0.2)), 1.0 + 0.5 + 0.5 * 0.3),  # partial support counts half
        (judged(1.0, support=(0.0, 0.0, 1.0)), 1.0),
        (judged(1.0, utility=(1.0, 0.0, 0.0, 0.0, 0.0)), 1.0 - 0.5),  # from -1 to 1, at half weight
        (judged(1.0, utility=(0.0, 1.0, 0.0, 0.0, 0.0)), 1.0 - 0.25),
        (judged(1.0, utility=(0.0, 0.0, 1.0, 0.0, 0.0)), 1.0),
        (judged(1.0, utility=(0.0, 0.0, 0.0, 1.0, 0.0)), 1.0 + 0.25),
        (judged(1.0, utility=(0.0, 0.0, 0.0, 0.0, 1.0)), 1.0 + 0.5),
        # Utility: -0.1 - 0.05 + 0 + 0.1 + 0.4 = 0.35.
        (judged(0.5, (0.75, 0.25), (0.2, 0.6, 0.2), (0.1, 0.1, 0.2, 0.2, 0.4)), 0.5 + 0.75 + 0.5 + 0.5 * 0.35),
    ],
)
def test_scores_by_hand(found, expected):
    assert score(found, Weights()) == pytest.approx(expected)


def test_weights_weigh_their_own_term():
    found = judged(0.5, (0.8, 0.2), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0))
    assert score(found, Weights(0, 0, 0)) == pytest.approx(0.5)
    assert score(found, Weights(2, 0, 0)) == pytest.approx(0.5 + 1.6)
    assert score(found, Weights(0, 3, 0)) == pytest.approx(0.5 + 3)
    assert score(found, Weights(0, 0, 4)) == pytest.approx(0.5 + 4)


@pytest.fixture(scope="module")
def tokenizer(tiny_llama):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_llama, padding_side="left")
    tokenizer.add_tokens(list(ALL_TOKENS), special_tokens=True)
    return tokenizer


class Player:
    """A model that plays a script: `steps[prompt]` are the tokens that it writes, each with the probabilities of some.

    After its own end a row is filled with tokens and probabilities that must not count.
    """

    device = "cpu"
    config = SimpleNamespace(max_position_embeddings=500)

    def __init__(self, tokenizer, steps):
        self.tokenizer = tokenizer
        self.steps = steps
        self.batches = []

    def _logits(self, chances):
        import torch

        logits = torch.full((len(self.tokenizer),), -40.0)
        for token, chance in chances.items():
            logits[self.tokenizer.convert_tokens_to_ids(token)] = math.log(chance)
        return logits

    def _prompts(self, input_ids, attention_mask):
        rows = zip(input_ids, attention_mask, strict=True)
        return [self.tokenizer.decode(own[mask.bool()]) for own, mask in rows]

    def __call__(self, input_ids, attention_mask, position_ids, logits_to_keep):
        import torch

        first = [self._logits(self.steps[p][0][1]) for p in self._prompts(input_ids, attention_mask)]
        return SimpleNamespace(logits=torch.stack(first)[:, None])

    def generate(self, input_ids, attention_mask, max_new_tokens, eos_token_id, pad_token_id, **_):
        import torch

        prompts = self._prompts(input_ids, attention_mask)
        self.batches.append(len(prompts))
        length = min(max_new_tokens, max(len(self.steps[prompt]) for prompt in prompts))
        padding = ("[Utility:1]", {"[Utility:1]": 0.9, "[No support / Contradictory]": 0.1})
        rows = [[*self.steps[prompt], *[padding] * length][:length] for prompt in prompts]
        new = torch.tensor([[self.tokenizer.convert_tokens_to_ids(token) for token, _ in row] for row in rows])
        scores = tuple(torch.stack([self._logits(row[i][1]) for row in rows]) for i in range(length))
        return SimpleNamespace(sequences=torch.cat([input_ids, new], dim=1), scores=scores)


END = "<|im_end|>"


def play(tokenizer, tmp_path, steps):
    """A reflective model that plays a script."""
    lm = LanguageModel()
    lm.loaded = (tokenizer, Player(tokenizer, steps))
    return ReflectiveModel(lm, Cache(tmp_path / "c.sqlite"), batch_size=4)


def test_the_retrieval_ratio_is_of_probabilities(tokenizer, tmp_path):
    def wants(yes, no):
        return [("x", {"[Retrieval]": yes, "[No Retrieval]": no, "[Continue to Use Evidence]": 0.5})]

    model = play(tokenizer, tmp_path, {"a": wants(0.3, 0.1), "b": wants(0.04, 0.36), "c": wants(1e-9, 3e-9)})
    assert model.retrieval_probabilities(["a", "b", "c", "a"]).tolist() == [0.75, 0.1, 0.25, 0.75]
    # By log-probabilities "b" would want to retrieve: ln 0.04 / (ln 0.04 + ln 0.36) = 0.76.
    assert model.retrieval_probabilities([]).shape == (0,)


JUDGEMENTS = [
    ("[Relevant]", {"[Relevant]": 0.6, "[Irrelevant]": 0.2}),
    ("R", {"R": 0.5, "[Fully supported]": 0.4}),
    ("[Partially supported]", {"[Fully supported]": 0.2, "[Partially supported]": 0.25, "[Utility:1]": 0.3}),
    ("[Utility:4]", {"[Utility:4]": 0.1, "[Utility:5]": 0.3, "[Fully supported]": 0.5}),
    ("[Fully supported]", {"[Fully supported]": 0.5, "[Utility:2]": 0.5}),
    ("[Utility:1]", {"[Utility:1]": 1.0}),
    (END, {END: 0.25}),
]


def test_judgements_are_read_where_their_tokens_first_stand(tokenizer, tmp_path):
    # The model's probabilities are taken as they are given: what is missing to 1 is -40 of a logit for all others.
    model = play(tokenizer, tmp_path, {"q": JUDGEMENTS})
    (found,) = model.continue_texts(["q"], 20)
    assert (found.text, found.tokens, found.ended) == ("R", 7, True)
    assert found.relevance == (0.75, 0.25)
    assert found.support == pytest.approx((0.2 / 0.45, 0.25 / 0.45, 0), abs=1e-4)
    assert found.utility == (0, 0, 0, 0.25, 0.75)  # not of the earlier or later positions, and not all alike
    # Each written token's probability over the sum of its step.
    steps = [0.6 / 0.8, 0.5 / 0.9, 0.25 / 0.75, 0.1 / 0.9, 0.5, 1.0, 1.0]
    assert found.mean_logprob == pytest.approx(np.mean(np.log(steps)), abs=1e-4)
    # s_use = (0.5 · 0.25 + 1 · 0.75) at half weight.
    expected = math.exp(found.mean_logprob) + 0.75 + (0.2 + 0.125) / 0.45 + 0.5 * 0.875
    assert score(found, Weights()) == pytest.approx(expected, abs=1e-3)


def test_judgements_that_were_not_written_are_empty(tokenizer, tmp_path):
    steps = [("R", {"R": 0.5, "[Relevant]": 1e-9, "[Irrelevant]": 3e-9}), (END, {END: 1.0, "[Utility:5]": 0.9})]
    (found,) = play(tokenizer, tmp_path, {"q": steps}).continue_texts(["q"], 20)
    assert (found.support, found.utility) == ((), ())
    assert found.relevance == (0.25, 0.75)  # a share, however improbable the whole group is


def test_prompts_are_counted_once(tokenizer, tmp_path):
    model = play(tokenizer, tmp_path, {})
    prompts = ["[Retrieval]<paragraph>[Relevant]", "[No Retrieval]", "[Retrieval]<paragraph>[Relevant]"]
    assert model.prompt_tokens(prompts) == [3, 1, 3]
    model.lm = SimpleNamespace(identity=model.lm.identity)  # without tokenizer and model
    assert model.prompt_tokens(prompts[::-1]) == [3, 1, 3]
    assert model.prompt_tokens([]) == []


def test_what_follows_the_end_is_ignored(tokenizer, tmp_path):
    short = [("R", {"R": 0.5, "[Relevant]": 0.5}), (END, {END: 1.0})]
    steps = {"a short one": short, "q": JUDGEMENTS}
    together = play(tokenizer, tmp_path / "together", steps).continue_texts(["a short one", "q"], 20)
    alone = play(tokenizer, tmp_path / "alone", steps)
    assert together == [alone.continue_texts([prompt], 20)[0] for prompt in steps]
    assert (together[0].tokens, together[0].utility, together[0].support) == (2, (), ())
    assert together[0].mean_logprob == pytest.approx(math.log(0.5) / 2, abs=1e-4)


def test_a_segment_ends_at_a_retrieval_token(tokenizer, tmp_path):
    more = "[Continue to Use Evidence]"
    said = {"on": ["R", more, "S"], "end": ["R", END], "cut": ["R", "S", "T"]}
    steps = {prompt: [(token, {token: 1.0}) for token in tokens] for prompt, tokens in said.items()}
    model = play(tokenizer, tmp_path, steps)
    found = model.continue_texts(list(steps), 3, segment=True)
    # What runs to the limit of new tokens is not gone on with.
    assert [(own.text, own.tokens, own.ended) for own in found] == [("R", 2, False), ("R", 2, True), ("RST", 3, True)]
    (whole,) = model.continue_texts(["on"], 3)  # as a whole answer it goes on
    assert (whole.text, whole.tokens, whole.ended) == ("R S", 3, True)


def test_a_model_without_the_tokens_is_refused(tiny_llama, tmp_path):
    model = ReflectiveModel(LanguageModel(str(tiny_llama)), Cache(tmp_path / "c.sqlite"))
    with pytest.raises(RagError, match=r"llama.* has no token \[Retrieval\]: it was not trained for Self-RAG"):
        model.retrieval_probabilities(["x"])
    with pytest.raises(RagError, match=r"no token \[Relevant\]"):
        model.continue_texts(["x"], 2)


@pytest.fixture(scope="module")
def tiny_model(tiny_llama, tokenizer):
    """A random model that knows the tokens."""
    import torch

    lm = LanguageModel(str(tiny_llama))
    _, model = lm.loaded
    torch.manual_seed(0)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    lm.loaded = (tokenizer, model)
    return lm


PROMPTS = ["one two three four five six seven eight", "one", "Who wrote this?", "[Retrieval]<paragraph>x</paragraph>"]


def test_a_real_model_is_read_as_by_hand(tiny_model, tmp_path):
    import torch

    tokenizer, model = tiny_model.loaded
    reflective = ReflectiveModel(tiny_model, Cache(tmp_path / "c.sqlite"), batch_size=3)
    wants, written = reflective.retrieval_probabilities(PROMPTS), reflective.continue_texts(PROMPTS, 6)
    assert reflective.prompt_tokens(PROMPTS) == [len(tokenizer.encode(prompt)) for prompt in PROMPTS]
    yes, no = tokenizer.convert_tokens_to_ids(["[Retrieval]", "[No Retrieval]"])
    for prompt, want, found in zip(PROMPTS, wants, written, strict=True):
        ids = tokenizer.encode(prompt)
        chosen, steps = [], []
        with torch.inference_mode():
            while len(chosen) < 6 and tokenizer.eos_token_id not in chosen:
                steps.append(model(torch.tensor([[*ids, *chosen]])).logits[0, -1].double().softmax(-1).numpy())
                chosen.append(int(steps[-1].argmax()))
        assert want == pytest.approx(steps[0][yes] / (steps[0][yes] + steps[0][no]), abs=1e-4)
        logprobs = [math.log(step[token]) for step, token in zip(steps, chosen, strict=True)]
        assert (found.prompt_tokens, found.tokens) == (len(ids), len(chosen))
        assert found.mean_logprob == pytest.approx(np.mean(logprobs), abs=1e-3)
        group = steps[0][tokenizer.convert_tokens_to_ids(list(RELEVANCE_GROUP))]
        assert found.relevance == pytest.approx(tuple(group / group.sum()), abs=1e-3)
        for own, tokens in ((found.support, SUPPORT_GROUP), (found.utility, UTILITY)):
            assert (own == ()) == (not set(chosen) & set(tokenizer.convert_tokens_to_ids(list(tokens))))


def test_decoding_does_not_depend_on_the_batch(tiny_model, tmp_path):
    together = ReflectiveModel(tiny_model, Cache(tmp_path / "a.sqlite"), batch_size=4)
    alone = ReflectiveModel(tiny_model, Cache(tmp_path / "b.sqlite"), batch_size=1)
    assert together.retrieval_probabilities(PROMPTS) == pytest.approx(alone.retrieval_probabilities(PROMPTS), abs=1e-4)
    for one, other in zip(together.continue_texts(PROMPTS, 5), alone.continue_texts(PROMPTS, 5), strict=True):
        assert (one.text, one.tokens, one.ended) == (other.text, other.tokens, other.ended)
        assert score(one, Weights()) == pytest.approx(score(other, Weights()), abs=1e-3)


SETTINGS = DecodingSettings(max_new_tokens=9, segments=3)
TEXTS = [Evidence("first", ("p1",)), Evidence("second", ("p2",)), Evidence("third", ("p3", "p4"))]


def after(question, text, before=""):
    """The prompt after one text."""
    return f"{opening(question)}{before}[Retrieval]<paragraph>{text}</paragraph>"


def without(question):
    return f"{opening(question)}[No Retrieval]"


def read(question, written, texts=TEXTS, **settings):
    """The answer to a question on a model that writes by the last text of the prompt; and the model."""
    model = ScriptedModel(written.__getitem__, settings.pop("retrieve", 1.0))
    reader = ReflectiveReader(model, replace(SETTINGS, **settings))
    (answer,) = reader.read([question], [texts])
    return answer, model


def test_an_open_question_takes_the_best_text():
    written = {
        after(SHORT, "first"): continuation("Ada", 0.5),
        after(SHORT, "second"): continuation("Ben", 0.9),
        after(SHORT, "third"): continuation("Ada", 0.6),  # summed, Ada would win
    }
    answer, model = read(SHORT, written)
    assert (answer.question_id, answer.text, answer.contexts) == ("s", "Ben", ("p2",))
    assert answer.trace == {
        "retrieval_probability": 1.0,
        "scores": [0.5, 0.9, 0.6],
        "calls": 4,
        # The opening is of five words; each continuation says that it has a token before and one of its own.
        "cost": {"retrieve or not": [1, 5, 1], "continue": [3, 3, 3]},
    }
    assert model.calls[0] == list(written)


@pytest.mark.parametrize(
    ("question", "texts", "said"),
    [
        (CLAIM, ("True", "It is false.", "false"), "false"),
        (CHOICE, ("A: lead", "It is ice", "B"), "B"),
        # What is no answer in the task's form is summed by its words.
        (CLAIM, ("True", "Who knows?", "who knows"), "who knows"),
    ],
)
def test_a_closed_question_takes_the_highest_sum(question, texts, said):
    names = ["first", "second", "third"]
    written = {
        after(question, name): continuation(text, value)
        for name, text, value in zip(names, texts, (0.9, 0.5, 0.6), strict=True)
    }
    answer, _ = read(question, written)
    # 0.5 + 0.6 is more than the 0.9 of the best single text; its best text is the third.
    assert (answer.text, answer.contexts) == (said, ("p3", "p4"))
    single, _ = read(question, {**written, after(question, "second"): continuation(texts[1], 0.2)})
    assert single.text == texts[0]


def test_equal_scores_take_the_first_text():
    for question in (SHORT, CLAIM):
        written = {
            after(question, e.text): continuation(w, 0.5) for e, w in zip(TEXTS, ("true", "false", "x"), strict=True)
        }
        assert read(question, written)[0].text == "true"


@pytest.mark.parametrize(
    ("probability", "delta", "retrieves"), [(0.21, 0.2, True), (0.2, 0.2, False), (0.3, 0.5, False)]
)
def test_it_reads_where_it_wants_to_retrieve(probability, delta, retrieves):
    written = {after(SHORT, e.text): continuation("read") for e in TEXTS} | {without(SHORT): continuation("known", 0.4)}
    answer, model = read(SHORT, written, retrieve=probability, delta=delta)
    assert answer.text == ("read" if retrieves else "known")
    assert answer.contexts == (("p1",) if retrieves else ())
    assert model.calls[0] == ([after(SHORT, e.text) for e in TEXTS] if retrieves else [without(SHORT)])
    assert answer.trace["retrieval_probability"] == probability
    assert answer.trace["cost"] == {"retrieve or not": [1, 5, 1], "continue": [3, 3, 3] if retrieves else [1, 1, 1]}


@pytest.mark.parametrize("question", [SHORT, CLAIM, CHOICE, LIFE])
def test_with_nothing_retrieved_it_answers_without(question):
    answer, model = read(question, {without(question): continuation("known")}, texts=[])
    assert (answer.text, answer.contexts) == ("known", ())
    assert [prompt for call in model.calls for prompt in call] == [without(question)]


def on(text, score):
    return continuation(text, score, ended=False)


def beam(written, texts=TEXTS[:2], **settings):
    """A biography by a script of (text before, evidence) -> continuation."""
    script = {
        after(LIFE, evidence, f"{before} " if before else ""): found for (before, evidence), found in written.items()
    }
    return read(LIFE, script, texts, **settings)


LIVES = {
    ("", "first"): on("A.", 0.6),
    ("", "second"): on("B.", 0.5),
    ("A.", "first"): on("C.", 0.1),
    ("A.", "second"): continuation("D.", 0.2),
    ("B.", "first"): on("E.", 0.8),
    ("B.", "second"): on("F.", 0.9),
    ("B. E.", "first"): continuation("G.", 0.1),
    ("B. E.", "second"): continuation("H.", 1.5),
    ("B. F.", "first"): continuation("I.", 1.2),
    ("B. F.", "second"): on("B.", 1.0),
}


def test_a_beam_goes_over_segments():
    # A 0.6, B 0.5; then A C 0.06, A D 0.12, B E 0.4, B F 0.45; then B E H 0.6, B F I 0.54 and B F, which ends, 0.45.
    answer, model = beam(LIVES)
    assert answer.text == "B. E. H."
    assert answer.trace["score"] == 0.6
    assert answer.contexts == ("p2", "p1")  # in the order of use, each once
    assert [len(call) for call in model.calls if call] == [2, 4, 4]
    # All that was written is paid for, kept or not. The opening is of eight words.
    assert (answer.trace["calls"], answer.trace["cost"]) == (
        11,
        {"retrieve or not": [1, 8, 1], "continue": [10, 10, 10]},
    )


def test_a_beam_of_one_is_greedy():
    answer, model = beam(LIVES, beam=1)
    assert (answer.text, answer.trace["score"]) == ("A. D.", 0.12)  # ended after two segments
    assert [len(call) for call in model.calls if call] == [2, 2]


def test_a_text_has_no_more_segments_than_allowed():
    for segments in (1, 2):
        answer, model = beam(LIVES, segments=segments)
        assert answer.text == {1: "A.", 2: "B. F."}[segments]
        assert len(model.calls) - 1 == segments  # the first call is for the questions that are no biographies


def test_a_repeated_or_empty_segment_ends_a_text():
    for said in ("A.", ""):
        answer, model = beam({("", "first"): on("A.", 0.6), ("A.", "first"): on(said, 0.9)}, TEXTS[:1], segments=5)
        assert (answer.text, answer.trace["score"], answer.contexts) == ("A.", 0.6, ("p1",))
        assert [len(call) for call in model.calls if call] == [1, 1]


def test_a_text_that_ends_twice_leaves_room_for_another():
    written = {
        ("", "first"): on("A.", 0.9),
        ("", "second"): on("B.", 0.8),
        ("A.", "first"): on("A.", 1.0),
        ("A.", "second"): on("A.", 1.0),
        ("B.", "first"): on("C.", 1.0),
        ("B.", "second"): on("D.", 0.1),
        ("B. C.", "first"): continuation("E.", 1.5),
        ("B. C.", "second"): continuation("F.", 0.1),
    }
    answer, _ = beam(written)
    assert (answer.text, answer.trace["score"]) == ("B. C. E.", 1.2)


def words_of(prompt):
    """A continuation that depends on all of its prompt."""
    return continuation(f"{['true', 'A: lead', 'false'][len(prompt) % 3]} {len(prompt)}", 0.1 + len(prompt) % 7 / 10)


def test_answers_do_not_depend_on_the_batch():
    questions = [LIFE, SHORT, CLAIM, CHOICE, SHORT, replace(LIFE, text="Tell me of Ben."), replace(CLAIM, text="Fire.")]
    evidence = [TEXTS, TEXTS[:1], TEXTS, TEXTS[1:], [], TEXTS[2:], TEXTS]
    reader = ReflectiveReader(ScriptedModel(words_of), SETTINGS)
    together = reader.read(questions, evidence)
    alone = [reader.read([question], [own])[0] for question, own in zip(questions, evidence, strict=True)]
    assert together == alone
    assert reader.read(questions[::-1], evidence[::-1]) == together[::-1]
    assert reader.read([], []) == []


class Unasked(ScriptedModel):
    """Is not to be asked whether it would retrieve."""

    def retrieval_probabilities(self, prompts):
        raise AssertionError("asked whether to retrieve")


def test_the_one_text_reader_always_reads():
    model = Unasked(lambda prompt: replace(continuation(prompt), prompt_tokens=8, tokens=3))
    reader = OneTextReader(model, SETTINGS)
    assert reader.read([SHORT, CLAIM, NONE], ["first", "second\nline", ""]) == [
        Completion(after(SHORT, "first"), 8, 3),
        Completion(after(CLAIM, "second\nline"), 8, 3),
        Completion(without(NONE), 8, 3),  # there is nothing to read
    ]
    assert model.calls[0] == [after(SHORT, "first"), after(CLAIM, "second\nline"), without(NONE)]


def test_the_one_text_reader_adds_up_the_segments_of_a_biography():
    written = {
        after(LIFE, "first"): replace(on("A.", 0.6), prompt_tokens=10, tokens=3),
        after(LIFE, "first", "A. "): replace(on("B.", 0.6), prompt_tokens=13, tokens=4),
        after(LIFE, "first", "A. B. "): replace(continuation("C."), prompt_tokens=17, tokens=5),
    }
    reader = OneTextReader(Unasked(written.__getitem__), SETTINGS)
    assert reader.read([LIFE], ["first"]) == [Completion("A. B. C.", 40, 12)]
    (answer,) = ClosedBook(OneTextReader(Unasked(lambda prompt: continuation("A.")), SETTINGS)).answer([LIFE])
    assert (answer.text, answer.trace) == ("A.", {"calls": 1, "cost": {"answer": [1, 1, 1]}})


def test_self_rag_reads_each_passage():
    table = {"Who?": [Passage("a#0", "Ada", "A chemist."), Passage("b#0", "Ben", "Ben: a painter.")]}
    written = {
        after(SHORT, "Ada: A chemist."): continuation("x", 0.2),
        after(SHORT, "Ben: a painter."): continuation("y"),
    }
    model = ScriptedModel(written.__getitem__)
    (answer,) = SelfRag(TableRetriever(table), ReflectiveReader(model, SETTINGS), top_k=5).answer([SHORT])
    assert (answer.text, answer.contexts) == ("y", ("b#0",))
    assert SelfRag(TableRetriever(table), ReflectiveReader(model, SETTINGS), top_k=1).answer([SHORT])[0].text == "x"


INSIDE = {"good": "G: +right. More of it.", "unsure": "U: ~perhaps"}


def outside(question):
    return f"Web: +from http://web/{question.id}"


def decoded_over(system_of):
    """For each question the texts that a Self-CRAG decodes over, and its answers."""
    model = ScriptedModel(lambda prompt: continuation("x"))
    answers = system_of(ReflectiveReader(model, SETTINGS)).answer(QUESTIONS)
    prompts = iter(model.calls[0])
    texts = {question.id: [] for question in QUESTIONS}
    for prompt in prompts:
        own = next(question for question in QUESTIONS if prompt.startswith(opening(question)))
        texts[own.id].append(prompt.removeprefix(opening(own)))
    return texts, answers


def shown(*texts):
    return [f"[Retrieval]<paragraph>{text}</paragraph>" for text in texts]


def test_self_crag_decodes_over_the_knowledge_of_the_action():
    texts, answers = decoded_over(lambda reader: SelfCrag(make_corrector(FakeWeb()), reader))
    assert texts == {
        "good": shown(INSIDE["good"]),
        "unsure": shown(INSIDE["unsure"], outside(UNSURE)),  # each of the two
        "bad": shown(outside(BAD)),
        "none": shown(outside(NONE)),
    }
    assert [answer.trace["action"] for answer in answers] == ["correct", "ambiguous", "incorrect", "incorrect"]
    assert answers[0].contexts == ("g#0",)
    decoding = answers[1].trace["decoding"]
    assert (decoding["retrieval_probability"], decoding["scores"]) == (1.0, [1.0, 1.0])
    assert [answer.trace["calls"] for answer in answers] == [2, 3, 2, 2]
    assert answers[1].trace["cost"] == {"retrieve or not": [1, 5, 1], "continue": [2, 2, 2]} == decoding["cost"]


class PaidRewriter:
    """Keeps the question, by one call."""

    def rewrite(self, questions):
        return [Rewrite(question, cost={"rewrite": Spent(1, 40, 2)}) for question in questions]


def test_self_crag_counts_the_rewriter_too():
    _, answers = decoded_over(lambda reader: SelfCrag(make_corrector(FakeWeb(), PaidRewriter()), reader))
    assert [answer.trace["calls"] for answer in answers] == [2, 4, 3, 3]
    read = {"retrieve or not": [1, 5, 1], "continue": [1, 1, 1]}
    assert answers[0].trace["cost"] == read  # no search
    assert answers[2].trace["cost"] == {"rewrite": [1, 40, 2], **read}
    assert answers[2].trace["decoding"]["cost"] == read


def test_self_crag_on_all_texts_asks_for_no_action():
    web = FakeWeb()
    texts, answers = decoded_over(lambda reader: SelfCrag(make_corrector(web), reader, all_texts=True))
    both = {q.id: "\n".join(filter(None, [INSIDE.get(q.id), outside(q)])) for q in QUESTIONS}
    assert texts == {
        "good": shown(INSIDE["good"], outside(GOOD), both["good"]),
        "unsure": shown(INSIDE["unsure"], outside(UNSURE), both["unsure"]),
        # The evaluator lets nothing of the retrieved passages through.
        "bad": shown(outside(BAD), both["bad"]),
        "none": shown(outside(NONE), both["none"]),
    }
    assert web.queries == ["good", "unsure", "bad", "none"]
    assert {answer.trace["action"] for answer in answers} == {"ambiguous"}


def test_self_crag_where_the_search_fails():
    texts, answers = decoded_over(lambda reader: SelfCrag(make_corrector(FakeWeb(broken={"bad", "unsure"})), reader))
    assert texts["bad"] == ["[No Retrieval]"] and texts["unsure"] == shown(INSIDE["unsure"])
    assert answers[2].trace["errors"] == ["the server answered 500"] and answers[2].contexts == ()


def test_self_crag_without_refinement_keeps_passages_apart():
    (variant,) = [variant for variant in REMOVED_OPERATIONS if not variant.refine]
    texts, _ = decoded_over(lambda reader: SelfCrag(make_corrector(FakeWeb()), reader, variant))
    assert texts["good"] == shown("G: +right. More of it.", "G: wrong")
    assert texts["unsure"] == shown(INSIDE["unsure"], outside(UNSURE))


def test_strips_become_one_text():
    strips = [Strip("A", "one", "a#0"), Strip("A", "two", "a#0"), Strip("B", "three", "b#0")]
    assert as_evidence(strips) == Evidence("A: one two\nB: three", ("a#0", "b#0"))
