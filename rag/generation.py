"""Language models behind one protocol: local ones through transformers, any other through an OpenAI-compatible server."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Protocol

from rag import assets
from rag.cache import Cache
from rag.encoding import model_identity
from rag.errors import RagError
from rag.types import Completion


class Generator(Protocol):
    """Anything that continues prompts greedily. `identity` holds all that its output depends on but the prompt."""

    identity: Mapping[str, Any]

    def generate(self, prompts: list[str]) -> Sequence[Completion]:
        """One completion a prompt, in order."""


class LocalGenerator:
    """A causal LM run by transformers: a folder or a hub name; without one, the embedded SmolLM2-135M-Instruct.

    Prompts are wrapped in the model's chat template where it has one. Decoding is greedy and stops at the end token, at
    a newline or after `max_new_tokens`. Weights are float32 on a CPU: bfloat16 is several times slower there, and dynamic
    int8, though 1.6 times faster, makes a completion depend on its neighbours in the batch (from batches of one to
    batches of eight 16 of 16 completions changed; none did in float32).
    """

    def __init__(
        self, model: str | None = None, max_new_tokens: int = 24, batch_size: int = 8, revision: str | None = None
    ):
        self.model = model
        self.revision = revision
        self.max_new_tokens = max_new_tokens
        self.batch_size = batch_size
        name = model_identity(model) if model else f"{assets.GENERATOR.name}-float32"
        self.identity = {"model": name, "revision": revision, "max_new_tokens": max_new_tokens, "stop": "newline"}

    @cached_property
    def _loaded(self):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        source = self.model or str(assets.generator_folder())
        gpu = torch.cuda.is_available()
        try:
            tokenizer = AutoTokenizer.from_pretrained(source, revision=self.revision, padding_side="left")
            model = AutoModelForCausalLM.from_pretrained(
                source, revision=self.revision, dtype=torch.bfloat16 if gpu else torch.float32
            )
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RagError(
                f"cannot load generator {source!r} ({reason}): name a model folder, or a hub model where there is a hub"
            ) from error
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer, model.to("cuda" if gpu else "cpu").eval()

    def generate(self, prompts: list[str]) -> list[Completion]:
        tokenizer, model = self._loaded
        texts = [self._wrap(prompt) for prompt in prompts]
        lengths = [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]] if texts else []
        limit = model.config.max_position_embeddings - self.max_new_tokens
        if lengths and max(lengths) > limit:
            raise RagError(f"a prompt has {max(lengths)} tokens, {self.identity['model']} takes {limit}: lower top_k")
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))
        completions: dict[int, Completion] = {}
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            for i, completion in zip(batch, self._generate_batch([texts[i] for i in batch]), strict=True):
                completions[i] = Completion(completion[0], lengths[i], completion[1])
        return [completions[i] for i in range(len(texts))]

    def _wrap(self, prompt: str) -> str:
        tokenizer = self._loaded[0]
        if tokenizer.chat_template is None:
            return prompt
        message = [{"role": "user", "content": prompt}]
        return tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)

    def _generate_batch(self, texts: list[str]) -> list[tuple[str, int]]:
        import torch

        tokenizer, model = self._loaded
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
        with torch.inference_mode():
            output = model.generate(
                **inputs,
                max_new_tokens=self.max_new_tokens,
                do_sample=False,
                stop_strings=["\n"],
                tokenizer=tokenizer,
                pad_token_id=tokenizer.pad_token_id,
            )
        new = output[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        sizes = (new != tokenizer.pad_token_id).sum(dim=1).tolist()
        return [(text.strip(), size) for text, size in zip(texts, sizes, strict=True)]


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
    ):
        self.base_url = base_url
        self.max_new_tokens = max_new_tokens
        self.timeout_s = timeout_s
        self.workers = workers
        self.seed = seed
        self.identity = {
            "model": model,
            "endpoint": base_url,
            "max_new_tokens": max_new_tokens,
            "stop": "newline",
            "seed": seed,
        }

    @cached_property
    def _client(self):
        from openai import OpenAI

        key = os.environ.get("OPENAI_API_KEY", "none")
        return OpenAI(base_url=self.base_url, api_key=key, timeout=self.timeout_s, max_retries=3)

    def generate(self, prompts: list[str]) -> list[Completion]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self._ask, prompts))

    def _ask(self, prompt: str) -> Completion:
        from openai import OpenAIError

        try:
            reply = self._client.chat.completions.create(
                model=self.identity["model"],
                messages=[{"role": "user", "content": prompt}],
                max_tokens=self.max_new_tokens,
                temperature=0,
                seed=self.seed,
                stop=["\n"],
            )
        except OpenAIError as error:
            raise RagError(f"{self.base_url} did not answer ({error}): check the server and its model") from error
        # An error body under status 200 parses into a reply without choices.
        if not reply.choices or not (reply.choices[0].message.content or "").strip():
            raise RagError(f"{self.base_url} sent a reply without text for model {self.identity['model']!r}")
        usage = reply.usage
        text = reply.choices[0].message.content.strip()
        return Completion(text, usage.prompt_tokens if usage else 0, usage.completion_tokens if usage else 0)


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
