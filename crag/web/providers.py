"""Search engines. Keys come from the environment; they go into requests and nowhere else."""

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import httpx
from pydantic_core import from_json

from crag.web.fetch import PER_HOST, Request, WebError, fetch_all
from crag.web.types import SearchResult
from rag.errors import RagError

MAX_RESULTS = 10


class Engine(Protocol):
    """Anything that finds addresses for queries."""

    def find(self, queries: Sequence[str], timeout_s: float) -> list[list[SearchResult] | WebError]:
        """The results of each query in the engine's order, none where nothing was found, or why it failed."""


class HttpEngine(ABC):
    """An engine that is asked over HTTP and answers in JSON.

    Its server was named by the user and may be private. Redirects are not followed: they could carry a key elsewhere.
    """

    name: str

    def find(self, queries: Sequence[str], timeout_s: float) -> list[list[SearchResult] | WebError]:
        requests = [self.request(query) for query in queries]
        return fetch_all(requests, lambda body: self.parse(body.content), timeout_s, allow_private=True)

    def parse(self, reply: bytes) -> list[SearchResult]:
        """The results in a reply; `WebError` for an error body under status 200."""
        try:
            return self.results(from_json(reply))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # What was sent instead isn't quoted: it may echo the key.
            raise WebError("sent no search results") from error

    @abstractmethod
    def request(self, query: str) -> Request:
        """How to ask for a query."""

    @abstractmethod
    def results(self, reply: Any) -> list[SearchResult]:
        """The results in a reply; any `KeyError`, `TypeError` and the like means that it holds none."""


class Searxng(HttpEngine):
    """A SearXNG server, by the base address of its JSON interface."""

    def __init__(self, url: str):
        self.url = httpx.URL(url.rstrip("/") + "/search")
        self.name = f"{self.url.scheme}://{self.url.host}" + (f":{self.url.port}" if self.url.port else "")

    def request(self, query: str) -> Request:
        url = self.url.copy_merge_params({"q": query, "format": "json"})
        return Request(str(url), self.name, ("application/json",))

    def results(self, reply: Any) -> list[SearchResult]:
        results = [to_result(row, "url") for row in reply["results"]]
        if not results and (silent := reply.get("unresponsive_engines")):
            # It answers 200 with an empty list also when every engine behind it has blocked it.
            raise WebError(f"found nothing; engines that did not answer: {', '.join(str(row[0]) for row in silent)}")
        return results


class Serper(HttpEngine):
    """Google results through Serper; its key is in `SERPER_API_KEY`."""

    name = "Serper"
    endpoint = "https://google.serper.dev/search"

    def __init__(self):
        self._key = key_from("SERPER_API_KEY")

    def request(self, query: str) -> Request:
        headers, payload = {"x-api-key": self._key}, {"q": query, "num": MAX_RESULTS}
        return Request(self.endpoint, self.name, ("application/json",), headers=headers, json=payload)

    def results(self, reply: Any) -> list[SearchResult]:
        return [to_result(row, "link") for row in reply["organic"]]


class Google(HttpEngine):
    """Google's Programmable Search; its key is in `GOOGLE_API_KEY`, the engine's id in `GOOGLE_CSE_ID`."""

    name = "Google Programmable Search"
    endpoint = "https://www.googleapis.com/customsearch/v1"

    def __init__(self):
        self._key, self._engine = key_from("GOOGLE_API_KEY"), key_from("GOOGLE_CSE_ID")

    def request(self, query: str) -> Request:
        params = {"key": self._key, "cx": self._engine, "q": query, "num": MAX_RESULTS}
        return Request(f"{self.endpoint}?{httpx.QueryParams(params)}", self.name, ("application/json",))

    def results(self, reply: Any) -> list[SearchResult]:
        if "items" not in reply and reply["searchInformation"]["totalResults"] == "0":
            return []
        return [to_result(row, "link") for row in reply["items"]]


class Ddgs:
    """Several public engines through the library ddgs, without a key. Their choice and order vary from call to call:
    record a session to repeat it."""

    def find(self, queries: Sequence[str], timeout_s: float) -> list[list[SearchResult] | WebError]:
        with ThreadPoolExecutor(PER_HOST) as pool:
            return list(pool.map(lambda query: self._find(query, math.ceil(timeout_s)), queries))

    def _find(self, query: str, timeout_s: int) -> list[SearchResult] | WebError:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        try:
            rows = DDGS(timeout=timeout_s).text(query, max_results=MAX_RESULTS)
        except DDGSException as error:
            # The library has no type of its own for an empty result.
            if str(error) == "No results found.":
                return []
            return WebError(f"ddgs failed ({type(error).__name__})")
        return [to_result(row, "href") for row in rows]


def to_result(row: Mapping[str, Any], address: str) -> SearchResult:
    """A result from a row of a reply; `KeyError` or `TypeError` for a row without a usable address."""
    if not isinstance(row[address], str):
        raise TypeError(address)
    return SearchResult(row[address], str(row.get("title") or ""))


def key_from(variable: str) -> str:
    """The key in an environment variable. Raises `RagError` if there is none, or one that no header could carry."""
    key = os.environ.get(variable, "").strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise RagError(f"this search engine needs a key: set the environment variable {variable} to it")
    return key
