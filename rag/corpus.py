"""The collection (what the retriever sees) and the web (what search sees)."""

import hashlib
import json
from pathlib import Path

from sentencex import segment

from rag import assets
from rag.errors import RagError
from rag.types import Article, Passage

PASSAGE_WORDS = 50
COLLECTION_SHARE = 0.6


def fraction(text: str) -> float:
    """A fixed number in [0, 1) for a text: splits and samples by it survive reordering and new rows."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64


def sentences(text: str) -> list[str]:
    """The sentences of an English text, in order and without blanks around them."""
    return [sentence for piece in segment("en", " ".join(text.split())) if (sentence := piece.strip())]


def load_articles(limit: int | None = None) -> list[Article]:
    """The embedded encyclopedia in order of title; `limit` takes a fixed random sample of that many."""
    rows = json.loads(assets.corpus_file().read_text(encoding="utf-8")).values()
    articles = [
        Article(row["title"].replace(" ", "_"), row["title"], row["description"].strip(), extract, row["topic"])
        for row in rows
        if (extract := " ".join(row["extract"].split()))
    ]
    if limit is not None:
        articles = sorted(articles, key=lambda article: fraction(f"sample/{article.id}"))[:limit]
    return sorted(articles, key=lambda article: article.id)


def lead(article: Article) -> str:
    """The article's short description as a line of text, or nothing. It is where a person's years stand."""
    if not article.description:
        return ""
    return f"{article.title}: {article.description}{'' if article.description.endswith('.') else '.'}"


def titled(title: str, text: str) -> str:
    """A text behind the title of its page, unless it starts with it: how prompts and the evaluator see every text."""
    return text if not title or text.startswith(f"{title}:") else f"{title}: {text}"


def article_sentences(article: Article) -> list[str]:
    """The article's text as sentences: the description line first, then the extract."""
    return [line for line in [lead(article)] if line] + sentences(article.extract)


def pack(units: list[str], max_words: int) -> list[str]:
    """Join consecutive units into texts of at most `max_words` words; a longer unit stays whole."""
    texts: list[list[str]] = []
    words = 0
    for unit in units:
        size = len(unit.split())
        if not texts or words + size > max_words:
            texts.append([])
            words = 0
        texts[-1].append(unit)
        words += size
    return [" ".join(text) for text in texts]


def split_article(article: Article) -> list[Passage]:
    """Passages of whole sentences and at most 50 words or so.

    The articles are summaries of 75 words on average: at the usual 100 words most would be one passage, and finding the
    article would be finding the answer.
    """
    texts = pack(article_sentences(article), PASSAGE_WORDS)
    return [Passage(f"{article.id}#{i}", article.title, text) for i, text in enumerate(texts)]


def in_collection(article_id: str) -> bool:
    """Whether the retriever may see this article. The web holds every article."""
    return fraction(f"collection/{article_id}") < COLLECTION_SHARE


def load_collection(path: Path) -> list[Passage]:
    """A user's own collection: one JSON object a line with `id`, `title` (may be empty) and `text`.

    Raises `RagError` that names the file and the line of the first bad row.
    """
    passages: dict[str, Passage] = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            passage = Passage(str(row["id"]), str(row.get("title", "")), str(row["text"]))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise RagError(f"{path}:{number}: not a passage with id, title and text ({error!r}): mend it") from error
        if "#" not in passage.id:
            passage = Passage(f"{passage.id}#0", passage.title, passage.text)
        if passage.id in passages:
            raise RagError(f"{path}:{number}: passage id {passage.id!r} occurs twice: ids must be unique")
        passages[passage.id] = passage
    return check_collection(list(passages.values()), str(path))


def read_lines(path: Path) -> list[str]:
    """The lines of a file of rows that are not blank. Split at newlines alone: other separators may stand inside a
    string, and a bare carriage return, which Python's text mode takes for a newline, must not shift the rows."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RagError(f"cannot read {path}: {error}") from error
    return [line for line in text.split("\n") if line.strip()]


def check_collection(passages: list[Passage], name: str) -> list[Passage]:
    """Return the passages, or raise `RagError` if there are none to retrieve from."""
    if not passages:
        raise RagError(f"collection {name} is empty: it needs at least one passage")
    return passages
