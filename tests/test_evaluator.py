"""Pairs, baselines, and the fine-tuning of a tiny model."""

import numpy as np
import pytest

from crag import training
from crag.actions import best_cut
from crag.evaluator import CachedEvaluator, FineTunedEvaluator, LexicalEvaluator, checked
from crag.pairs import LabelledPair, Pair, label_hits, label_of, make_pair, training_pairs
from crag.training import train, training_record
from rag import assets
from rag.cache import Cache
from rag.corpus import split_article
from rag.errors import RagError
from rag.profile import EvaluatorSettings
from rag.types import Hit, Passage, Question

ON_TOPIC = Pair("When was Ada Stone born?", "Ada Stone", "Ada Stone was born in 1801.")
OFF_TOPIC = Pair("When was Ada Stone born?", "Port Azure", "A large harbour.")


class FixedRetriever:
    """Gives the same ranking to every query."""

    name = "fixed"

    def __init__(self, passages):
        self.passages = passages

    def retrieve(self, queries, k):
        return [[Hit(passage, 1.0) for passage in self.passages[:k]] for _ in queries]


def test_lexical_by_hand():
    # Five words are asked; three (ada, stone, born) or none occur: when, was... "was" occurs too.
    assert LexicalEvaluator().score([ON_TOPIC, OFF_TOPIC]).tolist() == pytest.approx([2 * 4 / 5 - 1, -1])


def test_labels_follow_the_page(articles, questions):
    own, other = split_article(articles[0])[0], split_article(articles[1])[0]
    assert label_of(questions[0], own) == 1.0
    assert label_of(questions[0], other) == -1.0
    labelled = label_hits(questions[:1], [[Hit(other, 2.0), Hit(own, 1.0)]])[0]
    assert [(pair.passage_id, pair.label) for pair in labelled] == [("Ben_Stone#0", -1.0), ("Ada_Stone#0", 1.0)]
    with pytest.raises(RagError, match="names no article"):
        label_of(Question("q", "Who?", ("x",)), own)


def test_training_pairs(articles, questions):
    pages = {article.id: split_article(article) for article in articles}
    retriever = FixedRetriever([passage for passages in pages.values() for passage in passages])
    pairs = training_pairs(questions, pages, retriever, negatives=2)
    assert [pair.label for pair in pairs] == [1.0, -1.0, -1.0] * 2
    assert pairs[0].passage_id.startswith("Ada_Stone#") and pairs[3].passage_id.startswith("Port_Azure#")
    assert all(not pair.passage_id.startswith("Ada_Stone") for pair in pairs[1:3])
    assert pairs == training_pairs(questions, pages, retriever, negatives=2)


def test_the_gold_answer_is_not_in_the_input(articles, questions):
    passage = Passage("x#0", "Title", "No year here.")
    pair = make_pair(questions[0], passage)
    assert "1801" not in pair.question + pair.document


@pytest.mark.parametrize("label", [0.0, 0.5, 2.0, float("nan")])
def test_labels_outside_plus_minus_one_are_refused(label):
    with pytest.raises(RagError, match="labels are"):
        LabelledPair(ON_TOPIC, label, "q", "p")


@pytest.mark.parametrize("scores", [[0.1], [0.1, float("nan")], [0.1, 1.2]])
def test_bad_scores_are_refused(scores):
    with pytest.raises(RagError, match="evaluator bad gave"):
        checked(np.array(scores), [ON_TOPIC, OFF_TOPIC], "bad")


def test_best_cut_by_hand():
    # Every cut above -0.2 and up to 0.4 is right for all; the grid's middle of it is near 0.1.
    assert best_cut([-0.8, -0.2, 0.4, 0.9], [False, False, True, True]) == pytest.approx(0.1, abs=0.03)


