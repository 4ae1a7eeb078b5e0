"""Pairs, baselines, language models as judges, and the fine-tuning of a tiny model."""

import json
import math

import numpy as np
import pytest

from crag import training
from crag.calibration.thresholds import best_cut
from crag.evaluator import (
    SHOTS,
    CachedEvaluator,
    FineTunedEvaluator,
    JudgeStyle,
    LexicalEvaluator,
    LlmEvaluator,
    checked,
)
from crag.pairs import (
    LabelledPair,
    Pair,
    label_hits,
    label_of,
    load_pairs,
    make_pair,
    sample_pairs,
    training_pairs,
)
from crag.training import MODEL_CARD, TrainingRecord, model_card, train, training_record
from rag import assets
from rag.cache import Cache
from rag.corpus import split_article
from rag.datasets.embedded import split_of
from rag.errors import RagError
from rag.profile import EvaluatorSettings
from rag.types import Completion, Hit, Passage, Question

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


def test_no_article_of_another_split_misleads_in_training(questions):
    names = [f"Other_{i}" for i in range(40)]
    retriever = FixedRetriever([Passage(f"{name}#0", name, "Some text.") for name in names])
    pages = {question.article_id: [Passage(f"{question.article_id}#0", "Own", "Text.")] for question in questions}
    pairs = training_pairs(questions, pages, retriever, negatives=20, depth=40)
    for question in questions:
        found = {p.passage_id[:-2] for p in pairs if p.question_id == question.id and p.label < 0}
        assert found and found == {n for n in names if split_of(n) == split_of(question.article_id)} and len(found) < 40


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


class FakeJudge:
    """Gives fixed likelihoods of yes and no, reasons by the prompt's question, and remembers every call."""

    identity = {"model": "fake"}

    def __init__(self, chances):
        self.chances = np.array(chances)
        self.calls = []

    def generate(self, prompts):
        self.calls.append(("generate", prompts))
        return [Completion(f"thought {i}", 1, 2) for i in range(len(prompts))]

    def next_word_probabilities(self, prompts, words):
        self.calls.append((tuple(words), prompts))
        return self.chances[: len(prompts)].reshape(len(prompts), 2)


@pytest.mark.parametrize("style", JudgeStyle)
def test_a_judge_scores_by_yes_against_no(style):
    # 0.6 / 0.8 is 0.75, mapped to 0.5; 0.01 / 0.1 is 0.1, mapped to -0.8, however little of the mass is yes or no.
    judge = FakeJudge([[0.6, 0.2], [0.01, 0.09]])
    evaluator = LlmEvaluator(judge, style)
    assert evaluator.score([ON_TOPIC, OFF_TOPIC]).tolist() == [0.5, -0.8]
    words, prompts = judge.calls[-1]
    assert words == ("yes", "no")
    # One batch for all pairs; each prompt shows its own pair, and no gold label is in the format.
    assert len(judge.calls) == (2 if style == JudgeStyle.STEP_BY_STEP else 1)
    for pair, prompt in zip([ON_TOPIC, OFF_TOPIC], prompts, strict=True):
        assert pair.document in prompt and pair.question in prompt and prompt.endswith("\nAnswer:")
    assert OFF_TOPIC.document not in prompts[0]
    assert evaluator.score([]).shape == (0,)


def test_styles_of_judging_differ_as_they_should():
    prompts = {}
    for style in JudgeStyle:
        judge = FakeJudge([[0.5, 0.5], [0.5, 0.5]])
        LlmEvaluator(judge, style).score([ON_TOPIC, OFF_TOPIC])
        prompts[style] = judge.calls[-1][1]
        if style == JudgeStyle.STEP_BY_STEP:
            kind, reasoning = judge.calls[0]
            assert kind == "generate" and ON_TOPIC.document in reasoning[0] and OFF_TOPIC.document in reasoning[1]
    # Each verdict follows the reasoning on its own pair.
    assert [f"Reasoning: thought {i}\n" in prompt for i, prompt in enumerate(prompts[JudgeStyle.STEP_BY_STEP])] == [
        True,
        True,
    ]
    assert prompts[JudgeStyle.PLAIN][0].count("Document:") == 1
    few = prompts[JudgeStyle.FEW_SHOT][0]
    assert few.count("Document:") == 5 and few.count("Answer: yes") == few.count("Answer: no") == 2
    assert all(question in few and document in few for question, document, _ in SHOTS)
    identities = [json.dumps(LlmEvaluator(FakeJudge([]), style).identity) for style in JudgeStyle]
    assert len(set(identities)) == 3 and "fake" in identities[0]


