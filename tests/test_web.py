"""The client against the local web, and against servers that misbehave."""

import json
import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest

from crag.web.client import MAX_BYTES, SearxngWeb, WebError, check_address, paragraphs, parse_results
from crag.web.local import COOKIE_NOTICE, FOOTER, serve
from rag.errors import RagError


@contextmanager
def site(answer):
    """A server whose `answer(path)` gives status, headers and body (bytes or an iterable of them)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in [body] if isinstance(body, bytes) else body:
                    self.wfile.write(piece)
            except OSError:
                pass  # the client hung up, as it should

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()


HTML = {"content-type": "text/html; charset=utf-8"}
JSON = {"content-type": "application/json"}


def read(answer, timeout_s=5.0):
    with site(answer) as url:
        address = f"{url}/page"
        return SearxngWeb(url, timeout_s=timeout_s, allow_private=True).read([address])[address]


def search(answer):
    with site(answer) as url:
        return SearxngWeb(url).search(["one query"])[0]


def test_the_local_web_answers_and_serves(articles, cache_folder):
    with serve(articles) as url:
        web = SearxngWeb(url, results=2, allow_private=True)
        outcome, nothing = web.search(["blue dye chemist", "zzzz"])
        page = web.read([outcome.results[0].url])[outcome.results[0].url]
        missing = web.read([f"{url}/wiki/None"])[f"{url}/wiki/None"]
        bad = httpx.get(f"{url}/search", params={"q": "x"})
    assert outcome.results[0].title == "Ada Stone" and len(outcome.results) <= 2
    assert nothing.results == () and "found nothing" in nothing.error
    assert page.title == "Ada Stone"
    assert any("discovered a bright blue dye" in text for text in page.paragraphs)
    assert COOKIE_NOTICE in page.paragraphs and FOOTER in page.paragraphs  # clutter is for the evaluator to drop
    assert "answered 404" in missing.error and missing.paragraphs == ()
    assert bad.status_code == 400


def test_a_port_in_use_is_named(articles, cache_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RagError, match=f"port {port} .*web.port"), serve(articles, port):
            pass


def test_paragraphs_of_a_page():
    html = "<html><head><title>T</title></head><body><h1>Head</h1><p>Né <b>bold</b>\n text</p><p> </p><p>Two</p></body></html>"
    assert paragraphs(html.encode()) == ("Head", ("Né bold text", "Two"))
    assert paragraphs(b"<title>T</title><p>x")[0] == "T"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda path: (403, HTML, b"<p>no</p>"), "answered 403"),
        (lambda path: (429, HTML, b"<p>slow down</p>"), "answered 429"),
        (lambda path: (500, HTML, b"<p>oops</p>"), "answered 500"),
        (lambda path: (200, {"content-type": "application/pdf"}, b"%PDF"), "is application/pdf, not text/html"),
        (lambda path: (200, HTML, b"x" * (MAX_BYTES + 1)), "larger than"),
        (lambda path: (200, HTML, (b"x" * 100_000 for _ in range(10_000))), "larger than"),
        (lambda path: (302, {"location": "/page"}, b""), "more than 3 redirects"),
        (lambda path: (302, {"location": "file:///etc/passwd"}, b""), "only http and https"),
        (lambda path: (200, HTML, b""), "not a readable page"),
        (lambda path: (200, HTML, b"<div>no paragraph</div>"), "no paragraphs"),
    ],
)
def test_misbehaving_pages_give_a_reason_and_no_text(answer, says):
    page = read(answer)
    assert says in page.error
    assert page.paragraphs == ()


def test_a_slow_page_times_out():
    import time

    def drip():
        for _ in range(50):
            time.sleep(0.1)
            yield b"<p>x</p>"

    assert "took longer than 0.5 s" in read(lambda path: (200, HTML, drip()), timeout_s=0.5).error


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda path: (500, JSON, b"{}"), "answered 500"),
        (lambda path: (200, HTML, b"<p>one more step</p>"), "is text/html, not application/json"),
        (lambda path: (200, JSON, b'{"error": "rate limit"}'), "sent no search results"),
        (lambda path: (200, JSON, b"[1, 2]"), "sent no search results"),
        (lambda path: (200, JSON, b'{"results": []}'), "found nothing"),
    ],
)
def test_misbehaving_search_gives_a_reason_and_no_results(answer, says):
    outcome = search(answer)
    assert says in outcome.error
    assert outcome.results == ()


def test_wikipedia_comes_first_and_the_query_arrives_whole():
    seen = []

    def answer(path):
        seen.append(path)
        urls = ["https://a.example/x", "https://en.wikipedia.org/wiki/X", "https://b.example/x"]
        return 200, JSON, json.dumps({"results": [{"url": url, "title": url} for url in urls]}).encode()

    assert [r.url for r in search(answer).results] == [
        "https://en.wikipedia.org/wiki/X",
        "https://a.example/x",
        "https://b.example/x",
    ]
    assert httpx.URL(seen[0]).params["q"] == "one query"
    assert httpx.URL(seen[0]).params["format"] == "json"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://localhost:8080/", "http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/"],
)
def test_private_addresses_are_refused_by_default(url):
    with pytest.raises(WebError, match="private address"):
        check_address(url, allow_private=False)
    check_address(url, allow_private=True)


@pytest.mark.parametrize("url", ["ftp://example.org/", "file:///etc/passwd", "gopher://x", "http:///nohost", "page"])
def test_only_http_is_read(url):
    with pytest.raises(WebError, match="only http and https"):
        check_address(url, allow_private=True)


def test_a_page_at_a_private_address_is_refused_even_behind_a_redirect():
    with site(lambda path: (200, HTML, b"<p>secret</p>")) as url:
        page = SearxngWeb(url).read([f"{url}/page"])[f"{url}/page"]
    assert "private address" in page.error and page.paragraphs == ()


def test_a_stopped_server_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    outcome = SearxngWeb(f"http://127.0.0.1:{port}", timeout_s=1).search(["x"])[0]
    assert "failed" in outcome.error


def test_results_need_an_address():
    with pytest.raises(WebError):
        parse_results(b'{"results": [{"title": "no url"}]}', "server")