@pytest.fixture(scope="module", params=["bert", "t5"])
def tiny_model(request, tmp_path_factory):
    """A folder with a tiny untrained model of each architecture and the embedded tokenizer."""
    import torch
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForSequenceClassification,
        T5Config,
        T5ForSequenceClassification,
    )

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer = AutoTokenizer.from_pretrained(assets.encoder_folder())
    size = len(tokenizer)
    if request.param == "bert":
        config = BertConfig(
            vocab_size=size,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            num_labels=1,
        )
        BertForSequenceClassification(config).save_pretrained(folder)
    else:
        config = T5Config(
            vocab_size=size,
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            num_labels=1,
            eos_token_id=tokenizer.sep_token_id,
            decoder_start_token_id=0,
        )
        T5ForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def pairs_for_training():
    names = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn"]
    return [
        LabelledPair(Pair(f"When was {a} born?", b, f"{b} was born."), 1.0 if a == b else -1.0, a, b)
        for a in names
        for b in names[:4]
    ]


@pytest.mark.parametrize("rank", [None, 2])
def test_fine_tuning(tiny_model, cache_folder, rank):
    settings = EvaluatorSettings(model=str(tiny_model), epochs=2, batch_size=8, learning_rate=1e-3, lora_rank=rank)
    pairs = pairs_for_training()
    evaluator = train(pairs, settings, seed=5)
    record = training_record(evaluator)
    assert record.pairs == 24
    assert (record.trainable_params < record.total_params) is (rank is not None)
    assert [step for step, _ in record.losses] and all(loss > 0 for _, loss in record.losses)
    scores = evaluator.score([labelled.pair for labelled in pairs])
    assert scores.shape == (24,) and np.abs(scores).max() <= 1
    # One by one and in a batch, the scores are the same.
    assert evaluator.score([pairs[3].pair]).tolist() == [scores[3]]
    # The same training is found again; another seed is another training.
    assert train(pairs, settings, seed=5).folder == evaluator.folder
    assert train(pairs, settings, seed=6).folder != evaluator.folder
    assert not list((cache_folder / "checkpoints").iterdir())


def test_fine_tuning_is_deterministic(tiny_model, tmp_path, monkeypatch):
    settings = EvaluatorSettings(model=str(tiny_model), epochs=1, batch_size=8)
    pairs = pairs_for_training()
    found = []
    for name in ("one", "two"):
        monkeypatch.setenv("RAG_CACHE", str(tmp_path / name))
        found.append(train(pairs, settings, seed=1).score([labelled.pair for labelled in pairs]).tolist())
    assert found[0] == found[1]


def test_a_killed_training_goes_on_with_the_same_outcome(tiny_model, tmp_path, monkeypatch):
    from transformers import Trainer

    monkeypatch.setattr(training, "SAVE_EVERY", 2)
    settings = EvaluatorSettings(model=str(tiny_model), epochs=2, batch_size=8)
    pairs = pairs_for_training()
    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "whole"))
    whole = train(pairs, settings, seed=1).score([labelled.pair for labelled in pairs])

    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "killed"))
    step, steps = Trainer.training_step, []

    def counted_step(self, *args, **kwargs):
        if len(steps) == 5:
            raise KeyboardInterrupt
        steps.append(1)
        return step(self, *args, **kwargs)

    monkeypatch.setattr(Trainer, "training_step", counted_step)
    with pytest.raises(KeyboardInterrupt):
        train(pairs, settings, seed=1)
    steps.clear()
    evaluator = train(pairs, settings, seed=1)
    assert len(steps) == 2  # six steps in all, the first four were kept
    assert evaluator.score([labelled.pair for labelled in pairs]) == pytest.approx(whole, abs=1e-4)


def test_a_missing_evaluator_folder_is_named(tmp_path):
    with pytest.raises(RagError, match="run notebook 02_evaluator"):
        FineTunedEvaluator(tmp_path / "none", 64)


def test_cached_evaluator_scores_once(tmp_path):
    class Counting(LexicalEvaluator):
        asked = 0

        def score(self, pairs):
            self.asked += len(pairs)
            return super().score(pairs)

    plain = Counting()
    cached = CachedEvaluator(plain, Cache(tmp_path / "c.sqlite"))
    first = cached.score([ON_TOPIC, OFF_TOPIC, ON_TOPIC])
    assert first.tolist() == LexicalEvaluator().score([ON_TOPIC, OFF_TOPIC, ON_TOPIC]).tolist()
    cached.score([OFF_TOPIC])
    assert plain.asked == 2
    assert cached.score([]).shape == (0,)
