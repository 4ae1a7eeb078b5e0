"""Fetching and pages: against the local web, and against servers that misbehave."""

import gzip
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import httpx
import pytest
from servers import HTML, site

from crag.web.client import RememberingWeb, Web
from crag.web.fetch import MAX_BYTES, PER_HOST, Body, WebError, is_public, parse_url
from crag.web.local import COOKIE_NOTICE, FOOTER, render_page, serve
from crag.web.pages import parse_page, read_pages, wall
from crag.web.providers import Searxng
from crag.web.types import Page, SearchOutcome, SearchResult
from rag.errors import RagError


def read(answer, timeout_s=5.0):
    with site(answer) as server:
        address = f"{server.url}/page"
        return read_pages([address], timeout_s, allow_private=True)[address]


def resolver(monkeypatch, *answers):
    """Let every name have the next of these lists of addresses, the last one from then on; gives the look-ups."""
    looked_up = []

    def getaddrinfo(host, *_, **__):
        addresses = answers[min(len(looked_up), len(answers) - 1)]
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return looked_up


def test_the_local_web_answers_and_serves(articles, cache_folder):
    with serve(articles) as url:
        web = Web(Searxng(url), results=2, allow_private=True)
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


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda path: (403, HTML, b"<p>no</p>"), "answered 403"),
        (lambda path: (429, HTML, b"<p>slow down</p>"), "answered 429"),
        (lambda path: (429, {"retry-after": "3600"}, b""), "answered 429"),
        (lambda path: (429, {"retry-after": "0"}, b""), "answered 429"),
        (lambda path: (500, HTML, b"<p>oops</p>"), "answered 500"),
        (lambda path: (304, {}, b""), "answered 304"),
        (lambda path: (200, {"content-type": "application/pdf"}, b"%PDF"), "is application/pdf, not text/html"),
        (lambda path: (200, {}, b"<p>x</p>"), "is of no stated type"),
        (lambda path: (200, HTML, b"x" * (MAX_BYTES + 1)), "is larger than 2,000,000 bytes"),
        (lambda path: (200, {**HTML, "content-encoding": "gzip, gzip"}, b""), "is packed as gzip, gzip"),
        (lambda path: (200, {**HTML, "content-encoding": "gzip"}, b"not packed"), "failed (DecodingError)"),
        (lambda path: (200, {**HTML, "content-encoding": "gzip"}, gzip.compress(b"x" * 9_000_000)), "is larger than"),
        (lambda path: (200, {**HTML, "content-length": "100"}, b"<p>cut</p>"), "failed (RemoteProtocolError"),
        (lambda path: (None, {}, b"no http\r\n\r\n"), "failed (RemoteProtocolError"),
        (lambda path: (302, {"location": "/page"}, b""), "sent more than 3 redirects"),
        (lambda path: (302, {"location": "file:///etc/passwd"}, b""), "only http and https"),
        (lambda path: (302, {"location": "http://[::1"}, b""), "was refused: not an address"),
        (lambda path: (200, HTML, b""), "not a readable page"),
        (lambda path: (200, HTML, b"<div>no paragraph</div>"), "has no paragraphs"),
    ],
)
def test_misbehaving_pages_give_a_reason_and_no_text(answer, says):
    page = read(answer)
    assert says in page.error and page.error.startswith("http://127.0.0.1:")
    assert (page.title, page.paragraphs) == ("", ())


def test_a_huge_page_is_left_early():
    with site(lambda path: (200, HTML, (b"x" * 100_000 for _ in range(500)))) as server:
        page = read_pages([server.url], 5, allow_private=True)[server.url]
        assert "is larger than 2,000,000 bytes" in page.error
    assert server.sent < 20_000_000  # of 50 MB; the rest lies in socket buffers


def drip(pieces):
    for piece in pieces:
        time.sleep(0.05)
        yield piece


@pytest.mark.parametrize(
    "answer",
    [
        lambda path: (200, HTML, drip([b"<p>x</p>"] * 100)),
        lambda path: (None, {}, drip([b"HTTP/1.1 200 OK\r\n", *[b"x-slow: 1\r\n"] * 100])),
        lambda path: (None, {}, drip([b""] * 100)),
        lambda path: time.sleep(0.15) or (302, {"location": "/page"}, b""),
    ],
    ids=["body", "headers", "silence", "redirects"],
)
def test_the_timeout_holds_for_a_slow_server(answer):
    started = time.monotonic()
    with site(answer) as server:
        page = read_pages([server.url], 0.4, allow_private=True)[server.url]
    assert "took longer than 0.4 s" in page.error
    assert time.monotonic() - started < 2


