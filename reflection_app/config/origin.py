"""Which pages may open a socket, or speak MCP: only ours. Browsers send what they know along from any page."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Any]]
type Send = Callable[[Any], Awaitable[None]]
type Application = Callable[[Scope, Receive, Send], Awaitable[None]]

DEFAULT_PORTS = {"http": 80, "https": 443}


class OwnOriginOnly:
    """`inner` for sockets of our own pages; all others are refused."""

    def __init__(self, inner: Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application: Application = self.inner if _is_from_us(scope) else WebsocketDenier()
        await application(scope, receive, send)


class NoForeignOrigin:
    """`inner` for programs, which name no origin, and for our own pages; the pages of others are refused with 403."""

    def __init__(self, inner: Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name.lower() for name, _ in scope.get("headers", [])}
        if b"origin" not in names or _is_from_us(scope):
            await self.inner(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"Pages of other origins may not ask here."})


def _is_from_us(scope: Scope) -> bool:
    headers = {name.lower(): value.decode("latin1") for name, value in scope.get("headers", [])}
    origin, host = headers.get(b"origin", ""), headers.get(b"host", "")
    domain, _port = split_domain_port(host)
    is_ours = bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
    own = f"{_scheme(scope, headers)}://{host}" if is_ours else ""
    return _is_same(origin, own) or _is_trusted(origin, settings.CSRF_TRUSTED_ORIGINS)


def _scheme(scope: Scope, headers: MutableMapping[bytes, str]) -> str:
    """The scheme by which the page's browser came, as the proxy says where it is believed (see Django's settings)."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        said = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower().encode(), "")
        return "https" if said.partition(",")[0].strip() == secure else "http"
    return "https" if scope.get("scheme") in {"wss", "https"} else "http"


def _is_same(origin: str, own: str) -> bool:
    read = _read(origin)
    return read is not None and read == _read(own)


def _read(origin: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None where it is no origin (`null`, for one)."""
    parts = _split(origin)
    if parts is None or parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    try:
        return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme]
    except ValueError:
        return None


def _is_trusted(origin: str, trusted: Iterable[str]) -> bool:
    """Whether a setting names it, itself or as a subdomain: https://*.desk.example."""
    parts = _split(origin)
    if parts is None or not parts.hostname:
        return False
    for one in trusted:
        scheme, _, host = one.partition("://")
        wild = host.startswith("*") and parts.scheme == scheme and is_same_domain(parts.netloc, host.lstrip("*"))
        if wild or _is_same(origin, one):
            return True
    return False


def _split(origin: str) -> SplitResult | None:
    try:
        return urlsplit(origin)
    except ValueError:
        return None
