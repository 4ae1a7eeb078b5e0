"""Low-rank adapters for the language model: training them, and where the trained ones lie.

An adapter is a folder with the weights (safetensors, half precision), the tokens that it adds to the model's vocabulary
and a record of its training. Those that the project needs are kept in git under `data/adapters/`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from rag.assets import build_folder
from rag.encoding import texts_digest
from rag.generation import ADAPTER_TOKENS, LanguageModel
from rag.paths import BUILD
from rag.progress import training_bar

RECORD = "training.json"
LOG_EVERY = 10
TARGETS = "all-linear"


@dataclass(frozen=True)
class Example:
    """A text to learn from, in pieces; the loss is taken over the pieces marked True alone."""

    pieces: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces)


@dataclass(frozen=True)
class AdapterSettings:
    """How an adapter is trained; `rank` is LoRA's r, its alpha is twice that."""

    rank: int = 8
    learning_rate: float = 1e-3
    batch_size: int = 4
    epochs: int = 1
    seed: int = 0


@dataclass(frozen=True)
class AdapterRecord:
    """What an adapter was trained on and how it went; `losses` are (step, training loss), seconds are wall time."""

    base: str
    settings: AdapterSettings
    examples: int
    examples_digest: str
    trainable_params: int
    seconds: float
    losses: list[tuple[int, float]]
    dev_loss: float

    def summary(self, name: str) -> pd.DataFrame:
        """The record as a column of this name, for a notebook."""
        return pd.DataFrame(
            {
                name: {
                    "start": self.base,
                    "training examples": self.examples,
                    "trained parameters": f"{self.trainable_params:,}",
                    "training loss, first and last": f"{self.losses[0][1]:.3f}, {self.losses[-1][1]:.3f}",
                    "dev loss": f"{self.dev_loss:.3f}",
                    "seconds": self.seconds,
                }
            }
        )


def train_adapter(
    lm: LanguageModel,
    examples: Sequence[Example],
    dev: Sequence[Example],
    new_tokens: Sequence[str],
    settings: AdapterSettings,
    target: Path,
) -> Path:
    """Train an adapter on `examples` and write it to the folder `target`, if it isn't there.

    `new_tokens` are added to the vocabulary; their rows of the (tied) embedding are trained along (peft's trainable
    token indices) and saved with the adapter. `lm` itself is changed by the training: load the adapter for use.
    """

    def build(folder: Path) -> None:
        model, record = _fit(lm, examples, dev, new_tokens, settings)
        # Half precision halves the file; the trained values lose nothing that shows in the outputs.
        model.half().save_pretrained(folder, save_embedding_layers=False)
        (folder / "README.md").unlink(missing_ok=True)
        config = json.loads((folder / "adapter_config.json").read_text())
        # peft writes the path of the base here, which means nothing on another machine.
        config["base_model_name_or_path"] = record.base
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        (folder / ADAPTER_TOKENS).write_text(json.dumps(list(new_tokens), indent=2) + "\n")
        (folder / RECORD).write_text(json.dumps(asdict(record), indent=2) + "\n")

    return build_folder(target, build)


def adapter_record(folder: Path) -> AdapterRecord:
    """The record that lies beside a trained adapter."""
    record = json.loads((folder / RECORD).read_text())
    return AdapterRecord(**{**record, "settings": AdapterSettings(**record["settings"])})


def encode_example(tokenizer, example: Example) -> dict[str, list[int]]:
    """Token ids and labels, with the end token; -100 is what the loss passes over."""
    ids: list[int] = []
    labels: list[int] = []
    for piece, learnt in example.pieces:
        own = tokenizer.encode(piece, add_special_tokens=False)
        ids += own
        labels += own if learnt else [-100] * len(own)
    return {"input_ids": [*ids, tokenizer.eos_token_id], "labels": [*labels, tokenizer.eos_token_id]}


def _fit(lm, examples, dev, new_tokens, settings):
    """Train; returns the peft model and the record."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig, get_peft_model
    from transformers import DataCollatorForSeq2Seq, PrinterCallback, Trainer, TrainingArguments, set_seed

    set_seed(settings.seed)
    tokenizer, model = lm.loaded
    spelt = [tokenizer.encode(re.sub(r"\W+", " ", token).strip(), add_special_tokens=False) for token in new_tokens]
    tokenizer.add_tokens(list(new_tokens), special_tokens=True)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    # A new token starts as the mean of the tokens of its words: from a random start most of a short training is spent on it.
    rows = model.get_input_embeddings().weight.data
    for token, words in zip(new_tokens, spelt, strict=True):
        rows[tokenizer.convert_tokens_to_ids(token)] = rows[words].mean(dim=0)
    model = get_peft_model(
        model,
        LoraConfig(
            task_type="CAUSAL_LM",
            r=settings.rank,
            lora_alpha=2 * settings.rank,
            target_modules=TARGETS,
            trainable_token_indices=tokenizer.convert_tokens_to_ids(list(new_tokens)) or None,
        ),
    )

    def encoded(part: Sequence[Example]) -> Dataset:
        return Dataset.from_list([encode_example(tokenizer, example) for example in part])

    class AnswerTrainer(Trainer):
        """Takes the logits of learnt positions alone: nine in ten are of texts that are only read."""

        def compute_loss(self, model, inputs, return_outputs=False, **_):
            base = model.get_base_model()
            learnt = inputs["labels"][:, 1:] != -100
            states = base.get_decoder()(inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
            logits = base.get_output_embeddings()(states[:, :-1][learnt])
            loss = torch.nn.functional.cross_entropy(logits.float(), inputs["labels"][:, 1:][learnt])
            return (loss, {"logits": logits}) if return_outputs else loss

        def prediction_step(self, model, inputs, *_, **__):
            with torch.no_grad():
                return self.compute_loss(model, inputs), None, None

    trainer = AnswerTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(BUILD / "adapter"),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            per_device_eval_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            warmup_steps=0.05,
            train_sampling_strategy="group_by_length",
            logging_steps=LOG_EVERY,
            save_strategy="no",
            report_to=[],
            seed=settings.seed,
            disable_tqdm=True,
            dataloader_pin_memory=torch.cuda.is_available(),
        ),
        train_dataset=encoded(examples),
        eval_dataset=encoded(dev),
        data_collator=DataCollatorForSeq2Seq(tokenizer, padding=True),
        callbacks=[training_bar("train adapter")],
    )
    trainer.remove_callback(PrinterCallback)
    seconds = trainer.train().metrics["train_runtime"]
    record = AdapterRecord(
        base=lm.identity["model"],
        settings=settings,
        examples=len(examples),
        examples_digest=texts_digest(*(example.text for example in examples)),
        trainable_params=sum(p.numel() for p in model.parameters() if p.requires_grad),
        seconds=round(seconds),
        losses=[(row["step"], row["loss"]) for row in trainer.state.log_history if "loss" in row],
        dev_loss=trainer.evaluate()["eval_loss"],
    )
    return model, record