@pytest.mark.parametrize("chances", [[0.0, 0.0], [float("nan"), 0.5]])
def test_a_judge_that_says_neither_is_refused(chances):
    with pytest.raises(RagError, match="fake says neither yes nor no of the pair 'When was Ada"):
        LlmEvaluator(FakeJudge([[0.5, 0.5], chances]), JudgeStyle.PLAIN).score([ON_TOPIC, ON_TOPIC])


def write_pairs(tmp_path, *rows):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def context(label, text="A text.", title="T"):
    return {"title": title, "text": text, "label": label}


def test_pairs_from_a_file(tmp_path):
    path = write_pairs(
        tmp_path,
        {
            "id": 7,
            "question": "Who?",
            "answers": ["x"],
            "ctxs": [context(1), context(0, "Line\u2028end."), context(-1)],
        },
        {"question": "When?", "ctxs": [context(1, title="")]},
    )
    pairs = load_pairs(path)
    assert [(p.question_id, p.passage_id, p.label) for p in pairs] == [
        ("7", "7#0", 1.0),
        ("7", "7#1", -1.0),
        ("7", "7#2", -1.0),
        ("2", "2#0", 1.0),
    ]
    assert pairs[1].pair == Pair("Who?", "T", "Line\u2028end.")
    assert pairs[3].pair.document == "A text."


@pytest.mark.parametrize(
    "row",
    [
        "{",
        "[1]",
        {"question": "Who?"},
        {"question": 5, "ctxs": [context(1)]},
        {"question": "Who?", "ctxs": [context(2)]},
        {"question": "Who?", "ctxs": [context("1")]},
        {"question": "Who?", "ctxs": [context([1])]},
        {"question": "Who?", "ctxs": [context(None)]},
        {"question": "Who?", "ctxs": [{"text": "x", "label": 1}]},
        {"question": "Who?", "ctxs": [context(1, text=None)]},
        {"question": "Who?", "ctxs": ["x"]},
    ],
)
def test_malformed_pairs_are_named(tmp_path, row):
    path = write_pairs(tmp_path, {"question": "Where?", "ctxs": [context(1)]}, row)
    with pytest.raises(RagError, match=r"pairs.jsonl, row 2: a row needs question and ctxs") as caught:
        load_pairs(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": "1", "question": "Who?", "ctxs": [context(1)]}, "row 2: question id '1' occurs twice"),
        ({"question": " ", "ctxs": [context(1)]}, "row 2: question or text is empty"),
        ({"question": "Who?", "ctxs": [context(0, text="")]}, "row 2: question or text is empty"),
    ],
)
def test_pairs_that_cannot_be_used_are_named(tmp_path, row, says):
    path = write_pairs(tmp_path, {"question": "Where?", "ctxs": [context(1)]}, row)
    with pytest.raises(RagError, match=says):
        load_pairs(path)
    with pytest.raises(RagError, match="holds no pairs"):
        load_pairs(write_pairs(tmp_path, {"question": "Where?", "ctxs": []}))
    with pytest.raises(RagError, match="cannot read"):
        load_pairs(tmp_path / "none.jsonl")


def test_a_sample_of_pairs_is_fixed():
    pairs = pairs_for_training()
    sample = sample_pairs(pairs, 6)
    assert len(sample) == 6 and sample == [pair for pair in pairs if pair in sample]
    # New pairs may enter a sample, but those that stay are drawn by the same order.
    assert set(map(repr, sample_pairs(sample, 3))) == set(map(repr, sample_pairs(pairs, 3)))
    assert sample_pairs(pairs, 100) == pairs
    assert sample != pairs[:6]


def test_best_cut_by_hand():
    # Every cut above -0.2 and up to 0.4 is right for all: halfway.
    assert best_cut([-0.8, -0.2, 0.4, 0.9], [False, False, True, True]) == pytest.approx(0.1)


def make_tiny_model(folder, kind):
    """Write a tiny untrained model with the embedded tokenizer to a folder."""
    import torch
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForSequenceClassification,
        T5Config,
        T5ForSequenceClassification,
    )

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(assets.encoder_folder())
    size = len(tokenizer)
    if kind == "bert":
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


