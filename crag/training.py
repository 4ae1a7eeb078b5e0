"""Fine-tuning of the retrieval evaluator (CRAG §4.2): all weights, or LoRA adapters merged at the end."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crag.evaluator import SCORING_BATCH, FineTunedEvaluator, encode_pairs
from crag.pairs import LabelledPair
from rag import assets
from rag.assets import build_folder
from rag.encoding import model_identity, texts_digest
from rag.errors import RagError
from rag.paths import cache_dir
from rag.profile import EvaluatorSettings
from rag.progress import training_bar

RECORD = "training.json"
MODEL_CARD = "README.md"
LOG_EVERY = 5
# Evaluations (and checkpoints) a training, and how many of them in a row may bring no lower dev loss: half of a training,
# since a new head often learns nothing for a while before the loss falls.
EVALUATIONS = 10
PATIENCE = 5


@dataclass(frozen=True)
class TrainingRecord:
    """What was trained and how it went.

    `data` is a hash of all pairs. `losses` and `dev_losses` are (step, mean logistic loss); the weights are those of
    `best_step`. `dev_accuracy` is theirs where a score of 0 or more means relevant. `seconds` are wall time with the
    evaluations, since the last checkpoint where a training was resumed.
    """

    base: str
    licence: str
    settings: dict[str, Any]
    seed: int
    data: str
    trainable_params: int
    total_params: int
    pairs: int
    relevant: int
    dev_pairs: int
    steps: int
    best_step: int
    seconds: float
    losses: list[tuple[int, float]]
    dev_losses: list[tuple[int, float]]
    dev_accuracy: float

    @property
    def dev_loss(self) -> float:
        """The dev loss of the weights that were kept."""
        return dict(self.dev_losses)[self.best_step]


def train(
    pairs: Sequence[LabelledPair], dev_pairs: Sequence[LabelledPair], settings: EvaluatorSettings, seed: int
) -> FineTunedEvaluator:
    """Fine-tune an evaluator on labelled pairs, or load it if the same training was done before.

    The weights of the lowest dev loss are kept, and training stops once it no longer falls. The loss decides, not the
    accuracy: it needs no cut, and on some hundred pairs it tells checkpoints apart whose accuracies are equal.

    The folder's name is a hash of all that went in: pairs, settings and seed. A killed training goes on from its
    last checkpoint, with the same outcome. Raises `RagError` without pairs of both kinds to train on and some to
    develop on.
    """
    if len({labelled.label for labelled in pairs}) < 2 or not dev_pairs:
        raise RagError("an evaluator needs training pairs of both labels and dev pairs: take more questions")
    base = model_identity(settings.model) if settings.model else assets.ENCODER.name
    data = texts_digest(*map(repr, pairs), "dev", *map(repr, dev_pairs))
    unused = {"judged_pairs", "learning_rate" if settings.lora_rank else "lora_learning_rate"}
    digest = texts_digest(settings.model_dump_json(exclude=unused), base, str(seed), data)
    target = cache_dir() / "models" / f"evaluator-{digest}"
    checkpoints = cache_dir() / "checkpoints" / target.name

    def build(folder: Path) -> None:
        trained, tokenizer, outcome = _fit(pairs, dev_pairs, settings, seed, checkpoints)
        model = trained.merge_and_unload() if settings.lora_rank else trained
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        scores = FineTunedEvaluator(folder, settings.max_tokens).score([labelled.pair for labelled in dev_pairs])
        record = TrainingRecord(
            base=base,
            licence=f"see the licence of {base}" if settings.model else assets.ENCODER.licence,
            settings=settings.model_dump(exclude={"model", *unused}),
            seed=seed,
            data=data,
            total_params=sum(parameter.numel() for parameter in model.parameters()),
            pairs=len(pairs),
            relevant=sum(labelled.label > 0 for labelled in pairs),
            dev_pairs=len(dev_pairs),
            dev_accuracy=float(np.mean((scores >= 0) == [labelled.label > 0 for labelled in dev_pairs])),
            **outcome,
        )
        (folder / RECORD).write_text(json.dumps(asdict(record)), encoding="utf-8")
        (folder / MODEL_CARD).write_text(model_card(record), encoding="utf-8")

    build_folder(target, build)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return FineTunedEvaluator(target, settings.max_tokens)


def training_record(evaluator: FineTunedEvaluator) -> TrainingRecord:
    """The record that lies beside a trained evaluator."""
    return TrainingRecord(**json.loads((evaluator.folder / RECORD).read_text(encoding="utf-8")))


def model_card(record: TrainingRecord) -> str:
    """The README of a trained evaluator, all of it from its record."""
    rank = record.settings["lora_rank"]
    method = f"LoRA of rank {rank} on all linear layers, merged; head and pooler in full" if rank else "all weights"
    settings = ", ".join(f"{name} {value}" for name, value in record.settings.items() if value is not None)
    return f"""\
---
base_model: {record.base}
library_name: transformers
pipeline_tag: text-classification
language: en
---

# Retrieval evaluator

Tells whether a passage is about the subject of a question: the retrieval evaluator of corrective RAG (CRAG,
arXiv 2401.15884, §4.2).

## Intended use

