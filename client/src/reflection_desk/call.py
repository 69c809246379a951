"""Requests as values, which both clients send."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from httpx import URL
from pydantic import BaseModel, TypeAdapter

from reflection_desk.version import USER_AGENT

# Defaults for `url` and `key`.
URL_VARIABLE, KEY_VARIABLE = "DESK_URL", "DESK_KEY"
API = "api/v1/"
# Timeout of a request, in addition to its `wait_s`.
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Call[T]:
    """One request to the REST API, which `Desk.send` sends. Build it with `get`, `post`, `patch`, `upload` or `delete`.

    `path` is relative to `/api/v1/`. `read` parses the JSON of the response. Every try of a call sends the same
    `idempotency_key`, so a retry is not executed twice. `wait_s` is the long-poll time in seconds. `file`, a name with
    the content, replaces `body`.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    idempotency_key: str = ""
    wait_s: float = 0.0
    file: tuple[str, bytes] | None = None

    @property
    def sent(self) -> dict[str, Any]:
        """The request body as keyword arguments of httpx."""
        return {"files": {"file": self.file}} if self.file else {"json": self.body}

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S + self.wait_s

    @property
    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}


def address_and_headers(url: str | None, key: str | None) -> tuple[URL, dict[str, str]]:
    """Return the base URL and headers of the REST API. The defaults are DESK_URL and DESK_KEY.

    Raises ValueError if one is missing, or if the key contains a character that no key has.
    """
    url = os.environ.get(URL_VARIABLE) if url is None else url
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if not url or key is None:
        raise ValueError(f"no server URL or API key: pass `url` and `key`, or set {URL_VARIABLE} and {KEY_VARIABLE}")
    # httpx would raise an error that contains the whole header, and the key would appear in logs.
    if not re.fullmatch("[!-~]+", key):
        raise ValueError("the API key contains a space, a line break or a non-ASCII character")
    return URL(url.rstrip("/") + "/").join(API), {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT}


def get[T](path: str, answer: type[T], *, wait_s: float = 0.0, **query: object) -> Call[T]:
    """Return a GET call. Query parameters that are None or empty are not sent.

    `path` is relative to `/api/v1/`. `answer` is the type of the response: a pydantic model, `dict` or `list`.
    `wait_s` is the long-poll time in seconds, for endpoints that have a `wait` parameter.
    """
    if wait_s:
        query["wait"] = f"{wait_s:g}"
    return Call("GET", path, _reader(answer), query=_given(query), wait_s=wait_s)


def post[T](
    path: str, answer: type[T], body: Any = None, *, idempotency_key: str | None = None, wait_s: float = 0.0
) -> Call[T]:
    """Return a POST call. Fields of `body` that are None are not sent.

    Without `idempotency_key`, the call gets a random one. Other arguments: see `get`.
    """
    sent = {name: _plain(value) for name, value in (body or {}).items() if value is not None}
    return Call(
        "POST",
        path,
        _reader(answer),
        query={"wait": f"{wait_s:g}"} if wait_s else {},
        body=sent,
        idempotency_key=idempotency_key or str(uuid4()),
        wait_s=wait_s,
    )


def upload[T](path: str, answer: type[T], content: bytes, *, name: str) -> Call[T]:
    """Return a POST call with one file. It needs no idempotency key: the server stores identical content once."""
    return Call("POST", path, _reader(answer), file=(name, content))


def patch[T](path: str, answer: type[T], body: Mapping[str, Any]) -> Call[T]:
    """Return a PATCH call. Fields of `body` that are None are sent as null."""
    return Call("PATCH", path, _reader(answer), body={name: _plain(value) for name, value in body.items()})


def delete(path: str) -> Call[None]:
    """Return a DELETE call."""
    return Call("DELETE", path, lambda _nothing: None)


def _reader[T](answer: type[T]) -> Callable[[Any], T]:
    return TypeAdapter(answer).validate_python


def _given(query: Mapping[str, object]) -> dict[str, str]:
    return {name.rstrip("_"): _written(value) for name, value in query.items() if value not in (None, "")}


def _written(value: object) -> str:
    """Return the value as a query parameter."""
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value) if isinstance(value, bool | Mapping) else str(value)


def _plain(value: Any) -> Any:
    """Return the value as JSON types."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
