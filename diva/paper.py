"""The paper's published numbers, from `paper.yaml` beside this module."""

from pathlib import Path
from typing import Any

import yaml


def load_paper() -> dict[str, Any]:
    """All published numbers, by table."""
    return yaml.safe_load(Path(__file__).with_name("paper.yaml").read_text(encoding="utf-8"))
