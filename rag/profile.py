"""A run's settings, validated. A profile is a YAML file: one of the four beside this module, or a user's own."""

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag.errors import RagError
from rag.paths import PROFILES, ROOT


class Settings(BaseModel):
    """Unknown keys are refused, so that a misspelt setting can't be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class QuestionSettings(Settings):
    """How many questions of each split; `source` is a JSON-lines file or `hub:<data set>` for the test questions."""

    train: int = Field(ge=1)
    dev: int = Field(ge=1)
    test: int = Field(ge=1)
    source: str | None = None


class GeneratorSettings(Settings):
    """`model` is a folder or hub name (none: the embedded one), or with `base_url` a name at that endpoint."""

    model: str | None = None
    revision: str | None = None
    base_url: str | None = None
    max_new_tokens: int = Field(24, ge=1)
    batch_size: int = Field(8, ge=1)


class EvaluatorSettings(Settings):
    """Fine-tuning of the retrieval evaluator; `model` is its start (none: the embedded MiniLM). With a `lora_rank` only
    low-rank adapters of that rank are trained, and merged at the end; they need a higher learning rate."""

    model: str | None = None
    epochs: int = Field(1, ge=1)
    batch_size: int = Field(16, ge=1)
    learning_rate: float = Field(2e-4, gt=0)
    lora_rank: int | None = Field(None, ge=1)
    max_tokens: int = Field(192, ge=32)
    negatives: int = Field(2, ge=1, description="hard negatives for each training question")


class WebSettings(Settings):
    """`url` is the base address of a SearXNG; without one the local web over the embedded corpus is started at `port`
    (fixed, so that its addresses are the same in every run; 0 takes a free one)."""

    url: str | None = None
    port: int = Field(8765, ge=0, le=65535)
    results: int = Field(5, ge=1)
    timeout_s: float = Field(10, gt=0)


class Profile(Settings):
    """All settings of a run; `name` names its folder of results."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    seed: int = 0
    articles: int | None = Field(None, ge=100, description="size of a sample of the embedded encyclopedia")
    collection: Path | None = Field(None, description="the user's own passages, instead of the embedded ones")
    questions: QuestionSettings
    retriever: Literal["bm25", "dense", "hybrid"] = "hybrid"
    encoder: str | None = None
    top_k: int = Field(5, ge=1)
    generator: GeneratorSettings = GeneratorSettings()
    evaluator: EvaluatorSettings = EvaluatorSettings()
    web: WebSettings = WebSettings()
    bootstrap_samples: int = Field(10_000, ge=100)

    @model_validator(mode="after")
    def _paths_exist(self):
        for path in (self.collection, self.questions.source):
            if path and not str(path).startswith("hub:") and not resolve(path).is_file():
                raise ValueError(f"{path} does not exist")
        return self


def resolve(path: str | Path) -> Path:
    """A path of a profile: relative ones start at the repository root."""
    return ROOT / Path(path).expanduser()


def profile_names() -> list[str]:
    """The built-in profiles."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def load_profile(name: str) -> Profile:
    """The profile of this name, or in this `.yaml` file. Raises `RagError` that names the bad setting."""
    path = resolve(name) if name.endswith((".yaml", ".yml")) else PROFILES / f"{name}.yaml"
    if not path.is_file():
        raise RagError(
            f"unknown profile {name!r}: take one of {', '.join(profile_names())}, or the path of a .yaml file"
        )
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Profile(**{"name": path.stem, **settings})
    except (yaml.YAMLError, TypeError) as error:
        raise RagError(f"{path.name} is not a YAML file of settings: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        raise RagError(f"{path.name}: {where}: {first['msg']} (see rag/profile.py for what can be set)") from error
