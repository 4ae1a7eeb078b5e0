"""Fine-tuning of the retrieval evaluator (CRAG §4.2): all weights, or LoRA adapters merged at the end."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from crag.evaluator import FineTunedEvaluator, encode_pairs
from crag.pairs import LabelledPair
from rag import assets
from rag.assets import build_folder
from rag.encoding import model_identity, texts_digest
from rag.paths import cache_dir
from rag.profile import EvaluatorSettings
from rag.progress import bar

RECORD = "training.json"
LOG_EVERY = 5
SAVE_EVERY = 100


@dataclass(frozen=True)
class TrainingRecord:
    """What was trained and how it went. `losses` are (step, training loss); seconds are wall time."""

    base: str
    trainable_params: int
    total_params: int
    pairs: int
    seconds: float
    losses: list[tuple[int, float]]


def train(pairs: Sequence[LabelledPair], settings: EvaluatorSettings, seed: int) -> FineTunedEvaluator:
    """Fine-tune an evaluator on labelled pairs, or load it if the same training was done before.

    The folder's name is a hash of all that went in: pairs, settings and seed. A killed training goes on from its
    last checkpoint, with the same outcome.
    """
    base = model_identity(settings.model) if settings.model else assets.ENCODER.name
    digest = texts_digest(settings.model_dump_json(), base, str(seed), *(repr(labelled) for labelled in pairs))
    target = cache_dir() / "models" / f"evaluator-{digest}"
    checkpoints = cache_dir() / "checkpoints" / target.name

    def build(folder: Path) -> None:
        model, tokenizer, record = _fit(pairs, settings, seed, base, checkpoints)
        (model.merge_and_unload() if settings.lora_rank else model).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / RECORD).write_text(json.dumps(asdict(record)))

    build_folder(target, build)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return FineTunedEvaluator(target, settings.max_tokens)


def training_record(evaluator: FineTunedEvaluator) -> TrainingRecord:
    """The record that lies beside a trained evaluator."""
    return TrainingRecord(**json.loads((evaluator.folder / RECORD).read_text()))


def _load(settings: EvaluatorSettings):
    """The model to train, with a new one-logit head, and its tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    start = settings.model or str(assets.encoder_folder())
    model = AutoModelForSequenceClassification.from_pretrained(start, num_labels=1)
    if rank := settings.lora_rank:
        from peft import LoraConfig, get_peft_model

        adapters = LoraConfig(task_type="SEQ_CLS", r=rank, lora_alpha=2 * rank, target_modules="all-linear")
        model = get_peft_model(model, adapters)
    return model, AutoTokenizer.from_pretrained(start)


def _fit(pairs: Sequence[LabelledPair], settings: EvaluatorSettings, seed: int, base: str, checkpoints: Path):
    """Train; returns model, tokenizer and record."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed
    from transformers.trainer_utils import get_last_checkpoint

    set_seed(seed)
    model, tokenizer = _load(settings)

    def collate(rows: list[dict]) -> dict:
        chosen = [pairs[row["index"]] for row in rows]
        batch = encode_pairs(tokenizer, [labelled.pair for labelled in chosen], settings.max_tokens)
        return {**batch, "labels": torch.tensor([labelled.label for labelled in chosen])}

    def logistic_loss(outputs, labels, num_items_in_batch=None) -> torch.Tensor:
        # softplus(-y z) is the logistic loss for labels y in {-1, +1}.
        return torch.nn.functional.softplus(-labels * outputs.logits[:, 0]).mean()

    class Bar(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            self.bar = bar("train", state.max_steps)

        def on_step_end(self, args, state, control, **_):
            self.bar.update()

        def on_train_end(self, args, state, control, **_):
            self.bar.close()

    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(checkpoints),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            warmup_steps=0.1,
            lr_scheduler_type="linear",
            logging_steps=LOG_EVERY,
            save_strategy="steps",
            save_steps=SAVE_EVERY,
            save_total_limit=1,
            report_to=[],
            seed=seed,
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_pin_memory=torch.cuda.is_available(),
            label_names=["labels"],
        ),
        train_dataset=Dataset.from_dict({"index": list(range(len(pairs)))}),
        data_collator=collate,
        compute_loss_func=logistic_loss,
        callbacks=[Bar()],
    )
    trainer.remove_callback(PrinterCallback)
    resume = get_last_checkpoint(checkpoints) if checkpoints.is_dir() else None
    seconds = trainer.train(resume_from_checkpoint=resume).metrics["train_runtime"]
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    record = TrainingRecord(
        base=base,
        trainable_params=sum(size for size, trainable in sizes if trainable),
        total_params=sum(size for size, _ in sizes),
        pairs=len(pairs),
        seconds=seconds,
        losses=[(row["step"], row["loss"]) for row in trainer.state.log_history if "loss" in row],
    )
    return model, tokenizer, record
