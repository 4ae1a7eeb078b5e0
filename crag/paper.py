"""The paper's published numbers, from `paper.yaml` beside this module."""

from pathlib import Path
from typing import Any

import yaml

from crag.actions import Thresholds


def load_paper() -> dict[str, Any]:
    """All published numbers, by table."""
    return yaml.safe_load(Path(__file__).with_name("paper.yaml").read_text(encoding="utf-8"))


def paper_thresholds() -> dict[str, Thresholds]:
    """The thresholds that the paper sets by hand, by the tasks that they are for."""
    return {tasks: Thresholds(**pair) for tasks, pair in load_paper()["thresholds"].items()}
