"""The real embedded model, and an OpenAI-compatible server on loopback."""

import json
import math
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rag.cache import Cache
from rag.errors import RagError
from rag.generation import (
    CachedGenerator,
    Cluster,
    LanguageModel,
    LocalGenerator,
    OpenAIGenerator,
    Sampling,
    clusters,
    word_tokens,
)
from rag.prompts import answer_prompt
from rag.types import NextWords, Question, Task


@pytest.fixture(scope="module")
def model():
    return LocalGenerator(LanguageModel(), max_new_tokens=10, batch_size=3)


def prompt(text, knowledge=""):
    return answer_prompt(Question("q", text, ("x",)), knowledge)


def test_completions_do_not_depend_on_the_batch(model):
    prompts = [
        prompt("What is the capital of France?"),
        prompt("What colour is the harbour bell?", "Port Azure. The harbour bell is green. " * 6),
        "Say yes.",
        prompt("Who wrote Hamlet?"),
    ]
    together = model.generate(prompts)
    alone = [model.generate([prompt])[0] for prompt in prompts]
    assert together == alone
    assert "Paris" in together[0].text
    assert "green" in together[1].text.lower()
    assert all(0 < completion.tokens <= 10 and "\n" not in completion.text for completion in together)
    assert together[1].prompt_tokens > together[2].prompt_tokens
    assert model.generate([]) == []


def test_an_overlong_prompt_is_refused(model):
    with pytest.raises(RagError, match="lower top_k"):
        model.generate(["word " * 9000])


def test_a_missing_model_folder_is_named(tmp_path):
    with pytest.raises(RagError, match="cannot load generator '.*nowhere'"):
        LocalGenerator(LanguageModel(str(tmp_path / "nowhere"))).generate(["x"])


QUIZ = [
    "Is Paris the capital of France? Reply with one word: yes or no.",
    "The harbour bell of Port Azure is green. " * 4 + "Is the bell green? Reply with one word: yes or no.",
    "Say no.",
    "Say yes.",
    "Name a colour.",
]


def test_next_words_do_not_depend_on_the_batch(model):
    together = model.next_word_probabilities(QUIZ, ("yes", "no"))
    alone = np.concatenate([model.next_word_probabilities([text], ("yes", "no")) for text in QUIZ])
    assert together == pytest.approx(alone, abs=1e-5)
    assert together.shape == (5, 2) and together.min() > 0 and together.sum(axis=1).max() < 1
    assert model.next_word_probabilities(QUIZ, ("no", "yes")) == pytest.approx(together[:, ::-1], abs=1e-12)
    assert model.next_word_probabilities([], ("yes", "no")).shape == (0, 2)


def test_the_likeliest_next_word_is_the_one_that_is_written(model):
    words = ("yes", "no", "paris", "the")
    prompts = [
        "Is fire cold? Answer yes or no.",
        "Is Paris the capital of France? Reply with one word: yes or no.",
        "What is the capital of France? Answer with one word.",
    ]
    written = [completion.text.split()[0].strip(",.").lower() for completion in model.generate(prompts)]
    assert [words[best] for best in model.next_word_probabilities(prompts, words).argmax(axis=1)] == written
    assert written == ["no", "paris", "the"]


def test_only_whole_words_count(model):
    tokenizer = model.lm.loaded[0]
    found = {tokenizer.decode(token) for token in word_tokens(tokenizer, "no")}
    assert {text.strip().lower() for text in found} == {"no"} and {"no", " no", "No", " No"} <= found
    assert not set(word_tokens(tokenizer, "no")) & set(word_tokens(tokenizer, "not"))
    with pytest.raises(RagError, match="the word 'antidisestablishmentarian' is no single token"):
        model.next_word_probabilities(["x"], ("yes", "antidisestablishmentarian"))


TEXTS = ["The harbour bell of Port Azure is green. " * 12 + "\n\nQuestion: ", "The sea is salt. ", ""]
ENDINGS = [
    ["Is the bell green?", "Which colour has the bell of Port Azure, and who rings it at night?", "Why"],
    ["Is it?"],
    [],
]


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def tiny(request, tiny_llama, tmp_path_factory):
    """Models with rotary and with learnt positions."""
    if request.param == "llama":
        return LocalGenerator(LanguageModel(str(tiny_llama)), batch_size=2)
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("gpt2")
    torch.manual_seed(0)
    AutoTokenizer.from_pretrained(tiny_llama).save_pretrained(folder)
    size = {"n_positions": 512, "n_embd": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **size)).save_pretrained(folder)
    return LocalGenerator(LanguageModel(str(folder)), batch_size=2)


