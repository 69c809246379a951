"""A client for a conversation of one or several requests, under one deadline and one budget of bytes."""

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import anyio
import httpx2

from reflection_app.adapters.outgoing.addresses import (
    AddressRefused,
    OutgoingError,
    TimedOut,
    TooLarge,
    Unreachable,
    resolve,
    text_of,
)
from reflection_app.adapters.outgoing.urls import origin_of, port_of, read_url

# The body of an answer, unpacked and counted piece by piece: a small body can unpack to a huge one.

ACCEPTED = "gzip"
PIECE_BYTES = 64 * 1024
_GZIP = 31  # zlib's number for its gzip format


class Budget:
    """How many bytes may still come, over all answers that share it. Raises TooLarge where they are used up."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.left = most_bytes

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLarge(f"The answer is longer than {self.most_bytes:,} bytes.")


class CountedStream(httpx2.AsyncByteStream):
    """The unpacked body of `answer`; it never holds more than a piece of it. `on_error` hears of our errors first."""

    def __init__(self, answer: httpx2.Response, *, budget: Budget, on_error: Callable[[OutgoingError], None]) -> None:
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        self._packed = answer.stream
        self._budget, self._on_error = budget, on_error
        encoding = answer.headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise Unreachable(f"The answer is encoded as {encoding[:40]!r}, which was not asked for.")
        self._is_gzip = encoding.endswith("gzip")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = zlib.decompressobj(_GZIP) if self._is_gzip else None
        try:
            async for packed in self._packed:
                for piece in [packed] if unpack is None else _unpacked(unpack, packed):
                    self._budget.take(len(piece))
                    yield piece
        except httpx2.HTTPError as error:
            broken = Unreachable(f"The answer broke off: {text_of(error)}")
            self._on_error(broken)
            raise broken from None
        except OutgoingError as error:
            self._on_error(error)
            raise

    async def aclose(self) -> None:
        await self._packed.aclose()


def _unpacked(unpack: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    while packed and not unpack.eof:
        try:
            piece = unpack.decompress(packed, PIECE_BYTES)
        except zlib.error:
            raise Unreachable("The answer says that it is gzip, and is not.") from None
        packed = unpack.unconsumed_tail
        yield piece


# The way out: each request goes to an address that was resolved and checked for this very request.

# No connection is used again: the pool tells hosts apart by address, and two names may share one.
NO_REUSE = httpx2.Limits(max_connections=8, max_keepalive_connections=0)
# Of a transport that has one origin alone there are no two names.
REUSE = httpx2.Limits(max_connections=32, max_keepalive_connections=32, keepalive_expiry=5.0)


@cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the certificates takes as long as many a request."""
    return httpx2.create_ssl_context(trust_env=False)


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to checked addresses alone; SNI, certificate check and Host header stay those of the name.

    Bodies are unpacked and counted against `budget`, which is asked for with each request. `refusal` keeps the last
    error of ours, since not every caller lets exceptions through. With `only_origin`, requests to any other are
    refused; its connections may then be used again (`keep_alive`), each to an address that was checked for it.
    """

    def __init__(
        self, *, budget: Callable[[], Budget], only_origin: str | None = None, keep_alive: bool = False
    ) -> None:
        self._budget = budget
        self._only_origin = only_origin
        limits = REUSE if keep_alive and only_origin is not None else NO_REUSE
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False, limits=limits)
        self.refusal: OutgoingError | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            url = read_url(str(request.url))
            if self._only_origin is not None and origin_of(url) != self._only_origin:
                raise AddressRefused(f"The server points to another origin ({origin_of(url)}).")
            host = url.raw_host.decode("ascii")
            answer = await self._first_answer(request, host, await resolve(host, port_of(url)))
            try:
                body = CountedStream(answer, budget=self._budget(), on_error=self._keep)
            except OutgoingError:
                await answer.aclose()
                raise
        except OutgoingError as error:
            self.refusal = error
            raise
        headers = [(name, value) for name, value in answer.headers.raw if name.lower() not in UNPACKED]
        return httpx2.Response(answer.status_code, headers=headers, stream=body, extensions=answer.extensions)

    def _keep(self, error: OutgoingError) -> None:
        self.refusal = error

    async def _first_answer(self, request: httpx2.Request, host: str, addresses: list[str]) -> httpx2.Response:
        """The answer from the first address that takes the connection."""
        problem = ""
        request.headers["Accept-Encoding"] = ACCEPTED
        for address in addresses:
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host.removesuffix(".")},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except httpx2.ConnectError as error:  # nothing was sent
                problem = str(error)
            except httpx2.HTTPError as error:
                raise Unreachable(f"{host} broke the connection off: {text_of(error)}") from None
        raise Unreachable(f"{host} cannot be reached: {problem or 'no address took the connection'}")

    async def aclose(self) -> None:
        await self._inner.aclose()


UNPACKED = {b"content-encoding", b"content-length"}


HttpClient = httpx2.AsyncClient
NO_TIMEOUTS = httpx2.Timeout(None)


def client_over(transport: PinnedTransport, *, headers: dict[str, str] | None = None) -> HttpClient:
    """A client that follows nothing, keeps no cookies and knows nothing of the environment's proxies and netrc."""
    return HttpClient(
        transport=transport,
        headers=headers,
        trust_env=False,
        follow_redirects=False,
        timeout=NO_TIMEOUTS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


def run_with_client[T](
    talk: Callable[[HttpClient], Awaitable[T]],
    *,
    deadline_s: float,
    most_bytes: int,
    headers: dict[str, str] | None = None,
    only_origin: str | None = None,
) -> T:
    """What `talk` returns. Raises an OutgoingError, or what `talk` raised where it was none of ours.

    The thread must not run an event loop already.
    """

    async def run() -> T:
        budget = Budget(most_bytes)
        transport = PinnedTransport(budget=lambda: budget, only_origin=only_origin)
        client = client_over(transport, headers=headers)
        try:
            # A scope of anyio cancels again at every await, so that closing things cannot outlast the deadline either.
            with anyio.fail_after(deadline_s):
                async with client:
                    return await talk(client)
        except TimeoutError:
            if transport.refusal is not None:
                raise transport.refusal from None
            raise TimedOut(f"No complete answer came within {deadline_s:g} s.") from None
        except httpx2.HTTPError as error:
            raise Unreachable(f"The request failed: {text_of(error)}") from None
        except Exception:
            if transport.refusal is not None:
                raise transport.refusal from None
            raise

    return asyncio.run(run())


# One request and its answer, redirects followed by hand: each is checked like the first.

MOST_REDIRECTS = 5
REDIRECTS = {301, 302, 303, 307, 308}
# All that another origin gets to see of the headers; whatever else was set was meant for the first.
FOR_EVERYONE = {"accept", "content-type", "user-agent"}
USER_AGENT = "reflection-desk"
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True)
class OutgoingRequest:
    method: str
    url: str
    # Not in the repr: they may hold secrets.
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class OutgoingAnswer:
    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; what its charset cannot read is shown as the replacement character."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(named[1] if named else "utf-8", errors="replace")
        except (LookupError, ValueError):
            return self.body.decode("utf-8", errors="replace")


