"""The values of a web search, and the protocol of anything that can search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