def test_a_shared_beginning_gives_what_whole_prompts_give(tiny):
    found = tiny.next_words(TEXTS, ENDINGS, ("yes", "no"))
    assert [len(own) for own in found] == [3, 1, 0]
    prompts = [text + ending for text, own in zip(TEXTS, ENDINGS, strict=True) for ending in own]
    whole = tiny.next_word_probabilities(prompts, ("yes", "no"))
    flat = [own for of_text in found for own in of_text]
    assert np.array([own.probabilities for own in flat]) == pytest.approx(whole, rel=1e-4)
    # The model tells the prompts apart, or the agreement would mean nothing.
    assert len({round(own.probabilities[0] * 1e6, 2) for own in flat}) == 4
    tokenizer = tiny.lm.loaded[0]
    assert [own.prompt_tokens for own in flat] == [len(tokenizer(prompt)["input_ids"]) for prompt in prompts]


def test_completions_of_prompts_that_share_a_beginning_are_those_of_each_alone(tiny):
    prompts = [TEXTS[0] + ending for ending in ENDINGS[0]] + ["The sea is salt.", TEXTS[0] + "Who?", "x"]
    generator = LocalGenerator(tiny.lm, 8, batch_size=4)
    alone = [generator.generate([prompt])[0] for prompt in prompts]
    sizes = []
    see = lambda _, args, given: sizes.append(given["input_ids"].numel())  # noqa: E731
    with tiny.lm.loaded[1].register_forward_pre_hook(see, with_kwargs=True):
        assert generator.generate(prompts) == alone
    # The four that begin alike: their beginning once, then their ends.
    assert sizes[0] < max(own.prompt_tokens for own in alone) and sizes[1] < 4 * 30


def test_clusters_by_hand():
    together = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 7], [1, 2, 3, 4, 7]]
    prompts = [together[0], [9, 8], together[1], [1, 2, 5, 5, 5], together[2], [1, 2, 3, 4]]
    assert clusters(prompts, 8) == [
        Cluster([5, 0, 2, 4], 3, 6),  # of the shortest, the last token isn't shared
        Cluster([3], 4, 5),
        Cluster([1], 1, 2),
    ]
    assert [own.places for own in clusters(prompts, 2)] == [[5, 0], [2, 4], [3], [1]]
    assert clusters([], 8) == []


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), max_size=12), st.integers(1, 5))
def test_every_prompt_is_in_one_cluster_and_shares_its_beginning(prompts, limit):
    found = clusters(prompts, limit)
    assert sorted(place for own in found for place in own.places) == list(range(len(prompts)))
    for own in found:
        assert 1 <= len(own.places) <= limit
        assert own.longest == max(len(prompts[place]) for place in own.places)
        assert len({tuple(prompts[place][: own.shared]) for place in own.places}) == 1
        assert all(own.shared < len(prompts[place]) for place in own.places)
        assert len(own.places) == 1 or 2 * own.shared >= own.longest


def test_prompts_that_share_nothing_and_equal_ones(tiny):
    texts = ["Is it?", "Was the bell of Port Azure green?", "Was the bell of Port Azure green?"]
    found = tiny.next_words([""], [texts], ("yes", "no"))[0]
    assert np.array([own.probabilities for own in found]) == pytest.approx(
        tiny.next_word_probabilities(texts, ("yes", "no")), rel=1e-4
    )
    assert found[1] == pytest.approx(found[2])
    assert tiny.next_words([], [], ("yes", "no")) == []


def test_the_beginning_is_computed_once(tiny, monkeypatch):
    sizes = []
    model = tiny.lm.loaded[1]
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda ids, **more: sizes.append(tuple(ids.shape)) or forward(ids, **more))
    tiny.next_words(TEXTS[:1], ENDINGS[:1], ("yes", "no"))
    prefix, endings = sizes
    whole = [len(tiny.lm.loaded[0](TEXTS[0] + ending)["input_ids"]) for ending in ENDINGS[0]]
    assert prefix[0] == 1 and endings[0] == 3
    # The longest ending goes in whole behind the beginning, the others are padded to it.
    assert prefix[1] + endings[1] == max(whole) and prefix[1] > 100


