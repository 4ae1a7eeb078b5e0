"""A run's settings, validated. A profile is a YAML file: one of the four beside this module, or a user's own."""

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag.errors import RagError
from rag.paths import PROFILES, ROOT
from rag.types import Task


class Settings(BaseModel):
    """Unknown keys are refused, so that a misspelt setting can't be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskSettings(Settings):
    """How many questions of a task in each split, and how long an answer may be. `source` is a file or
    `hub:<owner>/<data set>[/<configuration>]` for the test questions (none: the embedded ones); see
    `rag/datasets/published.py`."""

    dev: int = Field(ge=1)
    test: int = Field(ge=1)
    max_new_tokens: int = Field(ge=1)
    source: str | None = None


class ShortAnswerSettings(TaskSettings):
    """Short questions; those for training are the evaluator's. `page_views_below` keeps of PopQA's questions those on
    subjects with fewer page views a month (the paper's long tail: 100)."""

    train: int = Field(ge=1)
    max_new_tokens: int = Field(24, ge=1)
    page_views_below: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _views_need_a_source(self):
        if self.page_views_below and not self.source:
            raise ValueError("page_views_below needs a source: the embedded questions have no page views")
        return self


class ClaimSettings(TaskSettings):
    """Claims that are true or false."""

    max_new_tokens: int = Field(16, ge=1)


class ChoiceSettings(TaskSettings):
    """Questions with a choice of answers."""

    max_new_tokens: int = Field(24, ge=1)


class BiographySettings(TaskSettings):
    """Biographies."""

    max_new_tokens: int = Field(96, ge=1)


class AmbiguousSettings(Settings):
    """Ambiguous questions: how many, and how long an answer may be. All of the train split is for training. `source` is a
    file of test questions (none: the embedded ones), `reader` the extractive reader of Disambig-F1 (none: the lexical
    one). So many test questions are `timed`, one at a time; the dev questions are answered with so many `seeds`."""

    dev: int = Field(ge=1)
    test: int = Field(ge=1)
    max_new_tokens: int = Field(96, ge=1)
    source: Path | None = None
    reader: str | None = None
    timed: int = Field(12, ge=1)
    seeds: int = Field(5, ge=2)


class GeneratorSettings(Settings):
    """`model` is a folder or hub name (none: the embedded one), or with `base_url` a name at that endpoint."""

    model: str | None = None
    revision: str | None = None
    base_url: str | None = None
    batch_size: int = Field(16, ge=1)


class SelfRagSettings(Settings):
    """The language model of Self-RAG: a published one by `model`, or (none) the embedded one with the adapter below
    `data/adapters/`. `delta` is the threshold of adaptive retrieval; of a biography it writes at most so many `segments`,
    keeping `beam` texts."""

    model: str | None = None
    revision: str | None = None
    batch_size: int = Field(16, ge=1)
    delta: float = Field(0.2, ge=0, le=1)
    segments: int = Field(4, ge=1)
    beam: int = Field(2, ge=1)


class EvaluatorSettings(Settings):
    """Fine-tuning of the retrieval evaluator; `model` is its start (none: the embedded MiniLM). With a `lora_rank` only
    the head and low-rank adapters of that rank are trained, at a learning rate of their own, and merged at the end.
    `judged_pairs` is on how many pairs language models are judged as evaluators."""

    model: str | None = None
    epochs: int = Field(1, ge=1)
    batch_size: int = Field(16, ge=1)
    learning_rate: float = Field(1e-4, gt=0)
    lora_rank: int | None = Field(None, ge=1)
    lora_learning_rate: float = Field(1e-3, gt=0)
    max_tokens: int = Field(192, ge=32)
    negatives: int = Field(2, ge=1, description="hard negatives for each training question")
    judged_pairs: int = Field(200, ge=2)


class WebSettings(Settings):
    """`url` is the base address of a SearXNG, `engine` another search engine; without either the local web over the
    embedded corpus is started at `port` (fixed, so that its addresses are the same in every run; 0 takes a free one).

    `allow_private` lets pages be read from addresses that aren't public. `record` keeps all searches and pages in a
    file, `replay` answers from one without a network; relative paths start at `web/` in the cache.
    """

    url: str | None = Field(None, pattern="^https?://")
    engine: Literal["serper", "google", "ddgs"] | None = None
    port: int = Field(8765, ge=0, le=65535)
    results: int = Field(5, ge=1, le=10)
    timeout_s: float = Field(10, gt=0)
    allow_private: bool = False
    rewriter: Literal["rule", "generator", "none"] = "rule"
    record: Path | None = None
    replay: Path | None = None

    @model_validator(mode="after")
    def _no_two_webs(self):
        for first, second in (("url", "engine"), ("record", "replay")):
            if getattr(self, first) and getattr(self, second):
                raise ValueError(f"{first} and {second} exclude each other: keep one")
        return self


class Profile(Settings):
    """All settings of a run; `name` names its folder of results. Tasks beside the short answers may be left out.

    `precision` is of the language models: `native` is bfloat16 on GPUs and processors that compute in it, about twice as
    fast, else float32. In `float32` the numbers are nearly the same on every machine.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    seed: int = 0
    precision: Literal["float32", "native"] = "native"
    articles: int | None = Field(None, ge=100, description="size of a sample of the embedded encyclopedia")
    collection: Path | None = Field(None, description="the user's own passages, instead of the embedded ones")
    questions: ShortAnswerSettings
    claims: ClaimSettings | None = None
    choices: ChoiceSettings | None = None
    biographies: BiographySettings | None = None
    ambiguous: AmbiguousSettings | None = None
    retriever: Literal["bm25", "dense", "hybrid"] = "hybrid"
    encoder: str | None = None
    top_k: int = Field(5, ge=1)
    generator: GeneratorSettings = GeneratorSettings()
    self_rag: SelfRagSettings = SelfRagSettings()
    evaluator: EvaluatorSettings = EvaluatorSettings()
    web: WebSettings = WebSettings()
    bootstrap_samples: int = Field(10_000, ge=100)

    @property
    def tasks(self) -> dict[Task, TaskSettings]:
        """The settings of each of CRAG's tasks that the profile has."""
        given = {
            Task.SHORT_ANSWER: self.questions,
            Task.CLAIM: self.claims,
            Task.CHOICE: self.choices,
            Task.BIOGRAPHY: self.biographies,
        }
        return {task: settings for task, settings in given.items() if settings}

    def answer_tokens(self, task: Task) -> int:
        """How long an answer of a task may be. Raises `RagError` if the profile hasn't got the task."""
        given = {**self.tasks, **({Task.AMBIGUOUS: self.ambiguous} if self.ambiguous else {})}
        if task not in given:
            raise RagError(f"profile {self.name!r} has no questions of task {task}: give it a section for them")
        return given[task].max_new_tokens

    @model_validator(mode="after")
    def _paths_exist(self):
        sources = [settings.source for settings in (*self.tasks.values(), self.ambiguous) if settings]
        for path in (self.collection, *sources):
            hub = isinstance(path, str) and path.startswith("hub:")
            if path and not hub and not resolve(path).is_file():
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
