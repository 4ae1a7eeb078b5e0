"""Search engines: what they are asked, what they answer, and that keys stay where they belong."""

import json
import logging
import socket
import sys
from types import ModuleType

import httpx
import pytest
from servers import HTML, JSON, site

from crag.web.client import Web, on_wikipedia
from crag.web.providers import Ddgs, Google, Searxng, Serper
from crag.web.recording import RecordingWeb
from rag.errors import RagError

KEY = "made-up-key-4711"
URLS = ["https://a.example/x", "https://en.wikipedia.org/wiki/X", "https://b.example/x", "https://a.example/x"]
RANKED = ("https://en.wikipedia.org/wiki/X", "https://a.example/x", "https://b.example/x")
REPLIES = {
    "searxng": {"query": "q", "results": [{"url": url, "title": f"T {url}", "engine": "e"} for url in URLS]},
    "serper": {"searchParameters": {"q": "q"}, "organic": [{"link": url, "title": f"T {url}"} for url in URLS]},
    "google": {"kind": "search", "items": [{"link": url, "title": f"T {url}"} for url in URLS]},
}
EMPTY = {
    "searxng": {"results": [], "unresponsive_engines": []},
    "serper": {"searchParameters": {"q": "q"}, "organic": []},
    "google": {"searchInformation": {"totalResults": "0"}},
}
ENGINES = sorted(REPLIES)


@pytest.fixture
def keys(monkeypatch):
    for variable in ("SERPER_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine:7")


def make_engine(name, url, monkeypatch):
    if name == "searxng":
        return Searxng(url + "/")
    kind = {"serper": Serper, "google": Google}[name]
    monkeypatch.setattr(kind, "endpoint", f"{url}/ask")
    return kind()


def body(value):
    return lambda path: (200, JSON, json.dumps(value).encode())


@pytest.mark.parametrize("name", ENGINES)
def test_results_with_wikipedia_first_and_each_once(name, keys, monkeypatch):
    with site(body(REPLIES[name])) as server:
        all_of_them = Web(make_engine(name, server.url, monkeypatch)).search(["one query", "zwei + drei & vier"])
        two = Web(make_engine(name, server.url, monkeypatch), results=2).search(["q"])[0]
    assert [outcome.query for outcome in all_of_them] == ["one query", "zwei + drei & vier"]
    for outcome in all_of_them:
        assert tuple(result.url for result in outcome.results) == RANKED and outcome.error is None
    assert all_of_them[0].results[0].title == "T https://en.wikipedia.org/wiki/X"
    assert tuple(result.url for result in two.results) == RANKED[:2]


def test_what_each_engine_is_asked(keys, monkeypatch):
    asked = {}
    for name in ENGINES:
        with site(body(REPLIES[name])) as server:
            make_engine(name, server.url, monkeypatch).find(["zwei + drei & vier"], 5)
        asked[name] = server.seen[0]
    path, _, _ = asked["searxng"]
    assert path.startswith("/search?")
    assert dict(httpx.URL(path).params) == {"q": "zwei + drei & vier", "format": "json"}
    path, headers, sent = asked["serper"]
    assert path == "/ask" and headers["x-api-key"] == KEY
    assert json.loads(sent) == {"q": "zwei + drei & vier", "num": 10}
    path, _, _ = asked["google"]
    assert dict(httpx.URL(path).params) == {"key": KEY, "cx": "engine:7", "q": "zwei + drei & vier", "num": "10"}


FAILURES = [
    ((403, JSON, b'{"error": "no"}'), "answered 403"),
    ((429, HTML, b""), "answered 429"),
    ((500, JSON, b"{}"), "answered 500"),
    ((302, {"location": "http://elsewhere.example/?key=" + KEY}, b""), "answered 302"),
    ((200, HTML, b"<p>one more step</p>"), "is text/html, not application/json"),
    ((200, JSON, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()), "sent no search results"),
    ((200, JSON, b"[1, 2]"), "sent no search results"),
    ((200, JSON, b"null"), "sent no search results"),
    ((200, JSON, b"<html>"), "sent no search results"),
    (
        (200, JSON, b'{"results": [{"title": "no url"}], "organic": [{}], "items": [{"link": 7}]}'),
        "sent no search results",
    ),
    ((200, JSON, b'{"results": [{"url": "\\ud800"}], "organic": 5, "items": ["x"]}'), "sent no search results"),
    ((None, {}, f"{KEY}\r\n\r\n".encode()), "failed (RemoteProtocolError"),
]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("answer", "says"), FAILURES)
def test_a_failed_search_gives_a_reason_and_no_result(name, answer, says, keys, monkeypatch):
    with site(lambda path: answer) as server:
        outcome = Web(make_engine(name, server.url, monkeypatch)).search(["one query"])[0]
        assert len(server.seen) == 1
    assert says in outcome.error and outcome.results == () and KEY not in outcome.error
    assert outcome.error.startswith({"serper": "Serper ", "google": "Google ", "searxng": server.url}[name])


