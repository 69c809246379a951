"""The way out: each request goes to an address that was resolved and checked for this very request."""

import ssl
from collections.abc import Callable
from functools import cache

import httpx2

from reflection_app.adapters.outgoing.decoding import ACCEPTED, Budget, CountedStream
from reflection_app.adapters.outgoing.errors import AddressRefused, OutgoingError, Unreachable, text_of
from reflection_app.adapters.outgoing.resolving import resolve
from reflection_app.adapters.outgoing.urls import origin_of, port_of, read_url

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
            return await self._send(request)
        except OutgoingError as error:
            self.refusal = error
            raise

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
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
        headers = [(name, value) for name, value in answer.headers.raw if name.lower() not in UNPACKED]
        return httpx2.Response(answer.status_code, headers=headers, stream=body, extensions=answer.extensions)

    def _keep(self, error: OutgoingError) -> None:
        self.refusal = error

    async def _first_answer(self, request: httpx2.Request, host: str, addresses: list[str]) -> httpx2.Response:
        """The answer from the first address that takes the connection."""
        problem = ""
        for address in addresses:
            try:
                return await self._inner.handle_async_request(_pinned(request, address, name=host))
            except httpx2.ConnectError as error:  # nothing was sent
                problem = str(error)
            except httpx2.HTTPError as error:
                raise Unreachable(f"{host} broke the connection off: {text_of(error)}") from None
        raise Unreachable(f"{host} cannot be reached: {problem or 'no address took the connection'}")

    async def aclose(self) -> None:
        await self._inner.aclose()


UNPACKED = {b"content-encoding", b"content-length"}


def _pinned(request: httpx2.Request, address: str, *, name: str) -> httpx2.Request:
    request.headers["Accept-Encoding"] = ACCEPTED
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": name.removesuffix(".")},
    )