def test_the_timeout_holds_for_a_slow_name_server(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(1.5))
    started = time.monotonic()
    page = read_pages(["http://slow.example/"], 0.2, allow_private=True)["http://slow.example/"]
    assert "took longer than 0.2 s" in page.error
    assert time.monotonic() - started < 1.2


def test_a_host_gets_few_requests_at_once_and_all_are_answered():
    lock, now, most = Lock(), 0, 0

    def answer(path):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.03)
        with lock:
            now -= 1
        return 200, HTML, f"<p>page {path}</p>".encode()

    with site(answer) as server:
        urls = [f"{server.url}/{i}" for i in range(20)]
        pages = read_pages(urls + urls[:5], 5, allow_private=True)
    assert [page.paragraphs for page in pages.values()] == [(f"page /{i}",) for i in range(20)]
    assert list(pages) == urls
    assert most == PER_HOST
    assert len(server.seen) == 20  # an address that is named twice is read once
    assert server.seen[0][1]["user-agent"] == "crag-diva-research/0.1"


def test_a_busy_server_is_asked_once_more_if_it_says_when():
    answers = iter([(503, {"retry-after": "1"}, b""), (200, HTML, b"<p>here</p>")])
    started = time.monotonic()
    assert read(lambda path: next(answers)).paragraphs == ("here",)
    assert time.monotonic() - started >= 1
    with site(lambda path: (429, {"retry-after": "0"}, b"")) as server:
        read_pages([server.url], 5, allow_private=True)
    assert len(server.seen) == 2


def test_redirects_are_followed():
    def answer(path):
        return (301, {"location": "../new?x=1"}, b"") if path == "/page" else (200, HTML, f"<p>{path}</p>".encode())

    assert read(answer).paragraphs == ("/new?x=1",)


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.0.0.1 192.168.1.1 169.254.169.254 100.100.100.200 0.0.0.0 224.0.0.1 168.63.129.16 "
    "::1 :: fe80::1 fd00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1::".split(),
)
def test_addresses_that_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_that_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    "http://127.0.0.1/ http://localhost:8080/ http://[::1]/ http://[::ffff:127.0.0.1]/ http://2130706433/ "
    "http://0x7f.1/ http://169.254.169.254/latest/ https://127.0.0.1/".split(),
)
def test_private_addresses_are_refused_by_default(url):
    page = read_pages([url], 5, allow_private=False)[url]
    assert "was refused" in page.error and "is a private address" in page.error


@pytest.mark.parametrize(
    "url",
    "ftp://example.org/ file:///etc/passwd gopher://x http:///nohost page http://h:99999/ javascript:x "
    "http://[::1".split(),
)
def test_only_http_is_read(url):
    with pytest.raises(WebError, match=r"was refused: (only http and https|not an address)"):
        parse_url(url)
    assert "was refused" in read_pages([url], 5, allow_private=True)[url].error


def test_a_page_at_a_private_address_is_refused_even_behind_a_redirect(monkeypatch):
    # The first host counts as public, so that the redirect is what is refused.
    monkeypatch.setattr("crag.web.fetch.is_public", lambda address: address == "127.0.0.1")
    with site(lambda path: (302, {"location": "http://[::1]/secret"}, b"")) as server:
        page = read_pages([server.url], 5, allow_private=False)[server.url]
    assert "was refused: ::1 is a private address" in page.error and page.paragraphs == ()
    assert len(server.seen) == 1


def test_the_checked_address_is_the_one_connected_to(monkeypatch):
    monkeypatch.setattr("crag.web.fetch.is_public", lambda address: address == "127.0.0.1")
    looked_up = resolver(monkeypatch, ["127.0.0.1"], ["127.0.0.9"])
    with site(lambda path: (200, HTML, b"<p>public</p>")) as server:
        url = server.url.replace("127.0.0.1", "rebind.example")
        first = read_pages([url], 5, allow_private=False)[url]
        second = read_pages([url], 5, allow_private=False)[url]
    assert first.paragraphs == ("public",)
    assert "rebind.example is a private address (127.0.0.9)" in second.error
    assert looked_up == ["rebind.example"] * 2  # one look-up a request: none between check and connection
    assert server.seen[0][1]["host"] == url.removeprefix("http://")