@pytest.mark.parametrize("name", ["serper", "google"])
def test_a_key_is_in_no_message_log_or_recording(name, keys, monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    own = [answer for answer, _ in FAILURES if KEY not in str(answer)]  # an echo is the server's own text in the log
    answers = iter([*own, (200, JSON, json.dumps(REPLIES[name]).encode())])
    with site(lambda path: next(answers)) as server:
        web = RecordingWeb(Web(make_engine(name, server.url, monkeypatch)), tmp_path / "session.jsonl")
        outcomes = [web.search([f"query {i}"])[0] for i in range(len(own) + 1)]
    outcomes += web.search(["stopped server"])
    assert [bool(outcome.error) for outcome in outcomes] == [True] * len(own) + [False, True]
    assert all(KEY in f"{path} {headers}" for path, headers, _ in server.seen)  # it did go out
    kept = (tmp_path / "session.jsonl").read_text()
    assert "query 0" in kept
    for text in (str(outcomes), caplog.text, kept, repr(web.web.engine)):
        assert KEY not in text


@pytest.mark.parametrize("name", ENGINES)
def test_an_empty_result_is_told_apart_from_a_failure(name, keys, monkeypatch):
    with site(body(EMPTY[name])) as server:
        outcome = Web(make_engine(name, server.url, monkeypatch)).search(["q"])[0]
    assert (outcome.results, outcome.error) == ((), "the search found nothing")


def test_searxng_names_the_engines_that_blocked_it():
    with site(
        body({"results": [], "unresponsive_engines": [["brave", "too many requests"], ["bing", "CAPTCHA"]]})
    ) as server:
        outcome = Web(Searxng(server.url)).search(["q"])[0]
    assert outcome.error == f"{server.url} found nothing; engines that did not answer: brave, bing"


def test_a_failure_never_reuses_another_answer():
    def answer(path):
        broken = "bad" in path
        return (
            (500, JSON, b"") if broken else (200, JSON, json.dumps({"results": [{"url": f"http://r{path}"}]}).encode())
        )

    with site(answer) as server:
        good, bad, other = Web(Searxng(server.url)).search(["good", "bad", "other"])
    assert "q=good" in good.results[0].url and "q=other" in other.results[0].url
    assert bad.results == () and "answered 500" in bad.error


def test_a_stopped_server_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    outcome = Web(Searxng(f"http://user:{KEY}@127.0.0.1:{port}"), timeout_s=1).search(["x"])[0]
    assert outcome.error.startswith(f"http://127.0.0.1:{port} failed (ConnectError") and KEY not in outcome.error


@pytest.mark.parametrize("value", [None, "", "  ", "two words", "schlüssel", "a\nb"])
@pytest.mark.parametrize(
    ("kind", "variable"), [(Serper, "SERPER_API_KEY"), (Google, "GOOGLE_API_KEY"), (Google, "GOOGLE_CSE_ID")]
)
def test_a_missing_key_is_named(kind, variable, value, keys, monkeypatch):
    monkeypatch.delenv(variable) if value is None else monkeypatch.setenv(variable, value)
    with pytest.raises(RagError, match=f"set the environment variable {variable}") as caught:
        kind()
    assert "\n" not in str(caught.value) and (not value or value.strip() == "" or value not in str(caught.value))


@pytest.mark.parametrize(
    ("url", "is_it"),
    [
        ("https://en.wikipedia.org/wiki/X", True),
        ("https://wikipedia.org/", True),
        ("https://notwikipedia.org/", False),
        ("https://wikipedia.org.example/", False),
        ("https://a.example/en.wikipedia.org", False),
        ("http://[::1", False),
    ],
)
def test_what_counts_as_wikipedia(url, is_it):
    assert on_wikipedia(url) is is_it


@pytest.fixture
def fake_ddgs(monkeypatch):
    """A module in place of the library; `replies` maps a query to rows or to an error."""
    package, exceptions = ModuleType("ddgs"), ModuleType("ddgs.exceptions")

    class DDGSException(Exception):
        pass

    class RatelimitException(DDGSException):
        pass

    class DDGS:
        def __init__(self, timeout):
            package.timeouts.append(timeout)

        def text(self, query, max_results):
            reply = package.replies[query]
            if isinstance(reply, Exception):
                raise reply
            return reply[:max_results]

    package.DDGS, package.timeouts, package.replies = DDGS, [], {}
    exceptions.DDGSException, exceptions.RatelimitException = DDGSException, RatelimitException
    monkeypatch.setitem(sys.modules, "ddgs", package)
    monkeypatch.setitem(sys.modules, "ddgs.exceptions", exceptions)
    package.exceptions = exceptions
    return package


def test_ddgs(fake_ddgs):
    fake_ddgs.replies = {
        "found": [{"href": url, "title": url, "body": "text"} for url in URLS],
        "empty": fake_ddgs.exceptions.DDGSException("No results found."),
        "blocked": fake_ddgs.exceptions.RatelimitException(f"http://user:{KEY}@proxy.example"),
    }
    found, empty, blocked = Web(Ddgs(), timeout_s=2.5).search(["found", "empty", "blocked"])
    assert tuple(result.url for result in found.results) == RANKED
    assert (empty.results, empty.error) == ((), "the search found nothing")
    assert (blocked.results, blocked.error) == ((), "ddgs failed (RatelimitException)")
    assert fake_ddgs.timeouts == [3, 3, 3]


def test_the_real_ddgs_takes_what_it_is_given(monkeypatch):
    from ddgs.ddgs import DDGS
    from ddgs.exceptions import DDGSException

    def search(self, category, query, **options):
        assert (category, options) == ("text", {"max_results": 10})
        if query == "empty":
            raise DDGSException("No results found.")
        return [{"href": URLS[0], "title": "T", "body": ""}]

    monkeypatch.setattr(DDGS, "_search_sync", search)
    found, empty = Web(Ddgs()).search(["found", "empty"])
    assert found.results[0].url == URLS[0] and empty.error == "the search found nothing"
