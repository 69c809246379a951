"""REST, asked in this process: a tool's call is the very request that a pipeline would make, with its caller's key.

So a tool can do nothing that REST would refuse, and what REST checks, counts, audits and keeps as told holds for tools.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

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
        body = b"" if request.body is None else json.dumps(request.body).encode()
        headers = [(name, value) for name, value in self._scope["headers"] if name.lower() in PASSED_ON]
        headers.append((b"content-length", str(len(body)).encode()))
        if body:
            headers.append((b"content-type", b"application/json"))
        if request.idempotency_key is not None:
            # What cannot stand in a header is refused by REST, by its name.
            headers.append((b"idempotency-key", request.idempotency_key.encode("utf-8", "surrogatepass")))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": self._scope.get("scheme", "http"),
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": urlencode(request.query).encode(),
            "root_path": "",
            "headers": headers,
            "client": self._scope.get("client"),
            "server": self._scope.get("server"),
        }
        asked = _Asked(body)
        await self._rest(scope, asked.receive, asked.send)
        return asked.answer()


class _Asked:
    """One exchange: gives the body, keeps the answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: tuple[tuple[bytes, bytes], ...] = ()
        self._content = bytearray()

    async def receive(self) -> Any:
        if self._body is None:
            # The caller stays. Where they leave, the task that waits here is cancelled.
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = tuple((bytes(name), bytes(value)) for name, value in message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._content += message.get("body", b"")

    def answer(self) -> RestAnswer:
        return RestAnswer(self._status, self._headers, bytes(self._content))