def test_one_private_address_among_public_ones_is_enough(monkeypatch):
    resolver(monkeypatch, ["8.8.8.8", "10.0.0.1"])
    assert (
        "mixed.example is a private address (10.0.0.1)"
        in read_pages(["http://mixed.example"], 5, False).popitem()[1].error
    )


def test_the_next_address_is_tried_where_one_does_not_answer(monkeypatch):
    with site(lambda path: (200, HTML, b"<p>here</p>")) as server:
        resolver(monkeypatch, ["::1", "127.0.0.1"])
        url = server.url.replace("127.0.0.1", "two.example")
        assert read_pages([url], 5, allow_private=True)[url].paragraphs == ("here",)


def test_the_name_is_kept_in_the_tls_handshake(monkeypatch):
    resolver(monkeypatch, ["127.0.0.1"])
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def first_bytes():
            connection, _ = listening.accept()
            with connection:
                return connection.recv(4096)

        with ThreadPoolExecutor(1) as pool:
            hello = pool.submit(first_bytes)
            url = f"https://secure.example:{listening.getsockname()[1]}/"
            page = read_pages([url], 5, allow_private=True)[url]
    assert b"secure.example" in hello.result()
    assert "failed (ConnectError" in page.error


def page_of(html, charset=None):
    return parse_page(Body(html if isinstance(html, bytes) else html.encode(), charset))


def test_paragraphs_of_a_page():
    html = "<html><head><title>T</title></head><h1>Head</h1><p>Né <b>bold</b>\n text</p><p> </p><p>Two</p></html>"
    assert page_of(html) == ("Head", ("Né bold text", "Two"))
    assert page_of("<title>T</title><p>x")[0] == "T"
    assert page_of("<p>x") == ("", ("x",))


@pytest.mark.parametrize(
    ("html", "charset"),
    [
        ("<p>Zoë’s</p>".encode(), None),
        ("<p>Zoë’s</p>".encode(), "utf-8"),
        ("<p>Zoë’s</p>".encode("cp1252"), None),
        ("<p>Zoë’s</p>".encode("cp1252"), "ISO-8859-1"),
        ("<meta charset='windows-1252'><p>Zoë’s</p>".encode("cp1252"), None),
        ("<meta charset='utf-8'><p>Zoë’s</p>".encode("cp1252"), "windows-1252"),  # the header goes first
        ("<meta http-equiv=content-type content='text/html; charset=latin1'><p>Zoë’s</p>".encode("cp1252"), None),
        ("<p>Zoë’s</p>".encode(), "no-such-charset"),
        ('<?xml version="1.0" encoding="utf-8"?><html><body><p>Zoë’s</p></body></html>'.encode(), None),
    ],
)
def test_encodings(html, charset):
    assert page_of(html, charset)[1] == ("Zoë’s",)


def test_xhtml_is_read():
    headers = {"content-type": "application/xhtml+xml; charset=utf-8"}
    body = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>x</p></body></html>'
    assert read(lambda path: (200, headers, body)).paragraphs == ("x",)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<title>Just a moment...</title><h1>shop.example</h1><p>This may take a few seconds.</p>", "captcha"),
        ("<h1>Are you a robot?</h1><p>Solve the puzzle and we let you in.</p>", "captcha"),
        ("<h1>News</h1><p>Please verify that you’re human before we show this.</p>", "captcha"),
        ("<h1>One more step</h1><p>Please complete the security check to see shop.example.</p>", "captcha"),
        ("<p>We saw unusual traffic coming from your network. Try later.</p>", "captcha"),
        ("<p>Please enable JavaScript to go on.</p>", "JavaScript"),
        ("<noscript><p>You need to turn on JavaScript.</p></noscript><div id=app></div>", "JavaScript"),
        ("<h1>Before you continue to Example</h1><p>We and others use data for many ends.</p>", "cookies"),
        ("<p>You must accept cookies to read this.</p><p>Settings</p>", "cookies"),
        (
            "<h1>Access denied</h1><p>You don't have permission to access this address on our server.</p>",
            "denies access",
        ),
        (
            "<title>Attention Required! | Gate</title><h1>Sorry</h1>" + "<p>A rule of our gate was met.</p>" * 12,
            "denies access",
        ),
        ("<p>Your IP address has been blocked after many visits.</p>", "denies access"),
        ("<h1>Too many requests</h1><p>Wait a while.</p>", "limits requests"),
        ("<h1>Story</h1><p>The first lines.</p><p>Sign in to continue.</p>", "login"),
        ("<h1>404 - Not found</h1><p>Try the start page.</p>", "error page"),
        ("<h1>Oops</h1><p>The page you were looking for has moved or never was.</p>", "error page"),
    ],
)
def test_walls_and_error_pages_give_no_text(html, reason):
    with pytest.raises(WebError, match=reason):
        page_of(html)


