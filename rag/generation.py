"""Language models behind one protocol: local ones through transformers, any other through an OpenAI-compatible server."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rag import assets
from rag.cache import Cache
from rag.encoding import file_digest, model_identity
from rag.errors import RagError
from rag.types import Completion, NextWords

ADAPTER_TOKENS = "tokens.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
TOP_LOGPROBS = 20


class Generator(Protocol):
    """Anything that continues prompts. `identity` holds all that its output depends on but the prompt."""

    identity: Mapping[str, Any]

    def generate(self, prompts: list[str]) -> Sequence[Completion]:
        """One completion a prompt, in order."""

    def next_word_probabilities(self, prompts: list[str], words: Sequence[str]) -> np.ndarray:
        """The probability that each of the words comes next, in any case, shape (len(prompts), len(words)).

        A row sums to less than 1 by what the model gives to all other words.
        """

    def next_words(self, prefixes: list[str], endings: list[list[str]], words: Sequence[str]) -> list[list[NextWords]]:
        """The same for prompts that share their beginnings: each prefix before each of its own endings, in order."""


class LanguageModel:
    """A causal LM run by transformers: a folder or a hub name; without one, the embedded SmolLM2-135M-Instruct.

    `adapter` is a folder of LoRA weights (safetensors), merged into the model on loading. `precision` is `float32`, or `native`:
    bfloat16 where the hardware computes in it. There a completion may depend on its neighbours in the batch: from batches of
    one to batches of sixteen 5 of 48 changed, as many right as before; none did in float32, and all in dynamic int8.
    """

    def __init__(
        self,
        model: str | None = None,
        revision: str | None = None,
        adapter: Path | None = None,
        precision: str = "float32",
    ):
        self.model = model
        self.revision = revision
        self.adapter = adapter
        self.dtype = "bfloat16" if precision == "native" and computes_in_bfloat16() else "float32"
        name = model_identity(model) if model else assets.GENERATOR.name
        self.identity = {"model": name, "revision": revision, "dtype": self.dtype}
        if adapter and not (adapter / ADAPTER_WEIGHTS).is_file():
            raise RagError(f"there is no adapter in {adapter}: check it out again, or make it by make train")
        if adapter:
            self.identity["adapter"] = file_digest(adapter / ADAPTER_WEIGHTS)

    @cached_property
    def loaded(self):
        """The tokenizer (padding on the left) and the model, on the GPU where there is one."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        source = self.model or str(assets.generator_folder())
        try:
            tokenizer = AutoTokenizer.from_pretrained(source, revision=self.revision, padding_side="left")
            model = AutoModelForCausalLM.from_pretrained(source, revision=self.revision, dtype=self.dtype)
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RagError(
                f"cannot load generator {source!r} ({reason}): name a model folder, or a hub model where there is a hub"
            ) from error
        if self.adapter:
            from peft import PeftModel

            # The rows of the new tokens come with the adapter.
            tokenizer.add_tokens(json.loads((self.adapter / ADAPTER_TOKENS).read_text()), special_tokens=True)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            model = PeftModel.from_pretrained(model, self.adapter).merge_and_unload()
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def plain(self, prompt: str) -> str:
        """The prompt behind what the tokenizer puts before every text: `<s>` for Llama, nothing for many models."""
        tokenizer = self.loaded[0]
        return tokenizer.decode(tokenizer("")["input_ids"]) + prompt

    def chat(self, prompt: str) -> str:
        """The prompt in the model's chat template, where it has one."""
        tokenizer = self.loaded[0]
        if tokenizer.chat_template is None:
            return self.plain(prompt)
        message = [{"role": "user", "content": prompt}]
        return tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)

    def batches(self, texts: list[str], batch_size: int, new_tokens: int) -> Iterator[tuple[list[int], Any]]:
        """Indices and padded inputs of batches, longest texts first. Raises `RagError` for a text that is too long."""
        tokenizer, model = self.loaded
        lengths = [len(ids) for ids in self.token_ids(texts, new_tokens)]
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            own = [texts[i] for i in batch]
            yield batch, tokenizer(own, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)

    def token_ids(self, texts: list[str], new_tokens: int) -> list[list[int]]:
        """The texts in tokens. Raises `RagError` for one that leaves no room for `new_tokens` more: cut, it would be
        answered wrongly."""
        tokenizer, model = self.loaded
        ids = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
        limit = model.config.max_position_embeddings - new_tokens
        if (longest := max(map(len, ids), default=0)) > limit:
            raise RagError(f"a prompt has {longest} tokens, {self.identity['model']} takes {limit}: lower top_k")
        return ids


