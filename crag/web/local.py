"""A local web: a real HTTP server on loopback that answers SearXNG-style searches and serves articles as pages.

It stands in for the public web where there is none. Its pages carry the clutter of real ones: navigation, notices,
teasers of other articles, a footer.
"""

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qs, quote, unquote, urlsplit

from rag.corpus import article_sentences, fraction, pack
from rag.errors import RagError
from rag.retrieval import Bm25Retriever
from rag.types import Article, Passage

RESULTS = 10
PARAGRAPH_WORDS = 60
TEASERS = 3
COOKIE_NOTICE = (
    "This site stores small files on your device to remember your settings. By reading on you agree to this."
)
FOOTER = "All content is offered as it is. Read our terms of use and our notes on privacy before you reuse any of it."


def render_page(article: Article, teasers: list[Article]) -> str:
    """An article as an HTML page."""
    body = "\n".join(f"<p>{html.escape(text)}</p>" for text in pack(article_sentences(article), PARAGRAPH_WORDS))
    menu = "".join(f'<li><a href="/{name.lower()}">{name}</a></li>' for name in ("Home", "Topics", "Random", "About"))
    others = "\n".join(
        f'<div class="teaser"><h3><a href="/wiki/{quote(other.id)}">{html.escape(other.title)}</a></h3>'
        f"<p>{html.escape(article_sentences(other)[0])}</p></div>"
        for other in teasers
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(article.title)} - Local web</title>'
        f"<style>body {{ font-family: serif }}</style></head>\n<body>\n<nav><ul>{menu}</ul></nav>\n"
        f'<div class="notice"><p>{COOKIE_NOTICE}</p></div>\n<main><h1>{html.escape(article.title)}</h1>\n{body}\n</main>\n'
        f"<aside><h2>Read more</h2>\n{others}\n</aside>\n<footer><p>{FOOTER}</p></footer>\n</body></html>\n"
    )


class LocalWeb:
    """The pages and the search engine over them, without the server."""

    def __init__(self, articles: list[Article]):
        self.articles = {article.id: article for article in articles}
        self._shuffled = sorted(articles, key=lambda article: fraction(f"teaser/{article.id}"))
        self._place = {article.id: i for i, article in enumerate(self._shuffled)}
        documents = [Passage(f"{a.id}#0", a.title, " ".join(article_sentences(a))) for a in articles]
        self._engine = Bm25Retriever(documents)
        self._lock = Lock()

    def search(self, query: str) -> list[Article]:
        """The best articles for a query."""
        # Lucene is called through one JVM bridge: one thread at a time.
        with self._lock:
            hits = self._engine.retrieve([query], RESULTS)[0]
        return [self.articles[hit.passage.article_id] for hit in hits]

    def page(self, article_id: str) -> str | None:
        """The page of an article, if there is one."""
        if article_id not in self.articles:
            return None
        start = self._place[article_id] + 1
        teasers = [
            self._shuffled[(start + i) % len(self._shuffled)] for i in range(min(TEASERS, len(self.articles) - 1))
        ]
        return render_page(self.articles[article_id], teasers)


@contextmanager
def serve(articles: list[Article], port: int = 0) -> Iterator[str]:
    """Run the local web on loopback while the context lasts; yields its base address. Port 0 takes a free one.

    Raises `RagError` if the port is in use.
    """
    web = LocalWeb(articles)
    web.search("warm up")  # builds the index and starts the JVM in this thread

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            parts = urlsplit(self.path)
            page = web.page(unquote(parts.path.removeprefix("/wiki/"))) if parts.path.startswith("/wiki/") else None
            if parts.path == "/search":
                self._search(parse_qs(parts.query))
            elif page is not None:
                self._reply(200, "text/html; charset=utf-8", page)
            else:
                self._reply(404, "text/html; charset=utf-8", "<h1>Not found</h1>")

        def _search(self, query: dict[str, list[str]]) -> None:
            text = query.get("q", [""])[0]
            if not text or query.get("format") != ["json"]:
                self._reply(400, "application/json", json.dumps({"error": "need q and format=json"}))
                return
            base = f"http://{self.headers['host']}/wiki/"
            found = [
                {"url": base + quote(a.id), "title": a.title, "content": a.description, "engine": "local"}
                for a in web.search(text)
            ]
            self._reply(200, "application/json", json.dumps({"query": text, "results": found}))

        def _reply(self, status: int, content_type: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Keep notebooks quiet."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise RagError(
            f"cannot serve the local web on port {port} ({error.strerror}): free it or set web.port in the profile"
        ) from error
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
