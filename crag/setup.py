"""What a profile stands for in CRAG: training pairs, the evaluator, its thresholds, the web, the system."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from crag.actions import Thresholds
from crag.calibration.data import best_scores
from crag.calibration.thresholds import best_cut, fit_action_accuracy
from crag.evaluator import (
    REASONING_TOKENS,
    CachedEvaluator,
    CosineEvaluator,
    Evaluator,
    JudgeStyle,
    LexicalEvaluator,
    LlmEvaluator,
)
from crag.factuality import claim_pairs, sentence_pairs
from crag.pairs import LabelledPair, Pair, label_hits, training_pairs
from crag.rewriting import GeneratorRewriter, NoRewriter, Rewriter, RuleRewriter
from crag.self_rag.decoding import ReflectiveModel
from crag.self_rag.training import ADAPTER
from crag.system import Corrector, Crag, score_hits
from crag.training import train
from crag.web.client import RememberingWeb, Web
from crag.web.local import serve
from crag.web.providers import Ddgs, Google, Searxng, Serper
from crag.web.recording import RecordingWeb, ReplayWeb
from crag.web.types import WebSearch
from rag.generation import LanguageModel
from rag.paths import cache_dir
from rag.profile import EvaluatorSettings
from rag.scoring.factscore import FactScorer, RuleSplitter, ScoreJudge
from rag.setup import Setup, by_article
from rag.systems import GeneratorReader
from rag.types import Hit, Passage, Question, Task

LORA_RANK = 16
ENGINES = {"serper": Serper, "google": Google, "ddgs": Ddgs}


def evaluator_pairs(setup: Setup, split: str) -> list[LabelledPair]:
    """The pairs of a profile to train on and to stop on: train or dev questions, negatives from its retriever."""
    questions = setup.questions[Task.SHORT_ANSWER][split]
    return training_pairs(questions, setup.pages, setup.embedded_retriever, setup.profile.evaluator.negatives)


def train_evaluator(setup: Setup) -> CachedEvaluator:
    """The profile's fine-tuned evaluator, trained on the first call only."""
    return _trained(setup, setup.profile.evaluator)


def train_lora_evaluator(setup: Setup) -> CachedEvaluator:
    """The same with LoRA, for comparison: of rank 16 where the profile sets none."""
    rank = setup.profile.evaluator.lora_rank or LORA_RANK
    return _trained(setup, setup.profile.evaluator.model_copy(update={"lora_rank": rank}))


def _trained(setup: Setup, settings: EvaluatorSettings) -> CachedEvaluator:
    pairs, dev_pairs = evaluator_pairs(setup, "train"), evaluator_pairs(setup, "dev")
    return CachedEvaluator(train(pairs, dev_pairs, settings, setup.profile.seed), setup.cache)


def evaluators(setup: Setup) -> dict[str, Evaluator]:
    """The evaluators that are compared on all pairs, by their names in tables: fine-tuned ones and untrained baselines."""
    return {
        "fine-tuned": train_evaluator(setup),
        "fine-tuned-lora": train_lora_evaluator(setup),
        "cosine": CachedEvaluator(CosineEvaluator(setup.encoder), setup.cache),
        "lexical": LexicalEvaluator(),
    }


def llm_judges(setup: Setup) -> dict[str, Evaluator]:
    """The profile's generator as an evaluator, a style of prompt each, by their names in tables."""
    generator = setup.uncached_generator(REASONING_TOKENS)
    return {f"llm-{style}": CachedEvaluator(LlmEvaluator(generator, style), setup.cache) for style in JudgeStyle}


def embedded_questions(setup: Setup, task: Task, split: str) -> list[Question]:
    """The embedded questions of a task and split, as many as the profile asks for, whatever its own test questions are."""
    return setup.all_questions[task][split][: getattr(setup.profile.tasks[task], split)]


def embedded_hits(setup: Setup, questions: list[Question]) -> list[list[Hit]]:
    """What the profile's kind of retriever finds for each question in the embedded collection."""
    return setup.embedded_retriever.retrieve([question.text for question in questions], setup.profile.top_k)


