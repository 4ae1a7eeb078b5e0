"""Search and fetch over http(s), with limits on time, size, type, redirects and addresses.

A failure never stops a run and never yields text: it comes back as an error message for the trace.
"""

import ipaddress
import json
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import httpx
import lxml.html

MAX_BYTES = 2_000_000
MAX_REDIRECTS = 3
WORKERS = 8
USER_AGENT = "crag-diva-research/0.1"


class WebError(Exception):
    """Why a request gave nothing. Kept in the trace of the question; never shown as knowledge."""


@dataclass(frozen=True)
class SearchResult:
    """One result of a search."""

    url: str
    title: str


@dataclass(frozen=True)
class SearchOutcome:
    """The results of a query, best first, or the reason why there are none."""

    query: str
    results: tuple[SearchResult, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Page:
    """The paragraphs of a fetched page, in order, or the reason why there are none."""

    url: str
    title: str = ""
    paragraphs: tuple[str, ...] = ()
    error: str | None = None


class WebSearch(Protocol):
    """Anything that searches a web and reads its pages."""

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        """One outcome a query, in order."""

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        """The page behind each address."""


def check_address(url: str, allow_private: bool) -> None:
    """Refuse what isn't http(s), and hosts at private, loopback or link-local addresses unless allowed."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WebError(f"refused {url}: only http and https addresses are read")
    if allow_private:
        return
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, proto=socket.IPPROTO_TCP)
    except OSError as error:
        raise WebError(f"{parts.hostname} has no address ({error})") from error
    if any(not ipaddress.ip_address(info[4][0]).is_global for info in found):
        raise WebError(f"refused {url}: {parts.hostname} is a private address")


def get(client: httpx.Client, url: str, content_type: str, timeout_s: float, allow_private: bool) -> bytes:
    """The body behind `url`, at most 2 MB of the wanted type within `timeout_s` seconds in all, or `WebError`."""
    deadline = time.monotonic() + timeout_s
    for _ in range(MAX_REDIRECTS + 1):
        check_address(url, allow_private)
        try:
            with client.stream("GET", url) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.status_code != httpx.codes.OK:
                    raise WebError(f"{url} answered {response.status_code}")
                found = response.headers.get("content-type", "").partition(";")[0].strip()
                if found != content_type:
                    raise WebError(f"{url} is {found or 'of no stated type'}, not {content_type}")
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        raise WebError(f"{url} is larger than {MAX_BYTES:,} bytes")
                    if time.monotonic() > deadline:
                        raise WebError(f"{url} took longer than {timeout_s} s")
                return bytes(body)
        except httpx.HTTPError as error:
            raise WebError(f"{url} failed ({type(error).__name__}: {error})") from error
    raise WebError(f"{url}: more than {MAX_REDIRECTS} redirects")


def paragraphs(html: bytes) -> tuple[str, tuple[str, ...]]:
    """Title and texts of the `<p>` elements of a page (CRAG §4.5)."""
    root = lxml.html.document_fromstring(html, parser=lxml.html.HTMLParser(encoding="utf-8"))
    texts = (" ".join(element.text_content().split()) for element in root.iter("p"))
    heading = root.find(".//h1")
    title = heading if heading is not None else root.find(".//title")
    name = " ".join(title.text_content().split()) if title is not None else ""
    return name, tuple(text for text in texts if text)


class SearxngWeb:
    """Search through a SearXNG server's JSON interface, and fetch pages.

    `allow_private` admits addresses that are not public, for both the server and the pages; it is meant for the local
    web. The server itself was named by the user and may always be private.
    """

    def __init__(self, base_url: str, results: int = 5, timeout_s: float = 10, allow_private: bool = False):
        self.base_url = base_url.rstrip("/")
        self.results = results
        self.timeout_s = timeout_s
        self.allow_private = allow_private

    def _client(self) -> httpx.Client:
        return httpx.Client(timeout=self.timeout_s, headers={"user-agent": USER_AGENT}, follow_redirects=False)

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        with self._client() as client, ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(lambda query: self._search(client, query), queries))

    def _search(self, client: httpx.Client, query: str) -> SearchOutcome:
        url = f"{self.base_url}/search?{httpx.QueryParams(q=query, format='json')}"
        try:
            reply = parse_results(
                get(client, url, "application/json", self.timeout_s, allow_private=True), self.base_url
            )
        except WebError as error:
            return SearchOutcome(query, error=str(error))
        # Wikipedia pages first, as in the paper (§4.5); otherwise in the engine's order.
        reply.sort(key=lambda result: not (urlsplit(result.url).hostname or "").endswith("wikipedia.org"))
        return SearchOutcome(query, tuple(reply[: self.results]), None if reply else "the search found nothing")

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        distinct = list(dict.fromkeys(urls))
        with self._client() as client, ThreadPoolExecutor(WORKERS) as pool:
            return dict(zip(distinct, pool.map(lambda url: self._read(client, url), distinct), strict=True))

    def _read(self, client: httpx.Client, url: str) -> Page:
        try:
            title, texts = paragraphs(get(client, url, "text/html", self.timeout_s, self.allow_private))
        except WebError as error:
            return Page(url, error=str(error))
        except (lxml.etree.ParserError, ValueError) as error:
            return Page(url, error=f"{url} is not a readable page ({error})")
        return Page(url, title, texts, None if texts else f"{url} has no paragraphs")


def parse_results(body: bytes, server: str) -> list[SearchResult]:
    """The results in a SearXNG reply; an error body under status 200 is a `WebError`."""
    try:
        reply: Any = json.loads(body)
        return [SearchResult(str(row["url"]), str(row.get("title", ""))) for row in reply["results"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WebError(f"{server} sent no search results: {body[:80].decode(errors='replace')!r}") from error