def test_the_real_model_agrees_too_behind_its_chat_template(model):
    texts = ["Text:\nThe bell is green. The sea is salt.\n\nYes or no?\nQuestion: "]
    endings = [["Is the bell green?", "Is the sea sweet?"]]
    found = model.next_words(texts, endings, ("yes", "no"))[0]
    whole = model.next_word_probabilities([texts[0] + ending for ending in endings[0]], ("yes", "no"))
    assert np.array([own.probabilities for own in found]) == pytest.approx(whole, abs=1e-4)


def test_an_overlong_shared_prompt_is_refused(tiny):
    with pytest.raises(RagError, match="lower top_k"):
        tiny.next_words(["word " * 600], [["x"]], ("yes", "no"))


def test_positions_follow_the_padding(tmp_path):
    """A model with learnt positions: padding on the left must not shift them."""
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    from rag import assets

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(assets.generator_folder())
    tokenizer.chat_template = None
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=16, n_layer=1, n_head=2, initializer_range=0.5
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    tiny = LocalGenerator(LanguageModel(str(tmp_path)), batch_size=2)
    texts = ["one two three four five six seven", "one"]
    together = tiny.next_word_probabilities(texts, ("yes", "no"))
    alone = np.concatenate([tiny.next_word_probabilities([text], ("yes", "no")) for text in texts])
    assert together == pytest.approx(alone, rel=1e-3)


def test_plain_texts_begin_as_the_tokenizer_begins_them(tmp_path):
    """As for Llama: `<s>` belongs before every text, but a chat template brings its own."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(WordLevel({"<s>": 0, "</s>": 1, "one": 2, "two": 3, "<unk>": 4}, unk_token="<unk>"))
    words.pre_tokenizer = WhitespaceSplit()
    words.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )
    tokenizer.save_pretrained(tmp_path)
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=5, max_position_embeddings=16, **size)).save_pretrained(tmp_path)
    lm = LanguageModel(str(tmp_path))
    assert lm.chat("one two") == lm.plain("one two") == "<s>one two"
    ((_, inputs),) = lm.batches([lm.plain("one two")], 1, 1)
    assert inputs["input_ids"].tolist() == [[0, 2, 3]]
    lm.loaded[0].chat_template = "<s> {{ messages[0]['content'] }}"
    assert lm.chat("one") == "<s> one"


def test_the_embedded_model_puts_nothing_before_plain_texts(model):
    assert model.lm.plain("one two") == "one two"


def test_draws_are_another_with_another_seed_and_the_same_with_the_same(tiny):
    prompts = [f"Tell me of number {number}." for number in range(6)]

    def drawn(temperature, seed):
        own = LocalGenerator(tiny.lm, 8, batch_size=3, sampling=Sampling(temperature, seed))
        return [completion.text for completion in own.generate(prompts)]

    torch.manual_seed(7)
    first = drawn(5.0, 1)
    after = torch.rand(1)
    torch.manual_seed(7)
    assert torch.rand(1) == after  # drawing leaves torch's own state alone
    assert drawn(5.0, 1) == first and len(set(first)) > 1
    assert drawn(5.0, 2) != first
    # Near zero the likeliest token is drawn.
    greedy = [completion.text for completion in LocalGenerator(tiny.lm, 8, batch_size=3).generate(prompts)]
    assert drawn(1e-4, 1) == drawn(1e-4, 2) == greedy != first


def test_all_tokens_can_be_drawn(tiny):
    # At such a temperature every token is about as likely.
    generator = LocalGenerator(tiny.lm, 1, batch_size=100, sampling=Sampling(1e4, 1))
    assert len({completion.text for completion in generator.generate(["Tell me."] * 100)}) > 80


def test_an_end_bias_puts_off_the_end_or_brings_it_on(tiny):
    tokens = [LocalGenerator(tiny.lm, 12, end_bias=bias).generate(["Tell me.", "Why?"]) for bias in (-1e4, 1e4)]
    assert [[own.tokens for own in each] for each in tokens] == [[12, 12], [0, 0]]
    assert [own.text for own in tokens[1]] == ["", ""]
    plain, biased = LocalGenerator(tiny.lm), LocalGenerator(tiny.lm, end_bias=-3.0)
    assert plain.identity == LocalGenerator(tiny.lm, end_bias=0.0).identity != biased.identity


def test_draws_have_an_identity_of_their_own(tiny, tmp_path):
    def generators(build):
        return [build(sampling=own) for own in (None, Sampling(0.3, 0), Sampling(0.3, 1), Sampling(0.7, 0))]

    for build in (
        lambda sampling: LocalGenerator(tiny.lm, sampling=sampling),
        lambda sampling: OpenAIGenerator("http://nowhere", "m", sampling=sampling),
    ):
        identities = [json.dumps(own.identity, sort_keys=True) for own in generators(build)]
        assert len(set(identities)) == 4
        assert [build(sampling=Sampling(0.3, 1)).identity] == [generators(build)[2].identity]
    # So a cache can't take one's text for the other's.
    cache = Cache(tmp_path / "c.sqlite")
    texts = [
        CachedGenerator(LocalGenerator(tiny.lm, 8, sampling=Sampling(5.0, seed)), cache).generate(["Tell me."])[0].text
        for seed in (1, 2, 1)
    ]
    assert texts[0] == texts[2] != texts[1]


@contextmanager
def server(reply, status=200):
    """An endpoint that sends one fixed reply; yields its address and the requests that it got."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", seen
    finally:
        http.shutdown()
        http.server_close()


REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " Rome "}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}


def test_openai_compatible_server():
    with server(REPLY) as (url, seen):
        completions = OpenAIGenerator(url, "m", max_new_tokens=5, seed=3).generate(["Where?", "Again?"])
    assert [(c.text, c.prompt_tokens, c.tokens) for c in completions] == [("Rome", 7, 2)] * 2
    path, body = next((path, body) for path, body in seen if "Where?" in str(body))
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Where?"}],
        "max_tokens": 5,
        "temperature": 0,
        "seed": 3,
        "stop": ["\n"],
    }


def test_a_server_is_told_temperature_and_seed():
    with server(REPLY) as (url, seen):
        OpenAIGenerator(url, "m", seed=3, sampling=Sampling(0.3, 8)).generate(["Where?"])
    assert (seen[0][1]["temperature"], seen[0][1]["seed"]) == (0.3, 8)


@pytest.mark.parametrize("reply", [{"error": "busy"}, {**REPLY, "choices": []}])
def test_an_error_body_under_status_200_is_no_answer(reply):
    with server(reply) as (url, _), pytest.raises(RagError, match="reply without text"):
        OpenAIGenerator(url, "m").generate(["Where?"])


def test_a_refusing_server_is_named():
    with (
        server({"error": {"message": "no such model"}}, status=404) as (url, _),
        pytest.raises(RagError, match="did not answer"),
    ):
        OpenAIGenerator(url, "m").generate(["Where?"])


def with_logprobs(*top):
    """The reply with these (token, logprob) as the likeliest first tokens."""
    entries = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in top]
    first = {"token": top[0][0] if top else "x", "logprob": -0.1, "bytes": None, "top_logprobs": entries}
    return {**REPLY, "choices": [{**REPLY["choices"][0], "logprobs": {"content": [first], "refusal": None}}]}


def test_next_words_of_an_openai_compatible_server():
    # " Yes" and "yes" are one word, "no." and "not" are not "no".
    top = [(" Yes", math.log(0.5)), ("yes", math.log(0.2)), ("NO", math.log(0.1)), ("not", -3.0), ("no.", -3.0)]
    with server(with_logprobs(*top)) as (url, seen):
        generator = OpenAIGenerator(url, "m", seed=3)
        chances = generator.next_word_probabilities(["Is it?", "Really?"], ("Yes", "no", "maybe"))
        assert generator.next_word_probabilities([], ("yes", "no")).shape == (0, 2)
    assert chances == pytest.approx(np.array([[0.7, 0.1, 0.0]] * 2))
    body = next(body for _, body in seen if "Is it?" in str(body))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Is it?"}],
        "max_tokens": 1,
        "temperature": 0,
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 20,
    }


@pytest.mark.parametrize(
    "logprobs", [None, {"content": None}, {"content": []}, with_logprobs()["choices"][0]["logprobs"]]
)
def test_a_server_without_logprobs_is_named(logprobs):
    reply = {**REPLY, "choices": [{**REPLY["choices"][0], "logprobs": logprobs}]}
    with server(reply) as (url, _), pytest.raises(RagError, match="sends no logprobs"):
        OpenAIGenerator(url, "m").next_word_probabilities(["Is it?"], ("yes", "no"))


def test_a_server_that_ignores_logprobs_is_named():
    with server(REPLY) as (url, _), pytest.raises(RagError, match="sends no logprobs"):
        OpenAIGenerator(url, "m").next_word_probabilities(["Is it?"], ("yes", "no"))