@pytest.fixture(scope="module", params=["bert", "t5"])
def tiny_model(request, tmp_path_factory):
    """A folder with a tiny model of each architecture."""
    return make_tiny_model(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    """A folder with a tiny model of the MiniLM's architecture."""
    return make_tiny_model(tmp_path_factory.mktemp("bert"), "bert")


def pairs_for_training():
    names = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn"]
    return [
        LabelledPair(Pair(f"When was {a} born?", b, f"{b} was born."), 1.0 if a == b else -1.0, a, b)
        for a in names
        for b in names[:4]
    ]


def dev_pairs():
    names = ["Gus", "Hal", "Ida"]
    return [
        LabelledPair(Pair(f"When was {a} born?", b, f"{b} was born."), 1.0 if a == b else -1.0, a, b)
        for a in names
        for b in names
    ]


def scored(evaluator, pairs):
    return evaluator.score([labelled.pair for labelled in pairs])


# A layer of the BERT: four matrices of 32 x 32, two of 32 x 64, at rank 2. Pooler and head with their biases.
BERT_LORA_PARAMS = 2 * (4 * 2 * (32 + 32) + 2 * 2 * (32 + 64)) + (32 * 32 + 32) + (32 + 1)
# A layer of the T5: attention in the encoder, two in the decoder, feed-forward in both. Head: dense and output.
T5_LORA_PARAMS = 2 * (3 * 4 * 2 * (32 + 32) + 2 * 2 * 2 * (32 + 64)) + (32 * 32 + 32) + (32 + 1)


@pytest.mark.parametrize("rank", [None, 2])
def test_fine_tuning(tiny_model, cache_folder, monkeypatch, rank):
    monkeypatch.setattr(training, "EVALUATIONS", 3)
    settings = EvaluatorSettings(
        model=str(tiny_model), epochs=2, batch_size=8, learning_rate=1e-3, lora_rank=rank, lora_learning_rate=1e-3
    )
    pairs, dev = pairs_for_training(), dev_pairs()
    evaluator = train(pairs, dev, settings, seed=5)
    record = training_record(evaluator)
    assert (record.pairs, record.relevant, record.dev_pairs, record.seed, record.steps) == (24, 4, 9, 5, 6)
    lora_params = BERT_LORA_PARAMS if "bert" in tiny_model.name else T5_LORA_PARAMS
    assert record.trainable_params == (lora_params if rank else record.total_params)
    assert [step for step, _ in record.losses] and all(loss > 0 for _, loss in record.losses)
    # Six steps, three evaluations; the weights kept are those of the lowest dev loss.
    assert [step for step, _ in record.dev_losses] == [2, 4, 6]
    assert record.dev_loss == min(loss for _, loss in record.dev_losses)
    # What was saved is what was evaluated: adapters, head and all.
    scores, labels = scored(evaluator, dev), np.array([labelled.label for labelled in dev])
    assert np.mean(np.log1p(np.exp(-labels * 2 * np.arctanh(scores)))) == pytest.approx(record.dev_loss, abs=1e-3)
    assert record.dev_accuracy == np.mean((scores >= 0) == (labels > 0))
    # One by one and in a batch, the scores are the same.
    assert evaluator.score([pairs[3].pair]).tolist() == [scored(evaluator, pairs)[3]]
    assert not list((cache_folder / "checkpoints").iterdir())

    card = (evaluator.folder / MODEL_CARD).read_text()
    assert card == model_card(record)
    method = ("LoRA of rank 2", ", lora_learning_rate 0.001") if rank else ("all weights", ", learning_rate 0.001")
    for fact in (*method, "24 pairs, 4 of them", "| seed | 5 |", f"digest {record.data}"):
        assert fact in card
    assert f"base_model: {record.base}\n" in card and str(tiny_model.parent) not in card
    assert f"Loss {record.dev_loss:.4f}; accuracy {record.dev_accuracy:.1%}" in card


def test_a_training_is_known_by_all_that_went_in(tiny_bert, cache_folder, monkeypatch):
    monkeypatch.setattr(training, "EVALUATIONS", 2)
    settings = EvaluatorSettings(model=str(tiny_bert), batch_size=24)
    pairs, dev = pairs_for_training(), dev_pairs()
    first = train(pairs, dev, settings, seed=5).folder
    made = (first / training.RECORD).stat().st_mtime_ns
    assert train(pairs, dev, settings, seed=5).folder == first
    assert train(pairs, dev, settings.model_copy(update={"judged_pairs": 7}), seed=5).folder == first
    assert train(pairs, dev, settings.model_copy(update={"lora_learning_rate": 0.5}), seed=5).folder == first
    assert (first / training.RECORD).stat().st_mtime_ns == made
    others = [
        train(pairs, dev, settings, seed=6).folder,
        train(pairs, dev[:-1], settings, seed=5).folder,
        train(pairs[:-1], dev, settings, seed=5).folder,
        train(pairs, dev, settings.model_copy(update={"learning_rate": 1e-3}), seed=5).folder,
    ]
    assert len({first, *others}) == 5


def test_training_stops_early_and_remembers_its_patience(tiny_bert, tmp_path, monkeypatch):
    from transformers import Trainer

    monkeypatch.setattr(training, "EVALUATIONS", 20)
    # Dev labels that contradict the training ones: what is learnt makes the dev loss rise.
    dev = [LabelledPair(p.pair, -p.label, p.question_id, p.passage_id) for p in pairs_for_training()]
    settings = EvaluatorSettings(model=str(tiny_bert), epochs=20, batch_size=24, learning_rate=3e-3)
    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "whole"))
    whole = training_record(train(pairs_for_training(), dev, settings, seed=0))
    assert whole.steps < 20
    assert whole.best_step == whole.steps - training.PATIENCE
    assert whole.dev_loss == min(loss for _, loss in whole.dev_losses) < whole.dev_losses[-1][1]

    # Killed at its last step, all but one of its evaluations in vain behind it, it takes that one step more.
    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "killed"))
    step, taken = Trainer.training_step, []

    def killed_once(self, *args, **kwargs):
        taken.append(1)
        if len(taken) == whole.steps:
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    monkeypatch.setattr(Trainer, "training_step", killed_once)
    with pytest.raises(KeyboardInterrupt):
        train(pairs_for_training(), dev, settings, seed=0)
    resumed = training_record(train(pairs_for_training(), dev, settings, seed=0))
    assert (resumed.steps, resumed.best_step) == (whole.steps, whole.best_step)