Input: the question and `title: text` as one sequence pair of at most {record.settings["max_tokens"]} tokens. Output: a
logit z; the score is tanh(z / 2), from -1 (not relevant) to 1 (relevant). It is made for retrieved passages, and the
strips of them, of short factual questions in English. It doesn't tell whether an answer is true, and the thresholds
of CRAG's actions must be fitted for each collection and retriever.

## Training

| | |
| --- | --- |
| base | {record.base} with a new one-logit head |
| trained | {method}: {record.trainable_params:,} of {record.total_params:,} parameters |
| data | {record.pairs:,} pairs, {record.relevant:,} of them relevant; digest {record.data} |
| labels | +1 for a passage of the page of the question's subject, -1 for other passages retrieved for it |
| loss | logistic |
| settings | {settings} |
| seed | {record.seed} |
| steps | {record.steps}; the weights are of step {record.best_step}, which has the lowest dev loss |
| seconds | {record.seconds:.0f} |

## Figures on {record.dev_pairs:,} dev pairs

Loss {record.dev_loss:.4f}; accuracy {record.dev_accuracy:.1%} where a score of 0 or more means relevant.

## Licence

That of the base: {record.licence}.
"""


def _load(settings: EvaluatorSettings):
    """The model to train, with a new one-logit head, and its tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    start = settings.model or str(assets.encoder_folder())
    model = AutoModelForSequenceClassification.from_pretrained(start, num_labels=1)
    if rank := settings.lora_rank:
        from peft import LoraConfig, get_peft_model

        adapters = LoraConfig(
            task_type="SEQ_CLS",
            r=rank,
            lora_alpha=2 * rank,
            target_modules="all-linear",
            modules_to_save=head_modules(model),
        )
        model = get_peft_model(model, adapters)
    return model, AutoTokenizer.from_pretrained(start)


def head_modules(model) -> list[str]:
    """The modules that LoRA must leave to full training: all but the backbone, and the backbone's pooler.

    peft itself only knows heads called classifier or score, so the new head of a T5 would stay at random. The pooler
    of a sentence encoder was of no use to it and shrinks what passes: at low rank it holds the head back (on 192 pairs
    the dev AUC was 0.75 with it at low rank, 0.80 with it trained in full, 0.81 with all weights trained).
    """
    head = [
        name
        for name, module in model.named_children()
        if name != model.base_model_prefix and any(True for _ in module.parameters())
    ]
    return head + (["pooler"] if getattr(model.base_model, "pooler", None) is not None else [])


def _fit(
    pairs: Sequence[LabelledPair],
    dev_pairs: Sequence[LabelledPair],
    settings: EvaluatorSettings,
    seed: int,
    checkpoints: Path,
):
    """Train; returns model, tokenizer and how it went, by the names of `TrainingRecord`."""
    import torch
    from datasets import Dataset
    from transformers import (
        EarlyStoppingCallback,
        PrinterCallback,
        Trainer,
        TrainingArguments,
        set_seed,
    )
    from transformers.trainer_utils import get_last_checkpoint

    set_seed(seed)
    model, tokenizer = _load(settings)
    both = [*pairs, *dev_pairs]

    def collate(rows: list[dict]) -> dict:
        chosen = [both[row["index"]] for row in rows]
        batch = encode_pairs(tokenizer, [labelled.pair for labelled in chosen], settings.max_tokens)
        return {**batch, "labels": torch.tensor([labelled.label for labelled in chosen])}

    def logistic_loss(outputs, labels, num_items_in_batch=None) -> torch.Tensor:
        # softplus(-y z) is the logistic loss for labels y in {-1, +1}.
        return torch.nn.functional.softplus(-labels * outputs.logits[:, 0]).mean()

    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(checkpoints),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            per_device_eval_batch_size=SCORING_BATCH,
            learning_rate=settings.lora_learning_rate if settings.lora_rank else settings.learning_rate,
            warmup_steps=0.1,
            lr_scheduler_type="linear",
            logging_steps=LOG_EVERY,
            eval_strategy="steps",
            eval_steps=1 / EVALUATIONS,
            save_strategy="steps",
            save_steps=1 / EVALUATIONS,
            save_total_limit=1,
            load_best_model_at_end=True,
            metric_for_best_model="eval_loss",
            greater_is_better=False,
            restore_callback_states_from_checkpoint=True,
            prediction_loss_only=True,
            report_to=[],
            seed=seed,
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_pin_memory=torch.cuda.is_available(),
            label_names=["labels"],
        ),
        train_dataset=Dataset.from_dict({"index": list(range(len(pairs)))}),
        eval_dataset=Dataset.from_dict({"index": list(range(len(pairs), len(both)))}),
        data_collator=collate,
        compute_loss_func=logistic_loss,
        callbacks=[training_bar("train"), EarlyStoppingCallback(PATIENCE)],
    )
    trainer.remove_callback(PrinterCallback)
    resume = get_last_checkpoint(checkpoints) if checkpoints.is_dir() else None
    seconds = trainer.train(resume_from_checkpoint=resume).metrics["train_runtime"]
    history = trainer.state.log_history
    return (
        model,
        tokenizer,
        {
            "trainable_params": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
            "steps": trainer.state.global_step,
            "best_step": trainer.state.best_global_step,
            "seconds": seconds,
            "losses": [(row["step"], row["loss"]) for row in history if "loss" in row],
            "dev_losses": [(row["step"], row["eval_loss"]) for row in history if "eval_loss" in row],
        },
    )
