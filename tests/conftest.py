"""What several tests need: a private cache for stage results, and small real and made-up data."""

import pytest
from hypothesis import HealthCheck, settings

from rag.types import Article, Completion, Question

# On a busy machine drawing examples may take long, which says nothing of the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def articles():
    """Four articles in our own words, of which two share a surname."""
    return [
        Article("Ada_Stone", "Ada Stone", "English chemist (1801–1870)", ADA, "People"),
        Article("Ben_Stone", "Ben Stone", "Welsh painter (1900–1950)", BEN, "People"),
        Article("Port_Azure", "Port Azure", "Capital of Azuria", PORT, "Geography"),
        Article("Azuria", "Azuria", "Country in Western Africa", AZURIA, "Geography"),
    ]


ADA = (
    "Ada Maria Stone was an English chemist who worked on dyes. She discovered a bright blue dye in her own garden shed. "
    "Later in life Stone taught at a small school by the sea. Her notes were lost in a fire."
)
BEN = "Ben Stone was a Welsh painter of harbours. His pictures hang in the town hall of Port Azure."
PORT = "Port Azure is the capital of Azuria. It lies on the river Blue and has a large harbour."
AZURIA = "Azuria is a country in Western Africa. Most of its people live by the river Blue."


@pytest.fixture
def questions():
    """Two questions on the articles above."""
    return [
        Question("q1", "When was the chemist Ada Stone born?", ("1801",), "Ada_Stone", "birth year"),
        Question("q2", "What is the capital of Azuria?", ("Port Azure",), "Port_Azure", "capital", "description"),
    ]


class EchoGenerator:
    """Answers with the last line of the prompt and remembers what it was asked."""

    identity = {"model": "echo"}

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [Completion(prompt.splitlines()[-1], len(prompt), 1) for prompt in prompts]


@pytest.fixture
def echo():
    """A generator that needs no model."""
    return EchoGenerator()


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory):
    """A folder with a random model of a few thousand parameters and the embedded tokenizer, without a chat template."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from rag import assets

    folder = tmp_path_factory.mktemp("llama")
    tokenizer = AutoTokenizer.from_pretrained(assets.generator_folder())
    tokenizer.chat_template = None
    torch.manual_seed(0)
    size = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.5,
        **size,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def real_articles():
    """The embedded encyclopedia."""
    from rag.corpus import load_articles

    return load_articles()


@pytest.fixture(scope="session")
def real_questions(real_articles):
    """The embedded questions by task and split."""
    from rag.datasets.embedded import build_questions

    return build_questions(real_articles)