def test_fine_tuning_is_deterministic(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "EVALUATIONS", 2)
    settings = EvaluatorSettings(model=str(tiny_model), epochs=1, batch_size=8)
    pairs = pairs_for_training()
    found = []
    for name in ("one", "two"):
        monkeypatch.setenv("RAG_CACHE", str(tmp_path / name))
        found.append(scored(train(pairs, dev_pairs(), settings, seed=1), pairs).tolist())
    assert found[0] == found[1]


def test_a_killed_training_goes_on_with_the_same_outcome(tiny_model, tmp_path, monkeypatch):
    from transformers import Trainer

    monkeypatch.setattr(training, "EVALUATIONS", 3)
    rank = 2 if "bert" in tiny_model.name else None
    settings = EvaluatorSettings(model=str(tiny_model), epochs=2, batch_size=8, lora_rank=rank)
    pairs, dev = pairs_for_training(), dev_pairs()
    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "whole"))
    whole = train(pairs, dev, settings, seed=1)

    monkeypatch.setenv("RAG_CACHE", str(tmp_path / "killed"))
    step, steps = Trainer.training_step, []

    def counted_step(self, *args, **kwargs):
        if len(steps) == 5:
            raise KeyboardInterrupt
        steps.append(1)
        return step(self, *args, **kwargs)

    monkeypatch.setattr(Trainer, "training_step", counted_step)
    with pytest.raises(KeyboardInterrupt):
        train(pairs, dev, settings, seed=1)
    steps.clear()
    evaluator = train(pairs, dev, settings, seed=1)
    assert len(steps) == 2  # six steps in all, the first four were kept
    assert scored(evaluator, pairs) == pytest.approx(scored(whole, pairs), abs=1e-4)
    assert training_record(evaluator).best_step == training_record(whole).best_step
    assert [step for step, _ in training_record(evaluator).dev_losses] == [2, 4, 6]


@pytest.mark.parametrize(
    ("pairs", "dev"),
    [([], 1), (pairs_for_training()[:1], 1), (pairs_for_training()[1:4], 1), (pairs_for_training(), 0)],
)
def test_pairs_that_nothing_can_be_learnt_from_are_refused(pairs, dev):
    with pytest.raises(RagError, match="training pairs of both labels and dev pairs"):
        train(pairs, dev_pairs()[:dev], EvaluatorSettings(), seed=0)


def test_the_model_card_of_the_embedded_base_names_its_licence():
    record = TrainingRecord(
        base="base-1",
        licence=assets.ENCODER.licence,
        settings=EvaluatorSettings(lora_rank=4).model_dump(exclude={"model", "judged_pairs"}),
        seed=0,
        data="d",
        trainable_params=1000,
        total_params=2000,
        pairs=2,
        relevant=1,
        dev_pairs=1,
        steps=4,
        best_step=2,
        seconds=1.0,
        losses=[(1, 0.7)],
        dev_losses=[(2, math.log(2)), (4, 0.9)],
        dev_accuracy=0.875,
    )
    card = model_card(record)
    assert "Apache-2.0 (all-MiniLM-L6-v2)" in card
    assert "LoRA of rank 4" in card and "1,000 of 2,000 parameters" in card and "are of step 2" in card
    assert "Loss 0.6931; accuracy 87.5%" in card


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
