"""One request, as a value: both clients send the same calls."""

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

# Where the desk is and by which key it is asked, where a client is not told.
URL_VARIABLE, KEY_VARIABLE = "DESK_URL", "DESK_KEY"
API = "api/v1/"
# Beyond what the desk itself is asked to wait.
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Call[T]:
    """`read` makes the answer of its JSON. A POST has its idempotency key from the start, so that it can be sent again.

    `wait_s` is how long the desk was asked to hold the answer back. A `file`, by its name, is sent in place of a body.
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
        """What goes with the request, as httpx names it."""
        return {"files": {"file": self.file}} if self.file else {"json": self.body}

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S + self.wait_s

    @property
    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}


def address_and_headers(url: str | None, key: str | None) -> tuple[URL, dict[str, str]]:
    """Where REST is and what each request says, by DESK_URL and DESK_KEY where not given. Raises ValueError."""
    url = os.environ.get(URL_VARIABLE) if url is None else url
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if not url or key is None:
        raise ValueError(f"give the desk's address and a key, or set {URL_VARIABLE} and {KEY_VARIABLE}")
    # Else whoever sends it would complain of the whole header, and the key would stand in logs.
    if not re.fullmatch("[!-~]+", key):
        raise ValueError("the key is not one of a desk: has it a space or, as from a file, a line break at its end?")
    return URL(url.rstrip("/") + "/").join(API), {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT}


def get[T](path: str, answer: type[T], *, wait_s: float = 0.0, **query: object) -> Call[T]:
    """A GET; parameters that are None or empty are left out."""
    if wait_s:
        query["wait"] = f"{wait_s:g}"
    return Call("GET", path, _reader(answer), query=_given(query), wait_s=wait_s)


def post[T](
    path: str, answer: type[T], body: Any = None, *, idempotency_key: str | None = None, wait_s: float = 0.0
) -> Call[T]:
    """A POST with a key of its own, where none is given. Fields of `body` that are None are left out."""
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
    """A POST of one file. Sent twice, it does nothing the second time."""
    return Call("POST", path, _reader(answer), file=(name, content))


def patch[T](path: str, answer: type[T], body: Mapping[str, Any]) -> Call[T]:
    """A PATCH with these fields, those that are None among them."""
    return Call("PATCH", path, _reader(answer), body={name: _plain(value) for name, value in body.items()})


def delete(path: str) -> Call[None]:
    return Call("DELETE", path, lambda _nothing: None)


def _reader[T](answer: type[T]) -> Callable[[Any], T]:
    return TypeAdapter(answer).validate_python


def _given(query: Mapping[str, object]) -> dict[str, str]:
    return {name.rstrip("_"): _written(value) for name, value in query.items() if value not in (None, "")}


def _written(value: object) -> str:
    """As an address has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value) if isinstance(value, bool | Mapping) else str(value)


def _plain(value: Any) -> Any:
    """What JSON has a form for."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
