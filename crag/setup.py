"""What a profile stands for in CRAG: training pairs, the evaluator, its thresholds, the web, the system."""

from collections.abc import Iterator
from contextlib import contextmanager

from crag.actions import Thresholds, fit_thresholds
from crag.evaluator import CachedEvaluator, Evaluator
from crag.pairs import LabelledPair, label_hits, training_pairs
from crag.system import Crag, score_hits
from crag.training import train
from crag.web.client import SearxngWeb
from crag.web.local import serve
from rag.setup import Setup


def evaluator_pairs(setup: Setup) -> list[LabelledPair]:
    """The training pairs of a profile: train questions, negatives from its retriever."""
    return training_pairs(
        setup.questions["train"], setup.pages, setup.embedded_retriever, setup.profile.evaluator.negatives
    )


def train_evaluator(setup: Setup) -> CachedEvaluator:
    """The profile's fine-tuned evaluator, trained on the first call only."""
    evaluator = train(evaluator_pairs(setup), setup.profile.evaluator, setup.profile.seed)
    return CachedEvaluator(evaluator, setup.cache)


def calibrate(setup: Setup, evaluator: Evaluator) -> Thresholds:
    """Thresholds fitted on the profile's dev questions."""
    questions = setup.questions["dev"]
    retrieved = setup.embedded_retriever.retrieve([question.text for question in questions], setup.profile.top_k)
    relevant = [any(pair.label > 0 for pair in pairs) for pairs in label_hits(questions, retrieved)]
    return fit_thresholds(score_hits(questions, retrieved, evaluator), relevant)


@contextmanager
def open_web(setup: Setup) -> Iterator[SearxngWeb]:
    """The profile's web: the SearXNG it names, or the local web, served while the context lasts."""
    settings = setup.profile.web
    if settings.url:
        yield SearxngWeb(settings.url, settings.results, settings.timeout_s)
    else:
        with serve(setup.articles, settings.port) as url:
            yield SearxngWeb(url, settings.results, settings.timeout_s, allow_private=True)


def make_crag(setup: Setup, evaluator: Evaluator, thresholds: Thresholds, web: SearxngWeb) -> Crag:
    """CRAG on the profile's collection and generator."""
    return Crag(setup.retriever, evaluator, setup.generator, web, thresholds, setup.profile.top_k)