def send(request: OutgoingRequest, *, deadline_s: float, most_bytes: int) -> OutgoingAnswer:
    """The answer, whatever its status. Raises an OutgoingError.

    `deadline_s` holds for all of it together: looking up, connecting, every redirect, and the whole body.
    """
    origin_of(request.url)

    async def exchange(client: httpx2.AsyncClient) -> OutgoingAnswer:
        next_request = request
        for _ in range(MOST_REDIRECTS + 1):
            async with client.stream(
                next_request.method,
                read_url(next_request.url),
                headers={"User-Agent": USER_AGENT, **next_request.headers},
                content=next_request.body or None,
            ) as answer:
                place = answer.headers.get("location")
                if answer.status_code not in REDIRECTS or not place:
                    return OutgoingAnswer(answer.status_code, answer.headers, await answer.aread())
                next_request = redirected(next_request, status=answer.status_code, place=place)
        raise Unreachable(f"More than {MOST_REDIRECTS} redirects.")

    return run_with_client(exchange, deadline_s=deadline_s, most_bytes=most_bytes)


def redirected(request: OutgoingRequest, *, status: int, place: str) -> OutgoingRequest:
    """The request that follows a redirect, by RFC 9110, section 15.4. Raises AddressRefused."""
    try:
        joined = str(httpx2.URL(request.url).join(place).copy_with(fragment=None))
    except (httpx2.InvalidURL, ValueError):
        raise AddressRefused("The server redirects to what is no address.") from None
    url = read_url(joined)
    if request.url.lower().startswith("https:") and url.scheme != "https":
        raise AddressRefused("The server redirects from https to http.")
    method, body, headers = request.method, request.body, request.headers
    if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):
        method, body = "GET", b""
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    if origin_of(url) != origin_of(request.url):
        headers = {name: value for name, value in headers.items() if name.lower() in FOR_EVERYONE}
    return OutgoingRequest(method=method, url=joined, headers=headers, body=body)
