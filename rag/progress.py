"""Progress bars that stay quiet: one line every half minute, so executed notebooks aren't filled with them."""

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def quiet_libraries() -> None:
    """Silence the libraries' own bars and their remarks on things that are as we want them."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", message="IProgress not found")
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers|peft|torch")
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()


def bar(name: str, total: int) -> tqdm:
    """A bar to be moved by hand."""
    return tqdm(desc=name, total=total, mininterval=30, maxinterval=60, leave=False, ascii=True, ncols=80)


def progress(items: Sequence[Item], name: str) -> Iterator[Item]:
    """Iterate with an estimate of the time left; a single step shows nothing."""
    if len(items) < 2:
        yield from items
        return
    with bar(name, len(items)) as shown:
        for item in items:
            yield item
            shown.update()


def training_bar(name: str):
    """A callback for the Hugging Face trainer that shows its steps on a bar."""
    from transformers import TrainerCallback

    class Bar(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            self.bar = bar(name, state.max_steps)

        def on_step_end(self, args, state, control, **_):
            self.bar.update()

        def on_train_end(self, args, state, control, **_):
            self.bar.close()

    return Bar()
