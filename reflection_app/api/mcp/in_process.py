"""REST, asked in this process: a tool's call is the very request that a pipeline would make, with its caller's key.

So a tool can do nothing that REST would refuse, and what REST checks, counts, audits and keeps as told holds for tools.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import httpx

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Any]]
type Send = Callable[[Any], Awaitable[None]]
type Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# What tells of the caller and of the way that the request came; of the rest nothing is meant for REST.
PASSED_ON = frozenset(
    {b"host", b"authorization", b"user-agent", b"accept-language", b"x-forwarded-for", b"x-forwarded-proto"}
)


@dataclass(frozen=True)
class RestRequest:
    """A call of REST. `path` is whole and needs no quoting."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class RestAnswer:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    @property
    def is_refusal(self) -> bool:
        return self.status >= 400

    def value(self) -> Any:
        """The JSON of the answer; None where it is empty or none."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None


class Caller:
    """Whoever made the request of `scope`, as REST at `rest` is to see them."""

    def __init__(self, rest: Application, scope: Scope) -> None:
        self._rest = rest
        self._scope = scope

    async def ask(self, request: RestRequest) -> RestAnswer:
        """What REST answers."""
        headers = [(name, value) for name, value in self._scope["headers"] if name.lower() in PASSED_ON]
        content = b"" if request.body is None else json.dumps(request.body).encode()
        if content:
            headers.append((b"content-type", b"application/json"))
        if request.idempotency_key is not None:
            # What cannot stand in a header is refused by REST, by its name.
            headers.append((b"idempotency-key", request.idempotency_key.encode("utf-8", "surrogatepass")))
        host, port = self._scope.get("client") or ("", 0)
        transport = httpx.ASGITransport(self._rest, client=(host, port))
        url = httpx.URL(f"{self._scope.get('scheme', 'http')}://localhost{request.path}", params=request.query)
        # Not by a client of httpx: that would add headers of its own.
        answer = await transport.handle_async_request(
            httpx.Request(request.method, url, headers=headers, content=content)
        )
        return RestAnswer(answer.status_code, tuple(answer.headers.raw), await answer.aread())