CAPTCHA = (
    "A CAPTCHA is a test that tells humans from programs. Users solve the challenge, often a box labelled “I'm not a "
    "robot”, to prove that they are human. Some sites make visitors enable JavaScript and accept cookies first; without "
    "them access is denied. In 2014 one service began to watch for unusual traffic instead."
)
LONG = "The mill stands by the river and has been rebuilt twice since the flood of that year. "


@pytest.mark.parametrize(
    "html",
    [
        f"<h1>CAPTCHA</h1><p>{CAPTCHA}</p>",
        f"<h1>CAPTCHA</h1><p>{CAPTCHA}</p>" + f"<p>{CAPTCHA}</p>" * 5,
        "<h1>HTTP 404</h1><p>HTTP 404 means that a server could not find the requested page.</p>",
        "<h1>Access Denied (novel)</h1><p>Access Denied is a novel of 1999 about a robot in a library.</p>",
        f"<h1>Mill</h1><noscript><p>Please enable JavaScript.</p></noscript><p>{LONG * 2}</p>",
        f"<h1>Mill</h1><p>{LONG * 3}</p><p>You must accept cookies to comment.</p>",
        "<h1>One More Step to the Sea</h1>" + f"<p>{LONG}</p>" * 12,
    ],
)
def test_articles_that_mention_walls_pass(html):
    assert page_of(html)[1]


def test_no_article_of_the_encyclopedia_is_a_wall(real_articles):
    pages = [page_of(render_page(article, [])) for article in real_articles[::20]]
    assert len(pages) > 450 and all(len(texts) >= 3 for _, texts in pages)
    assert wall([], []) is None


class CountingWeb:
    """Finds one page a query, none for "bad"; remembers each call."""

    def __init__(self):
        self.searched = []
        self.fetched = []

    def search(self, queries):
        self.searched.append(list(queries))
        return [
            SearchOutcome(q, error="no answer") if q == "bad" else SearchOutcome(q, (SearchResult(f"http://w/{q}", q),))
            for q in queries
        ]

    def read(self, urls):
        self.fetched.append(list(urls))
        return {url: Page(url, "T", (f"text of {url}",)) for url in urls}


def test_each_query_and_each_address_is_asked_once():
    plain = CountingWeb()
    web = RememberingWeb(plain)
    first = web.search(["a", "bad", "a", "b"])
    assert [outcome.query for outcome in first] == ["a", "bad", "a", "b"]
    assert first[0] == first[2] and first[1].error == "no answer"
    assert [outcome.query for outcome in web.search(["c", "bad", "a"])] == ["c", "bad", "a"]
    assert [query for call in plain.searched for query in call] == ["a", "bad", "b", "c"]  # failures are kept too

    pages = web.read(["http://w/a", "http://w/b", "http://w/a"])
    assert {url: page.paragraphs for url, page in pages.items()} == {
        "http://w/a": ("text of http://w/a",),
        "http://w/b": ("text of http://w/b",),
    }
    assert list(web.read(["http://w/c", "http://w/b"])) == ["http://w/c", "http://w/b"]
    assert [url for call in plain.fetched for url in call] == ["http://w/a", "http://w/b", "http://w/c"]
    assert web.search([]) == [] and web.read([]) == {}