def computes_in_bfloat16() -> bool:
    """Whether the GPU, or without one the processor, has instructions for bfloat16: others emulate it at a fraction of the speed."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


@dataclass(frozen=True)
class Sampling:
    """Drawing the next token at a temperature, instead of taking the likeliest one. A draw also depends on the batch."""

    temperature: float
    seed: int


@dataclass(frozen=True)
class Cluster:
    """Prompts, by their places, that begin with the same `shared` tokens: at least half of each, where there are several.
    One for itself has all tokens but its last."""

    places: list[int]
    shared: int
    longest: int


def clusters(prompts: Sequence[Sequence[int]], limit: int) -> list[Cluster]:
    """Prompts, in tokens, by shared beginnings: clusters of at most `limit`, those with the longest prompts first."""
    found: list[Cluster] = []
    for i in sorted(range(len(prompts)), key=lambda i: (prompts[i], i)):
        length = len(prompts[i])
        if found and len(found[-1].places) < limit:
            last = found[-1]
            common = len(os.path.commonprefix([prompts[last.places[0]][: last.shared], prompts[i][:-1]]))
            if 2 * common >= max(length, last.longest):
                found[-1] = Cluster([*last.places, i], common, max(length, last.longest))
                continue
        found.append(Cluster([i], length - 1, length))
    return sorted(found, key=lambda own: (-own.longest, min(own.places)))


class LocalGenerator:
    """Completions of a `LanguageModel` in its chat template, up to the end token, a newline or `max_new_tokens`: greedy ones,
    or with `sampling` drawn ones. Of prompts that begin alike, as questions on the same passages, the beginning is computed
    once. `end_bias` is added to the end token's logit: below 0, lists come out longer."""

    def __init__(
        self,
        lm: LanguageModel,
        max_new_tokens: int = 24,
        batch_size: int = 8,
        sampling: Sampling | None = None,
        end_bias: float = 0.0,
    ):
        self.lm = lm
        self.max_new_tokens = max_new_tokens
        self.batch_size = batch_size
        self.sampling = sampling
        self.end_bias = end_bias
        self.identity = {**lm.identity, "max_new_tokens": max_new_tokens, "stop": "newline"}
        if sampling:
            self.identity |= asdict(sampling)
        if end_bias:
            self.identity["end_bias"] = end_bias

    def generate(self, prompts: list[str]) -> list[Completion]:
        import torch

        tokenizer, model = self.lm.loaded
        completions: dict[int, Completion] = {}
        ids = self.lm.token_ids([self.lm.chat(prompt) for prompt in prompts], self.max_new_tokens)
        choice: dict[str, Any] = {"do_sample": False}
        if self.sampling:
            # Without top_k, generate() would draw from the fifty likeliest tokens alone.
            choice = {"do_sample": True, "temperature": self.sampling.temperature, "top_k": 0}
        if self.end_bias:
            choice["sequence_bias"] = {(tokenizer.eos_token_id,): self.end_bias}
        for together in self._batches(clusters(ids, self.batch_size)):
            batch = [i for cluster in together for i in cluster.places]
            with torch.inference_mode(), torch.random.fork_rng():
                inputs = self._begun(ids, together)
                if self.sampling:
                    torch.manual_seed(self.sampling.seed)
                output = model.generate(
                    **inputs,
                    **choice,
                    max_new_tokens=self.max_new_tokens,
                    stop_strings=["\n"],
                    tokenizer=tokenizer,
                    pad_token_id=tokenizer.pad_token_id,
                )
            new = output[:, inputs["input_ids"].shape[1] :]
            sizes = (new != tokenizer.pad_token_id).sum(dim=1).tolist()
            asked = inputs["attention_mask"].sum(dim=1).tolist()
            for i, text, *size in zip(
                batch, tokenizer.batch_decode(new, skip_special_tokens=True), asked, sizes, strict=True
            ):
                completions[i] = Completion(text.strip(), *size)
        return [completions[i] for i in range(len(prompts))]

    def _batches(self, found: list[Cluster]) -> Iterator[list[Cluster]]:
        """Clusters in order, as many together as make a batch."""
        together: list[Cluster] = []
        for cluster in found:
            if sum(len(own.places) for own in [*together, cluster]) > self.batch_size:
                yield together
                together = []
            together.append(cluster)
        if together:
            yield together

    def _begun(self, ids: list[list[int]], together: list[Cluster]) -> dict[str, Any]:
        """The inputs of a batch. What the prompts of a cluster share is computed once, and its keys and values stand in for it."""
        import torch

        tokenizer, model = self.lm.loaded

        def pad(rows: list[list[int]]) -> Mapping[str, Any]:
            return tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(model.device)

        if all(len(cluster.places) == 1 for cluster in together) or not all(cluster.shared for cluster in together):
            return dict(pad([ids[i] for cluster in together for i in cluster.places]))
        beginnings = pad([ids[cluster.places[0]][: cluster.shared] for cluster in together])
        # generate() derives positions from the padding; a plain forward pass does not.
        positions = (beginnings["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
        cache = model(**beginnings, position_ids=positions, use_cache=True, logits_to_keep=1).cache
        rows = torch.tensor([row for row, cluster in enumerate(together) for _ in cluster.places], device=model.device)
        cache.batch_select_indices(rows)
        endings = pad([ids[i][cluster.shared :] for cluster in together for i in cluster.places])
        joined = {name: torch.cat([beginnings[name][rows], endings[name]], dim=1) for name in endings}
        return {**joined, "cache": cache}

    def next_word_probabilities(self, prompts: list[str], words: Sequence[str]) -> np.ndarray:
        import torch

        tokenizer, model = self.lm.loaded
        ids = [word_tokens(tokenizer, word) for word in words]
        found = np.zeros((len(prompts), len(words)))
        texts = [self.lm.chat(prompt) for prompt in prompts]
        for batch, inputs in self.lm.batches(texts, self.batch_size, 1):
            # generate() derives positions from the padding, which a plain forward pass does not.
            with torch.inference_mode():
                output = model.generate(
                    **inputs,
                    max_new_tokens=1,
                    do_sample=False,
                    output_logits=True,
                    return_dict_in_generate=True,
                    pad_token_id=tokenizer.pad_token_id,
                )
            chances = output.logits[0].float().softmax(dim=-1).cpu().numpy()
            found[batch] = np.stack([chances[:, own].sum(axis=1) for own in ids], axis=1)
        return found

    def next_words(self, prefixes: list[str], endings: list[list[str]], words: Sequence[str]) -> list[list[NextWords]]:
        """What the prompts of a prefix share is computed once, and its keys and values are used for all of them."""
        ids = [word_tokens(self.lm.loaded[0], word) for word in words]
        found = []
        for prefix, own in zip(prefixes, endings, strict=True):
            prompts = self.lm.token_ids([self.lm.chat(prefix + ending) for ending in own], 1)
            chances = self._next_token(prompts) if prompts else np.zeros((0, 0))
            found.append(
                [
                    NextWords(tuple(float(row[tokens].sum()) for tokens in ids), len(prompt))
                    for row, prompt in zip(chances, prompts, strict=True)
                ]
            )
        return found

    def _next_token(self, prompts: list[list[int]]) -> np.ndarray:
        """The probabilities of all tokens as the next one, shape (len(prompts), vocabulary)."""
        import torch

        tokenizer, model = self.lm.loaded
        # Of the tokens, not of the text: a token may reach over the place where an ending begins.
        shared = min(len(os.path.commonprefix(prompts)), min(map(len, prompts)) - 1)
        padded = tokenizer.pad({"input_ids": [ids[shared:] for ids in prompts]}, return_tensors="pt").to(model.device)
        mask = padded["attention_mask"]
        with torch.inference_mode():
            past = None
            if shared:
                prefix = torch.tensor([prompts[0][:shared]], device=model.device)
                past = model(prefix, use_cache=True, logits_to_keep=1).cache
                past.batch_repeat_interleave(len(prompts))
            output = model(
                padded["input_ids"],
                attention_mask=torch.cat([mask.new_ones(len(prompts), shared), mask], dim=1),
                # The padding lies between prefix and ending and takes no position.
                position_ids=(shared + mask.cumsum(dim=1) - 1).clamp(min=0),
                cache=past,
                logits_to_keep=1,
            )
        return output.logits[:, -1].float().softmax(dim=-1).cpu().numpy()


def word_tokens(tokenizer, word: str) -> list[int]:
    """The tokens that are this whole word, in lower case, capitalised or in capitals, with or without a blank before.

    A form of several tokens is left out: its first one begins other words too ("n" would count "never" as "no"). Raises
    `RagError` where none is left.
    """
    forms = [f"{blank}{form}" for blank in ("", " ") for form in (word.lower(), word.capitalize(), word.upper())]
    encoded = [tokenizer.encode(form, add_special_tokens=False) for form in forms]
    if not (whole := sorted({ids[0] for ids in encoded if len(ids) == 1})):
        raise RagError(f"the word {word!r} is no single token of {tokenizer.name_or_path}: its likelihood needs one")
    return whole


class OpenAIGenerator:
    """A model behind an OpenAI-compatible chat endpoint (vLLM, llama.cpp, OpenAI …). The key, where one is needed, is
    read from `OPENAI_API_KEY` and is kept nowhere."""

    def __init__(
        self,
        base_url: str,
        model: str,
        max_new_tokens: int = 24,
        timeout_s: float = 60,
        workers: int = 8,
        seed: int = 0,
        sampling: Sampling | None = None,
    ):
        self.base_url = base_url
        self.max_new_tokens = max_new_tokens
        self.timeout_s = timeout_s
        self.workers = workers
        self.sampling = sampling or Sampling(0, seed)
        self.identity = {
            "model": model,
            "endpoint": base_url,
            "max_new_tokens": max_new_tokens,
            "stop": "newline",
            "seed": self.sampling.seed,
        }
        if sampling:
            self.identity["temperature"] = sampling.temperature

    @cached_property
    def _client(self):
        from openai import OpenAI

        key = os.environ.get("OPENAI_API_KEY", "none")
        return OpenAI(base_url=self.base_url, api_key=key, timeout=self.timeout_s, max_retries=3)

    def generate(self, prompts: list[str]) -> list[Completion]:
        return self._each(self._complete, prompts)

    def next_word_probabilities(self, prompts: list[str], words: Sequence[str]) -> np.ndarray:
        found = self._next_words(prompts, words)
        return np.array([own.probabilities for own in found]).reshape(len(prompts), len(words))

    def next_words(self, prefixes: list[str], endings: list[list[str]], words: Sequence[str]) -> list[list[NextWords]]:
        """Full prompts: a server with prefix caching computes the shared beginnings once."""
        prompts = [prefix + ending for prefix, own in zip(prefixes, endings, strict=True) for ending in own]
        found = iter(self._next_words(prompts, words))
        return [[next(found) for _ in own] for own in endings]

    def _next_words(self, prompts: list[str], words: Sequence[str]) -> list[NextWords]:
        def ask(prompt: str) -> NextWords:
            reply = self._ask(prompt, max_tokens=1, logprobs=True, top_logprobs=TOP_LOGPROBS)
            logprobs = reply.choices[0].logprobs
            top = logprobs.content[0].top_logprobs if logprobs and logprobs.content else None
            if not top:
                raise RagError(f"{self.base_url} sends no logprobs: judging by likelihood needs a server that does")
            chance = [(entry.token.strip().lower(), math.exp(entry.logprob)) for entry in top]
            likely = tuple(sum(p for token, p in chance if token == word.lower()) for word in words)
            return NextWords(likely, reply.usage.prompt_tokens if reply.usage else 0)

        return self._each(ask, prompts)

    def _each(self, ask: Callable[[str], Any], prompts: list[str]) -> list[Any]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(ask, prompts))

    def _complete(self, prompt: str) -> Completion:
        reply = self._ask(prompt, max_tokens=self.max_new_tokens, stop=["\n"])
        text = (reply.choices[0].message.content or "").strip()
        if not text:
            raise RagError(f"{self.base_url} sent a reply without text for model {self.identity['model']!r}")
        usage = reply.usage
        return Completion(text, usage.prompt_tokens if usage else 0, usage.completion_tokens if usage else 0)

    def _ask(self, prompt: str, **settings: Any):
        from openai import OpenAIError

        try:
            reply = self._client.chat.completions.create(
                model=self.identity["model"],
                messages=[{"role": "user", "content": prompt}],
                temperature=self.sampling.temperature,
                seed=self.sampling.seed,
                **settings,
            )
        except OpenAIError as error:
            raise RagError(f"{self.base_url} did not answer ({error}): check the server and its model") from error
        # An error body under status 200 parses into a reply without choices.
        if not reply.choices:
            raise RagError(f"{self.base_url} sent a reply without text for model {self.identity['model']!r}")
        return reply


class CachedGenerator:
    """A generator that never writes the same completion twice."""

    def __init__(self, generator: Generator, cache: Cache):
        self.generator = generator
        self.cache = cache
        self.identity = generator.identity

    def generate(self, prompts: list[str]) -> list[Completion]:
        def compute(missing: list[str]) -> list[dict]:
            return [asdict(completion) for completion in self.generator.generate(missing)]

        stage = {"stage": "generate", **self.identity}
        return [Completion(**value) for value in self.cache.map(stage, prompts, compute)]

    def next_word_probabilities(self, prompts: list[str], words: Sequence[str]) -> np.ndarray:
        def compute(missing: list[str]) -> list[list[float]]:
            return self.generator.next_word_probabilities(missing, words).tolist()

        stage = {"stage": "next word", **self.identity, "words": list(words)}
        return np.array(self.cache.map(stage, prompts, compute)).reshape(len(prompts), len(words))

    def next_words(self, prefixes: list[str], endings: list[list[str]], words: Sequence[str]) -> list[list[NextWords]]:
        """Kept by prefix with all its endings, so that what is shared stays together."""

        def compute(missing: list[tuple[str, list[str]]]) -> list[list[dict]]:
            found = self.generator.next_words(*map(list, zip(*missing, strict=True)), words)
            return [[asdict(each) for each in own] for own in found]

        stage = {"stage": "next words after a prefix", **self.identity, "words": list(words)}
        kept = self.cache.map(stage, list(zip(prefixes, endings, strict=True)), compute)
        return [[NextWords(tuple(each["probabilities"]), each["prompt_tokens"]) for each in own] for own in kept]
