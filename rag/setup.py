"""What a profile stands for: data, retrievers and generator, each made on first use."""

from collections import defaultdict
from copy import copy
from functools import cached_property
from pathlib import Path

from rag.cache import Cache
from rag.corpus import in_collection, load_articles, load_collection, split_article
from rag.datasets.ambiguous import build_ambiguous
from rag.datasets.embedded import build_questions
from rag.datasets.published import HUB, load_questions
from rag.encoding import CachedEncoder, Encoder, SentenceEncoder
from rag.errors import RagError
from rag.generation import CachedGenerator, Generator, LanguageModel, LocalGenerator, OpenAIGenerator, Sampling
from rag.profile import Profile, TaskSettings, load_profile, resolve
from rag.progress import quiet_libraries
from rag.retrieval import Bm25Retriever, DenseRetriever, HybridRetriever, Retriever
from rag.types import Article, Passage, Question, Task


class Setup:
    """A profile brought to life. The evaluator is trained and calibrated on the embedded train and dev questions; the
    test questions and the collection are the user's own where the profile names some."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self.cache = Cache()
        self.sampling: Sampling | None = None
        self._adapted: dict[Path, LanguageModel] = {}

    def but(self, cache: Cache | None = None, sampling: Sampling | None = None) -> "Setup":
        """The same setup, with what is loaded already, but with another cache or another way to choose tokens."""
        other = copy(self)
        other.cache = cache or self.cache
        other.sampling = sampling or self.sampling
        return other

    @cached_property
    def encyclopedia(self) -> list[Article]:
        """Every embedded article."""
        return load_articles()

    @cached_property
    def articles(self) -> list[Article]:
        """The profile's sample of the embedded articles."""
        return load_articles(self.profile.articles)

    @cached_property
    def pages(self) -> dict[str, list[Passage]]:
        """The passages of every embedded article, in the collection or not."""
        return {article.id: split_article(article) for article in self.articles}

    @cached_property
    def embedded_collection(self) -> list[Passage]:
        return [passage for i, passages in self.pages.items() if in_collection(i) for passage in passages]

    @cached_property
    def collection(self) -> list[Passage]:
        """What the retriever of the tested systems sees."""
        if self.profile.collection:
            return load_collection(resolve(self.profile.collection))
        return self.embedded_collection

    @cached_property
    def all_questions(self) -> dict[Task, dict[str, list[Question]]]:
        """The embedded questions by task and split, before the profile's sample."""
        return build_questions(self.articles)

    @cached_property
    def questions(self) -> dict[Task, dict[str, list[Question]]]:
        """The profile's questions by task and split."""
        return {task: self._sample(task, settings) for task, settings in self.profile.tasks.items()}

    def _sample(self, task: Task, settings: TaskSettings) -> dict[str, list[Question]]:
        """A task's questions by split. Raises `RagError` if there are fewer than asked for."""
        chosen = {}
        for split, pool in self.all_questions[task].items():
            wanted = getattr(settings, split, len(pool))
            have = f"{len(pool)} can be built: lower that number or raise articles"
            if split == "test" and settings.source:
                source = settings.source if settings.source.startswith(HUB) else resolve(settings.source)
                pool = load_questions(source, task, wanted, getattr(settings, "page_views_below", None))
                have = f"{settings.source} holds {len(pool)}: lower that number"
            if len(pool) < wanted:
                raise RagError(
                    f"profile {self.profile.name!r} asks for {wanted} {split} questions of task {task}, {have}"
                )
            chosen[split] = pool[:wanted]
        return chosen

    @cached_property
    def all_ambiguous(self) -> dict[str, list[Question]]:
        """The ambiguous questions by split, of the whole encyclopedia: in a sample few names have two bearers left."""
        return build_ambiguous(self.encyclopedia)

    @cached_property
    def ambiguous(self) -> dict[str, list[Question]]:
        """The profile's ambiguous questions by split: as many dev and test questions as it asks for, and all of train.
        Raises `RagError` if there are fewer, or the profile asks for none."""
        settings = self.profile.ambiguous
        if settings is None:
            raise RagError(f"profile {self.profile.name!r} has no ambiguous questions: give it a section `ambiguous`")
        chosen = dict(self.all_ambiguous)
        for split in ("dev", "test"):
            pool, wanted = chosen[split], getattr(settings, split)
            have = f"{len(pool)} can be built"
            if split == "test" and settings.source:
                pool = load_questions(resolve(settings.source), Task.AMBIGUOUS, wanted)
                have = f"{settings.source} holds {len(pool)}"
            if len(pool) < wanted:
                raise RagError(
                    f"profile {self.profile.name!r} asks for {wanted} ambiguous {split} questions, {have}: "
                    "lower that number"
                )
            chosen[split] = pool[:wanted]
        return chosen

    @cached_property
    def ambiguous_collection(self) -> list[Passage]:
        """What is retrieved from for ambiguous questions: the profile's articles, in CRAG's collection or not, and all that
        its dev and test questions can mean (without some of those, a question would not be ambiguous), or the user's own."""
        if self.profile.collection:
            return self.collection
        asked = [*self.ambiguous["dev"], *self.ambiguous["test"]]
        meant = {own.article_id for question in asked for own in question.interpretations}
        sampled = {article.id for article in self.articles}
        chosen = [article for article in self.encyclopedia if article.id in meant | sampled]
        return [passage for article in chosen for passage in split_article(article)]

    @cached_property
    def ambiguous_retrievers(self) -> dict[str, Retriever]:
        """The three retrievers over that collection, by name."""
        # The embedded collections overlap.
        other = None if self.profile.collection else self.embedded_retrievers[DenseRetriever.name]
        return make_retrievers(self.ambiguous_collection, self.encoder, other)

    @property
    def ambiguous_retriever(self) -> Retriever:
        """The profile's kind of retriever over that collection."""
        return self.ambiguous_retrievers[self.profile.retriever]

    @cached_property
    def encoder(self) -> SentenceEncoder:
        return SentenceEncoder(self.profile.encoder)

    @property
    def cached_encoder(self) -> CachedEncoder:
        """The encoder for texts that come up again."""
        return CachedEncoder(self.encoder, self.cache)

    @cached_property
    def embedded_retrievers(self) -> dict[str, Retriever]:
        """The three retrievers over the embedded collection, by name: for training, calibration and comparison."""
        return make_retrievers(self.embedded_collection, self.encoder)

    @property
    def embedded_retriever(self) -> Retriever:
        """The profile's kind of retriever over the embedded collection."""
        return self.embedded_retrievers[self.profile.retriever]

    @cached_property
    def retriever(self) -> Retriever:
        """The retriever of all tested systems."""
        if self.profile.collection is None:
            return self.embedded_retriever
        return make_retrievers(self.collection, self.encoder)[self.profile.retriever]

    @cached_property
    def _language_model(self) -> LanguageModel:
        settings = self.profile.generator
        return LanguageModel(settings.model, settings.revision, precision=self.profile.precision)

    def generator(self, task: Task = Task.SHORT_ANSWER) -> Generator:
        """The generator, with the length of answers that the task takes."""
        return CachedGenerator(self.uncached_generator(self.profile.answer_tokens(task)), self.cache)

    def adapted_generator(self, adapter: Path, max_new_tokens: int, end_bias: float = 0.0) -> Generator:
        """The embedded language model with an adapter (a folder); `end_bias` as in `LocalGenerator`."""
        if adapter not in self._adapted:
            self._adapted[adapter] = LanguageModel(adapter=adapter, precision=self.profile.precision)
        batch_size = self.profile.generator.batch_size
        local = LocalGenerator(self._adapted[adapter], max_new_tokens, batch_size, self.sampling, end_bias)
        return CachedGenerator(local, self.cache)

    def uncached_generator(self, max_new_tokens: int) -> Generator:
        """The generator for any length, for use behind another cache."""
        settings = self.profile.generator
        if not settings.base_url:
            return LocalGenerator(self._language_model, max_new_tokens, settings.batch_size, self.sampling)
        if not settings.model:
            raise RagError(f"profile {self.profile.name!r}: generator.base_url needs generator.model beside it")
        return OpenAIGenerator(
            settings.base_url, settings.model, max_new_tokens, seed=self.profile.seed, sampling=self.sampling
        )


def load_setup(profile: str) -> Setup:
    """The setup of a profile by name or file: the first call of every notebook."""
    quiet_libraries()
    return Setup(load_profile(profile))


def make_retrievers(
    passages: list[Passage], encoder: Encoder, other: DenseRetriever | None = None
) -> dict[str, Retriever]:
    """BM25, dense and hybrid retrieval over the same passages; `other` as in `DenseRetriever`."""
    bm25, dense = Bm25Retriever(passages), DenseRetriever(passages, encoder, other)
    return {retriever.name: retriever for retriever in (bm25, dense, HybridRetriever(bm25, dense))}


def by_article(passages: list[Passage]) -> dict[str, list[Passage]]:
    """Passages grouped by article, in order."""
    pages = defaultdict(list)
    for passage in passages:
        pages[passage.article_id].append(passage)
    return dict(pages)
