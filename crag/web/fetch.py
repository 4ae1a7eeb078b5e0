"""Fetching over http(s), many addresses at once, with limits on time, size, type, redirects and hosts.

A failure never stops a run and never yields text: it comes back as a `WebError` for the trace.
"""

import ipaddress
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urljoin

import anyio
import anyio.to_thread
import httpx
from anyio.from_thread import start_blocking_portal

MAX_BYTES = 2_000_000
RETRY_AFTER_S = {"0": 0, "1": 1, "2": 2}
IN_ALL = 16
PER_HOST = 4
USER_AGENT = "crag-diva-research/0.1"

NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Azure's metadata service, the one at an address that looks public; the others' are link-local or private.
METADATA = ipaddress.ip_address("168.63.129.16")

T = TypeVar("T")


class WebError(Exception):
    """Why a request gave nothing. Kept in the trace of the question; never shown as knowledge."""


@dataclass(frozen=True)
class Request:
    """What to ask for. `name` stands for it in errors: the address itself may hold a key. With `json` it is posted."""

    url: str
    name: str
    types: tuple[str, ...]
    redirects: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Body:
    """What came back; `charset` is the one of its header."""

    content: bytes
    charset: str | None


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, also behind its IPv6 disguises."""
    ip = ipaddress.ip_address(address)
    if ip.version == 6:
        embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None
        ip = ip.ipv4_mapped or ip.sixtofour or embedded or ip
    return ip.is_global and not ip.is_multicast and ip != METADATA


async def resolve(host: str, allow_private: bool) -> list[str]:
    """The IP addresses of a host; private, loopback, link-local and metadata ones are refused unless allowed."""
    try:
        # In a thread that may be left behind, so that a slow name server can't outlast the request's deadline.
        found = await anyio.to_thread.run_sync(
            lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM), abandon_on_cancel=True
        )
    except (OSError, UnicodeError) as error:
        raise WebError(f"failed: {host} has no address ({error})") from error
    addresses = list(dict.fromkeys(info[4][0] for info in found))
    private = [address for address in addresses if not is_public(address)]
    if private and not allow_private:
        raise WebError(f"was refused: {host} is a private address ({private[0]})")
    return addresses


@cache
def certificates() -> ssl.SSLContext:
    """The certificates to trust, loaded once: that takes longer than a local request."""
    return httpx.create_ssl_context()


class PinnedTransport(httpx.AsyncHTTPTransport):
    """Connects to the very address that was checked: a second look-up could give another one (DNS rebinding).

    Host header, server name and certificate check keep the host's name. Connections aren't kept for later requests,
    since the pool would know them by address. Proxies of the environment are not used: they look names up themselves.
    """

    def __init__(self, allow_private: bool):
        super().__init__(verify=certificates(), limits=httpx.Limits(max_keepalive_connections=0))
        self.allow_private = allow_private

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode()
        *others, last = await resolve(host, self.allow_private)
        for address in others:
            try:
                return await self._connect(request, host, address)
            except httpx.ConnectError:
                continue
        return await self._connect(request, host, last)

    async def _connect(self, request: httpx.Request, host: str, address: str) -> httpx.Response:
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={"sni_hostname": host},
        )
        return await super().handle_async_request(pinned)


def parse_url(url: str, base: str = "") -> httpx.URL:
    """The address, relative to `base`, if it is one of http or https with a host; `WebError` otherwise."""
    try:
        parsed = httpx.URL(urljoin(base, url))
    except (httpx.InvalidURL, ValueError) as error:
        raise WebError(f"was refused: not an address ({error})") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or (parsed.port or 0) > 65535:
        raise WebError("was refused: only http and https addresses are read")
    return parsed


def retry_delay(response: httpx.Response) -> int | None:
    """The seconds after which a busy server (429, 503) wants to be asked again, if it says so and they are few."""
    busy = response.status_code in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
    return RETRY_AFTER_S.get(response.headers.get("retry-after", "")) if busy else None


class Fetcher:
    """The requests of one batch: what they share is the transport and the limits.

    The client of httpx is left out on purpose: it logs every address, and with it a search engine's key.
    """

    def __init__(self, transport: PinnedTransport, timeout_s: float):
        self.transport = transport
        self.timeout_s = timeout_s
        self.all = anyio.Semaphore(IN_ALL)
        self.hosts = defaultdict(lambda: anyio.Semaphore(PER_HOST))

    async def fetch(self, request: Request, parse: Callable[[Body], T]) -> T:
        """What `parse` makes of the body that a request leads to, after its redirects and at most one retry."""
        url, left, redirects, retried = parse_url(request.url), self.timeout_s, request.redirects, False
        while True:
            async with self.hosts[url.host], self.all:
                started = anyio.current_time()
                try:
                    with anyio.fail_after(left):
                        response, content = await self._send(request, url)
                except TimeoutError as error:
                    raise WebError(f"took longer than {self.timeout_s:g} s") from error
                except httpx.HTTPError as error:
                    # Only what the system says is quoted: what the server said may echo a key.
                    detail = f": {error}" if isinstance(error, httpx.ConnectError) else ""
                    raise WebError(f"failed ({type(error).__name__}{detail})") from error
                left -= anyio.current_time() - started
                if response.status_code == httpx.codes.OK:
                    # Before the next request gets its place, so that bodies can't pile up in memory.
                    return await anyio.to_thread.run_sync(parse, Body(content, response.charset_encoding))
            delay = retry_delay(response)
            if delay is not None and not retried:
                retried = True
                await anyio.sleep(delay)
            elif response.has_redirect_location and request.redirects:
                if not redirects:
                    raise WebError(f"sent more than {request.redirects} redirects")
                redirects -= 1
                url = parse_url(response.headers["location"], base=str(url))
            else:
                raise WebError(f"answered {response.status_code}")

    async def _send(self, request: Request, url: httpx.URL) -> tuple[httpx.Response, bytes]:
        # A single gzip, so that a small reply can't unfold into gigabytes by being packed twice.
        headers = {"user-agent": USER_AGENT, "accept": ", ".join(request.types), "accept-encoding": "gzip"}
        method = "GET" if request.json is None else "POST"
        response = await self.transport.handle_async_request(
            httpx.Request(method, url, headers={**headers, **request.headers}, json=request.json)
        )
        try:
            if response.status_code != httpx.codes.OK:
                return response, b""
            found = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if found not in request.types:
                raise WebError(f"is {found or 'of no stated type'}, not {' or '.join(request.types)}")
            if (encoding := response.headers.get("content-encoding", "identity").lower()) not in ("gzip", "identity"):
                raise WebError(f"is packed as {encoding}, which was not asked for")
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise WebError(f"is larger than {MAX_BYTES:,} bytes")
            return response, bytes(body)
        finally:
            await response.aclose()


def fetch_all(
    requests: Sequence[Request], parse: Callable[[Body], T], timeout_s: float, allow_private: bool
) -> list[T | WebError]:
    """What `parse` makes of each request's body, in order, or why there is none; at most 16 at once, four a host.

    `timeout_s` bounds each request in all: look-up, redirects and body, but not its wait for a place. `parse` may raise
    `WebError`; errors are returned with the request's name in front.
    """
    with start_blocking_portal() as portal:  # a thread of its own: notebooks already run an event loop in theirs
        return portal.call(_fetch_all, requests, parse, timeout_s, allow_private)


async def _fetch_all(
    requests: Sequence[Request], parse: Callable[[Body], T], timeout_s: float, allow_private: bool
) -> list[T | WebError]:
    found: dict[int, T | WebError] = {}

    async def run(i: int, request: Request) -> None:
        try:
            found[i] = await fetcher.fetch(request, parse)
        except WebError as error:
            found[i] = WebError(f"{request.name} {error}")

    async with PinnedTransport(allow_private) as transport, anyio.create_task_group() as tasks:
        fetcher = Fetcher(transport, timeout_s)
        for i, request in enumerate(requests):
            tasks.start_soon(run, i, request)
    return [found[i] for i in range(len(requests))]
