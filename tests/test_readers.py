"""Readers: what they take out of texts."""

import numpy as np
import pytest

from rag.errors import RagError
from rag.scoring.readers import ExtractiveReader, LexicalReader, best_span

WORDS = "[PAD] [UNK] [CLS] [SEP] when was ada stone born in may 18 ##01 it rained .".split()


def save_reader(folder, pointers=True):
    """A model without layers that knows hand-made words: with `pointers`, "may" starts answers, "18" ends them, and no
    answer scores between none of these and both. Otherwise its weights are random."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerFast

    ids = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=4,
        num_hidden_layers=0 if pointers else 2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=128,
        initializer_range=0.5,
    )
    model = BertForQuestionAnswering(config)
    if pointers:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            embeddings = model.bert.embeddings
            embeddings.LayerNorm.weight.fill_(1)
            for word, vector in {"may": [1, 0, -1, 0], "18": [0, 1, -1, 0], "[CLS]": [1, 1, -2, 0]}.items():
                embeddings.word_embeddings.weight[ids[word]] = torch.tensor(vector, dtype=torch.float)
            model.qa_outputs.weight[0, 0] = model.qa_outputs.weight[1, 1] = 1
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def pointer(tmp_path_factory):
    return save_reader(tmp_path_factory.mktemp("pointer"))


@pytest.fixture(scope="module")
def random_model(tmp_path_factory):
    return save_reader(tmp_path_factory.mktemp("random"), pointers=False)


ASKED = "When was Ada Stone born?"
RAIN = "It rained . "


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Ada was born in May 1801.", "May 1801"),  # widened from "18" to the whole word
        ("May it rain in 1801? It rained.", "May it rain in 1801"),
        ("  In\u00a0May 1801", "May 1801"),
        ("It rained.", ""),
        ("In 1801 it rained in May.", ""),  # an end before its start is no span: either alone is below no answer
        (f"May {RAIN * 6} 1801", ""),  # more than 15 tokens
        ("", ""),
        (" \n", ""),
        ("…", ""),
    ],
)
def test_spans_and_no_answer(pointer, text, answer):
    assert ExtractiveReader(pointer).read([ASKED], [text]) == [answer]


def test_the_question_holds_no_answer(pointer):
    assert ExtractiveReader(pointer).read(["Was Ada born in May 1801?"], ["It rained."]) == [""]


def test_long_texts_are_read_in_windows(pointer):
    reader = ExtractiveReader(pointer, max_tokens=32, stride=8)
    for before in range(0, 40, 3):
        text = f"{RAIN * before}Ada was born in May 1801 . {RAIN * 20}"
        assert reader.read([ASKED], [text]) == ["May 1801"], before
    # Without the windows the answer would be cut off.
    assert ExtractiveReader(pointer, max_tokens=32, stride=8).read([ASKED], [RAIN * 60]) == [""]


def test_answers_do_not_depend_on_the_batch(random_model):
    texts = [" ".join(WORDS[4 + (i * j) % 12] for j in range(1, 5 + 7 * i)).replace("##", "") for i in range(12)]
    questions = [" ".join(WORDS[4 : 7 + i % 5]) for i in range(12)]
    alone = ExtractiveReader(random_model, batch_size=1, max_tokens=40, stride=10)
    together = ExtractiveReader(random_model, batch_size=5, max_tokens=40, stride=10)
    found = together.read(questions, texts)
    assert found == alone.read(questions, texts)
    assert found == together.read(questions[::-1], texts[::-1])[::-1]
    assert len(set(found)) > 3
    assert all(answer in text for answer, text in zip(found, texts, strict=True))


def test_bad_readers_and_questions_are_one_line(pointer, tmp_path):
    with pytest.raises(RagError, match="cannot load reader '.*nowhere'") as caught:
        ExtractiveReader(str(tmp_path / "nowhere")).read([ASKED], ["May 1801"])
    assert "\n" not in str(caught.value)
    with pytest.raises(RagError, match="question 'When was Ada .* leaves reader .* no room"):
        ExtractiveReader(pointer, max_tokens=32, stride=8).read([f"{ASKED} {RAIN * 8}"], ["May 1801"])
    with pytest.raises(ValueError):
        ExtractiveReader(pointer).read([ASKED], [])


def test_a_reader_is_named_by_its_model():
    assert ExtractiveReader("owner/some-squad2").name == "some-squad2"
    assert ExtractiveReader("/models/mine/").name == "mine"


def test_best_span_by_hand():
    starts, ends = np.array([9.0, 1.0, 5.0, 0.0]), np.array([9.0, 4.0, 1.0, 3.0])
    inside = np.array([False, True, True, True])
    assert best_span(starts, ends, inside, 15) == (8.0, 2, 3)
    assert best_span(starts, ends, inside, 1) == (6.0, 2, 2)
    assert best_span(starts, ends, np.zeros(4, dtype=bool), 15)[0] == -np.inf
    assert best_span(np.zeros(4), np.zeros(4), inside, 15) == (0.0, 1, 1)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("When was Ada Stone born?", "Ada Stone was born in 1801 and Ben Stone in 1900.", "1801"),
        ("When was Ben Stone born?", "Ada Stone was born in 1801 and Ben Stone in 1900.", "1900"),
        ("When was the chemist Stone born?", "Ben Stone came in 1900. Stone the chemist was born in 1801.", "1801"),
        (
            "When did the painter Stone die?",
            "A chemist died in 1870. The painter Stone died on 3 May 1950.",
            "3 May 1950",
        ),
        ("When was Ada Stone born?", "Ada Stone (1801–1870) was a chemist.", "1801"),
        ("In what year did Ada Stone die?", "Ada Stone (1801-1870) was a chemist.", "1870"),
        ("What is the birth year of Ada Stone?", "Ada Stone: English chemist, born March 2, 1801.", "March 2, 1801"),
        ("How many windows has the hall?", "The hall has 1,204 windows, the tower 12.", "1,204"),
        (
            "Who discovered the blue dye?",
            "The blue dye was discovered by Ada J. Stone of Port Azure.",
            "Ada J. Stone of Port Azure",
        ),
        ("What nationality did Ada Stone have?", "Ada Stone was an English chemist.", "English"),
        ("What was Stone by profession?", "Ada Stone was a painter.", "painter"),  # not "Ada", part of the name
        ("What is the capital of Azuria?", "It rained. Port Azure is the capital of Azuria.", "Port Azure"),
        ("When was Ada Stone born?", "Ada Stone was a chemist.", ""),  # no number
        ("When was Ada Stone born?", "It was founded in 1801.", ""),  # nothing that is asked for
        ("When was Ada Stone born?", "", ""),
        ("?", "Ada Stone was born in 1801.", ""),
    ],
)
def test_the_lexical_reader(question, text, answer):
    assert LexicalReader().read([question], [text]) == [answer]


def test_the_lexical_reader_reads_each_pair_by_itself():
    questions = ["When was Ada born?", "When was Ben born?", "When was Ben born?"]
    texts = ["Ada was born in 1801. Ben was born in 1900.", "Ada was born in 1801. Ben was born in 1900.", "No idea."]
    assert LexicalReader().read(questions, texts) == ["1801", "1900", ""]
    with pytest.raises(ValueError):
        LexicalReader().read(questions, texts[:1])
