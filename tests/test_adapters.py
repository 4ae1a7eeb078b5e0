"""Adapters: what is learnt of an example, and the training of a tiny model from its examples to its use."""

import pytest

from rag import adapters
from rag.adapters import AdapterRecord, AdapterSettings, Example, adapter_record, encode_example, train_adapter
from rag.encoding import texts_digest
from rag.errors import RagError
from rag.generation import ADAPTER_TOKENS, ADAPTER_WEIGHTS, LanguageModel

NEW = ["[Relevant]", "<paragraph>"]
SETTINGS = AdapterSettings(rank=2, learning_rate=1e-2, batch_size=4, epochs=4, seed=3)


def example(name, year):
    return Example(((f"When was {name} born?\n<paragraph>", False), (f"[Relevant]{year}", True)))


EXAMPLES = [
    example(name, 1800 + i) for i, name in enumerate(["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal"])
]


@pytest.fixture(scope="module")
def tokenizer(tiny_llama):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_llama)
    tokenizer.add_tokens(NEW, special_tokens=True)
    return tokenizer


def test_only_the_marked_pieces_and_the_end_are_learnt(tokenizer):
    pieces = (("Read this.", False), ("[Relevant]", True), (" more text ", False), ("1801", True))
    encoded = encode_example(tokenizer, Example(pieces))
    learnt = [token for token in encoded["labels"] if token != -100]
    assert tokenizer.decode(learnt) == "[Relevant]1801<|im_end|>"
    assert tokenizer.decode(encoded["input_ids"]) == "Read this.[Relevant] more text 1801<|im_end|>"
    read, new, between = (len(tokenizer.encode(text)) for text in ("Read this.", "[Relevant]", " more text "))
    assert new == 1
    passed_over = [i for i, label in enumerate(encoded["labels"]) if label == -100]
    assert passed_over == [*range(read), *range(read + 1, read + 1 + between)]
    assert all(label in (-100, token) for label, token in zip(encoded["labels"], encoded["input_ids"], strict=True))


def trained(tiny_llama, folder, settings=SETTINGS):
    return train_adapter(LanguageModel(str(tiny_llama)), EXAMPLES, EXAMPLES[:4], NEW, settings, folder)


@pytest.fixture(scope="module")
def adapter(tiny_llama, tmp_path_factory):
    """A trained adapter, with its loss every second step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapters, "LOG_EVERY", 2)
        return trained(tiny_llama, tmp_path_factory.mktemp("adapter") / "tiny")


def mean_loss(lm, examples):
    """Mean negative log-likelihood of the learnt tokens, by a plain forward pass an example."""
    import torch

    tokenizer, model = lm.loaded
    losses = []
    for one in examples:
        encoded = encode_example(tokenizer, one)
        with torch.inference_mode():
            logits = model(torch.tensor([encoded["input_ids"]])).logits[0].log_softmax(-1)
        losses += [-float(logits[i - 1, label]) for i, label in enumerate(encoded["labels"]) if label != -100]
    return sum(losses) / len(losses)


def test_an_adapter_is_a_few_small_files(adapter):
    from safetensors import safe_open

    names = {"adapter_config.json", ADAPTER_TOKENS, ADAPTER_WEIGHTS, "training.json"}
    assert {path.name for path in adapter.iterdir()} == names
    with safe_open(adapter / ADAPTER_WEIGHTS, "pt") as weights:
        tensors = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118
        # Of the embedding of 49,152 rows only the two new ones are there.
        assert max(max(tensor.get_shape()) for tensor in tensors.values()) == 16
        rows = [tensor.get_shape() for name, tensor in tensors.items() if "embed" in name]
        assert rows == [[2, 8]]
        assert {tensor.get_dtype() for tensor in tensors.values()} == {"F16"}
    assert (adapter / ADAPTER_WEIGHTS).stat().st_size < 20_000
    # No path of this machine is in it.
    assert str(adapter.parent) not in (adapter / "adapter_config.json").read_text()


def test_the_record_tells_what_was_trained(adapter):
    record = adapter_record(adapter)
    assert record.settings == SETTINGS
    assert record.examples == 8
    assert record.examples_digest == texts_digest(*(example.text for example in EXAMPLES))
    # Two layers: four matrices of 8 x 8 and three of 8 x 16 at rank 2; two rows of 8.
    assert record.trainable_params == 2 * (4 * 2 * (8 + 8) + 3 * 2 * (8 + 16)) + 2 * 8
    assert "llama" in record.base
    steps, losses = zip(*record.losses, strict=True)
    assert steps == (2, 4, 6, 8)
    assert losses[-1] < losses[0] - 0.5


def test_a_loaded_adapter_is_what_was_trained(adapter, tiny_llama):
    lm = LanguageModel(str(tiny_llama), adapter=adapter)
    learnt = mean_loss(lm, EXAMPLES[:4])
    # Half precision moves the third decimal at most; the dev loss is a mean over one batch.
    assert learnt == pytest.approx(adapter_record(adapter).dev_loss, abs=5e-3)
    # The base alone does not know the tokens.
    base = LanguageModel(str(tiny_llama))
    assert [len(lm.loaded[0].encode(token)) for token in NEW] == [1, 1]
    assert all(len(base.loaded[0].encode(token)) > 1 for token in NEW)
    assert "adapter" in lm.identity and "adapter" not in base.identity


def test_training_is_deterministic_and_done_once(adapter, tiny_llama, tmp_path):
    again = trained(tiny_llama, tmp_path / "again")
    assert (again / ADAPTER_WEIGHTS).read_bytes() == (adapter / ADAPTER_WEIGHTS).read_bytes()
    assert adapter_record(again).dev_loss == adapter_record(adapter).dev_loss
    made = (again / ADAPTER_WEIGHTS).stat().st_mtime_ns
    assert trained(tiny_llama, again, AdapterSettings(seed=9)) == again  # it is there
    assert (again / ADAPTER_WEIGHTS).stat().st_mtime_ns == made


def test_a_new_token_starts_as_the_mean_of_its_words(tiny_llama, tmp_path):
    from safetensors.torch import load_file

    still = AdapterSettings(rank=2, learning_rate=1e-12, batch_size=8)
    adapter = train_adapter(
        LanguageModel(str(tiny_llama)), EXAMPLES, EXAMPLES[:4], ["[No support / X]"], still, tmp_path / "a"
    )
    (rows,) = [tensor for name, tensor in load_file(adapter / ADAPTER_WEIGHTS).items() if "embed" in name]
    tokenizer, model = LanguageModel(str(tiny_llama)).loaded
    words = model.get_input_embeddings().weight[tokenizer.encode("No support X")]
    assert len(words) == 3
    assert rows[0].tolist() == pytest.approx(words.mean(dim=0).tolist(), abs=1e-3)


def test_a_missing_adapter_is_named(tmp_path):
    with pytest.raises(RagError, match="no adapter in .*none: check it out again, or make it by make train"):
        LanguageModel(adapter=tmp_path / "none")


def test_the_summary_is_a_column():
    record = AdapterRecord("tiny", SETTINGS, 8, "d", 12345, 61, [(10, 1.23456), (20, 0.5), (30, 0.25)], 0.3339)
    assert record.summary("mine").to_dict() == {
        "mine": {
            "start": "tiny",
            "training examples": 8,
            "trained parameters": "12,345",
            "training loss, first and last": "1.235, 0.250",
            "dev loss": "0.334",
            "seconds": 61,
        }
    }