def dev_scores(setup: Setup, evaluator: Evaluator, task: Task) -> tuple[list[list[float]], list[bool]]:
    """For a task's dev questions the scores of the retrieved passages, and whether any of these is relevant."""
    questions = setup.questions[task]["dev"]
    retrieved = embedded_hits(setup, questions)
    relevant = [any(pair.label > 0 for pair in pairs) for pairs in label_hits(questions, retrieved)]
    return score_hits(questions, retrieved, evaluator), relevant


def calibrate(setup: Setup, evaluator: Evaluator, task: Task = Task.SHORT_ANSWER) -> Thresholds:
    """Thresholds fitted on a task's dev questions."""
    return fit_action_accuracy(*dev_scores(setup, evaluator, task))


def single_threshold(setup: Setup, evaluator: Evaluator, task: Task) -> float:
    """The best one threshold between Correct and Incorrect, fitted on a task's dev questions."""
    scores, relevant = dev_scores(setup, evaluator, task)
    return best_cut(best_scores(scores), relevant)


def train_judge(setup: Setup) -> ScoreJudge:
    """The local judge of facts, trained on claims and biographies of the train articles."""
    pairs = {split: list(factuality_pairs(setup, split)) for split in ("train", "dev")}
    evaluator = train(pairs["train"], pairs["dev"], setup.profile.evaluator, setup.profile.seed)
    cached = CachedEvaluator(evaluator, setup.cache)

    def score(facts: list[tuple[str, Passage]]) -> np.ndarray:
        return cached.score([Pair(fact, passage.title, passage.text) for fact, passage in facts])

    return ScoreJudge(score, 0.0, cached.identity)


def factuality_pairs(setup: Setup, split: str) -> Iterator[LabelledPair]:
    """The judge's pairs of a split: half as many claims as there are questions, a tenth as many people."""
    size = getattr(setup.profile.questions, split)
    yield from claim_pairs(setup.all_questions[Task.CLAIM][split][: size // 2], setup.pages)
    yield from sentence_pairs(setup.all_questions[Task.BIOGRAPHY][split][: size // 10], setup.pages)


def fact_scorer(setup: Setup) -> FactScorer:
    """FActScore as the embedded stack has it: facts by rule, a trained judge, the embedded pages."""
    pages = setup.pages if setup.profile.collection is None else setup.pages | by_article(setup.collection)
    return FactScorer(RuleSplitter(), train_judge(setup), pages, setup.encoder)


def reflective_model(setup: Setup) -> ReflectiveModel:
    """The language model of Self-RAG: the published one that the profile names, or the embedded one with its adapter."""
    settings = setup.profile.self_rag
    adapter = None if settings.model else ADAPTER
    lm = LanguageModel(settings.model, settings.revision, adapter, setup.profile.precision)
    return ReflectiveModel(lm, setup.cache, settings.batch_size)


@contextmanager
def open_web(setup: Setup) -> Iterator[WebSearch]:
    """The profile's web: a recording, the engine it names, or the local web, served while the context lasts."""
    settings = setup.profile.web
    folder = cache_dir() / "web"
    if settings.replay:
        yield ReplayWeb(folder / settings.replay.expanduser())
        return
    with ExitStack() as stack:
        if settings.engine:
            engine = ENGINES[settings.engine]()
        else:
            engine = Searxng(settings.url or stack.enter_context(serve(setup.articles, settings.port)))
        local = not (settings.engine or settings.url)
        web = Web(engine, settings.results, settings.timeout_s, settings.allow_private or local)
        yield RememberingWeb(RecordingWeb(web, folder / settings.record.expanduser()) if settings.record else web)


def make_rewriter(setup: Setup) -> Rewriter:
    """The profile's query rewriter."""
    if setup.profile.web.rewriter == "generator":
        return GeneratorRewriter(setup.generator())
    return NoRewriter() if setup.profile.web.rewriter == "none" else RuleRewriter()


def make_crag(setup: Setup, evaluator: Evaluator, thresholds: Thresholds, web: WebSearch) -> Crag:
    """CRAG for short answers on the profile's collection, generator and rewriter."""
    corrector = Corrector(setup.retriever, evaluator, make_rewriter(setup), web, thresholds, setup.profile.top_k)
    return Crag(corrector, GeneratorReader(setup.generator()))
