"""Search through an engine, read the pages it finds."""

from collections.abc import Sequence

import httpx

from crag.web.fetch import WebError
from crag.web.pages import read_pages
from crag.web.providers import Engine
from crag.web.types import Page, SearchOutcome, SearchResult, WebSearch


class Web(WebSearch):
    """A search engine and the pages behind its results, at most `results` a query.

    `timeout_s` bounds every request; `allow_private` admits pages at addresses that are not public.
    """

    def __init__(self, engine: Engine, results: int = 5, timeout_s: float = 10, allow_private: bool = False):
        self.engine = engine
        self.results = results
        self.timeout_s = timeout_s
        self.allow_private = allow_private

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        found = self.engine.find(queries, self.timeout_s)
        return [self._outcome(query, own) for query, own in zip(queries, found, strict=True)]

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        return read_pages(urls, self.timeout_s, self.allow_private)

    def _outcome(self, query: str, found: list[SearchResult] | WebError) -> SearchOutcome:
        if isinstance(found, WebError):
            return SearchOutcome(query, error=str(found))
        distinct = {result.url: result for result in found}.values()
        # Wikipedia pages first, as in the paper (§4.5); otherwise in the engine's order.
        ranked = sorted(distinct, key=lambda result: not on_wikipedia(result.url))
        return SearchOutcome(query, tuple(ranked[: self.results]), None if ranked else "the search found nothing")


class RememberingWeb(WebSearch):
    """A web that is asked each query and each address once, however many systems want it. For one run: it forgets nothing."""

    def __init__(self, web: WebSearch):
        self.web = web
        self.outcomes: dict[str, SearchOutcome] = {}
        self.pages: dict[str, Page] = {}

    def search(self, queries: Sequence[str]) -> list[SearchOutcome]:
        new = [query for query in dict.fromkeys(queries) if query not in self.outcomes]
        self.outcomes |= dict(zip(new, self.web.search(new), strict=True))
        return [self.outcomes[query] for query in queries]

    def read(self, urls: Sequence[str]) -> dict[str, Page]:
        self.pages |= self.web.read([url for url in dict.fromkeys(urls) if url not in self.pages])
        return {url: self.pages[url] for url in urls}


def on_wikipedia(url: str) -> bool:
    """Whether an address is one of Wikipedia's."""
    try:
        return f".{httpx.URL(url).host}".endswith(".wikipedia.org")
    except httpx.InvalidURL:
        return False  # reading it will say what is wrong with it
