"""Where things lie. Every path starts from the repository root, never from the caller's folder."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
ADAPTERS = ROOT / "data" / "adapters"
RESULTS = ROOT / "data" / "results"
FIGURES = ROOT / "figures"
BUILD = ROOT / "build"
PROFILES = Path(__file__).resolve().parent / "profiles"


def cache_dir() -> Path:
    """Folder of everything that can be made again: models, indexes, stage results. `RAG_CACHE` moves it."""
    return Path(os.environ.get("RAG_CACHE", ROOT / ".cache")).expanduser().resolve()
