"""Progress bars that stay quiet: one line every half minute, so executed notebooks aren't filled with them."""

from collections.abc import Iterable, Sized
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress(items: Iterable[Item], name: str) -> Iterable[Item]:
    """Iterate with an estimate of the time left; a single step shows nothing."""
    short = isinstance(items, Sized) and len(items) < 2
    return tqdm(items, desc=name, disable=short, mininterval=30, maxinterval=60, leave=False, ascii=True, ncols=80)