def test_next_words_of_a_server_are_full_prompts_with_their_size():
    with server(with_logprobs(("yes", math.log(0.5)), ("no", math.log(0.25)))) as (url, seen):
        found = OpenAIGenerator(url, "m").next_words(
            ["Text. ", "Other. ", "x"], [["Is it?", "Was it?"], ["Is it?"], []], ("yes", "no")
        )
    assert [[own.prompt_tokens for own in of_text] for of_text in found] == [[7, 7], [7], []]
    assert found[1][0].probabilities == pytest.approx((0.5, 0.25))
    assert sorted(body["messages"][0]["content"] for _, body in seen) == [
        "Other. Is it?",
        "Text. Is it?",
        "Text. Was it?",
    ]


def test_cached_next_words_keep_what_is_shared_together(tmp_path):
    class Counting:
        identity = {"model": "counting"}
        asked = []

        def next_words(self, prefixes, endings, words):
            self.asked.append(list(zip(prefixes, endings, strict=True)))
            return [
                [NextWords((len(prefix) / 100, len(end) / 100), 9) for end in own]
                for prefix, own in zip(prefixes, endings, strict=True)
            ]

    counting = Counting()
    generator = CachedGenerator(counting, Cache(tmp_path / "c.sqlite"))
    first = generator.next_words(["aa", "b"], [["x", "yy"], ["x"]], ("yes", "no"))
    assert first == [[NextWords((0.02, 0.01), 9), NextWords((0.02, 0.02), 9)], [NextWords((0.01, 0.01), 9)]]
    assert generator.next_words(["b", "aa", "aa"], [["x"], ["x", "yy"], ["x"]], ("yes", "no"))[:2] == first[::-1]
    assert [sorted(call) for call in counting.asked] == [[("aa", ["x", "yy"]), ("b", ["x"])], [("aa", ["x"])]]
    assert generator.next_words([], [], ("yes", "no")) == []


def test_cached_next_word_probabilities_are_asked_once(tmp_path):
    class Counting:
        identity = {"model": "counting"}
        asked = []

        def next_word_probabilities(self, prompts, words):
            self.asked += prompts
            return np.array([[len(prompt) / 100 + len(word) / 10 for word in words] for prompt in prompts])

    counting = Counting()
    generator = CachedGenerator(counting, Cache(tmp_path / "c.sqlite"))
    expected = np.array([[0.31, 0.21], [0.32, 0.22], [0.31, 0.21]])
    assert generator.next_word_probabilities(["a", "bb", "a"], ("yes", "no")) == pytest.approx(expected)
    assert sorted(counting.asked) == ["a", "bb"]
    assert generator.next_word_probabilities(["bb"], ("yes", "no")) == pytest.approx(expected[1:2])
    assert len(counting.asked) == 2
    # Other words are another question, in whatever order.
    assert generator.next_word_probabilities(["bb"], ("no", "yes")) == pytest.approx(expected[1:2, ::-1])
    assert len(counting.asked) == 3
    assert generator.next_word_probabilities([], ("yes", "no")).shape == (0, 2)


def test_cached_generator_asks_once(tmp_path, echo):
    generator = CachedGenerator(echo, Cache(tmp_path / "c.sqlite"))
    assert generator.generate(["a\nb", "a\nb"])[1].text == "b"
    generator.generate(["a\nb"])
    assert echo.prompts == ["a\nb"]


def test_prompts_hold_question_and_text():
    assert "Who is it?" in prompt("Who is it?") and "Text:" not in prompt("Who is it?")
    both = prompt("Who is it?", "Some text.")
    assert "Some text." in both and both.endswith("Who is it?")


@pytest.mark.parametrize("knowledge", ["", "Some text."])
def test_prompts_of_the_other_tasks(knowledge):
    claim = answer_prompt(Question("c", "Ice floats.", ("true",), task=Task.CLAIM), knowledge)
    assert claim.endswith("Statement: Ice floats.") and "true or false" in claim
    choices = {"A": "Ice", "B": "Lead"}
    choice = answer_prompt(Question("c", "What floats?", ("A",), task=Task.CHOICE, choices=choices), knowledge)
    assert choice.endswith("Question: What floats?\nA: Ice\nB: Lead")
    assert (knowledge in choice) and (knowledge in claim)


@pytest.mark.parametrize("native", [True, False])
def test_native_precision_is_bfloat16_only_where_the_hardware_has_it(tiny_llama, monkeypatch, native):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "avx512_bf16": native})
    exact, fast = LanguageModel(str(tiny_llama)), LanguageModel(str(tiny_llama), precision="native")
    assert exact.loaded[1].dtype == torch.float32
    assert fast.loaded[1].dtype == (torch.bfloat16 if native else torch.float32)
    assert (exact.identity == fast.identity) == (not native)
