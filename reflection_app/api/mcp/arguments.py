"""A tool's arguments as a request of REST, which checks what they hold: here is only said where each one goes."""

from collections.abc import Mapping
from typing import Any

from reflection_app.api.mcp.catalogue import IDEMPOTENCY_KEY, USUAL_WAIT_S, DeskTool
from reflection_app.api.mcp.in_process import RestRequest
from reflection_app.core.ids import id_from

# By which our own clients send it, whatever the tool.
IDEMPOTENCY_META = "reflection-desk/idempotency-key"


class BadArgument(Exception):
    """An argument that cannot be put into a request."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")


def request_of(tool: DeskTool, arguments: Mapping[str, Any], *, meta: Mapping[str, Any]) -> RestRequest:
    """The request that the call stands for. Raises BadArgument."""
    left = dict(arguments)
    ids = {name: _id(left.pop(name, None), name=name) for name in tool.ids}
    query = _query(tool, left)
    key = None if tool.is_reading else left.pop(IDEMPOTENCY_KEY, meta.get(IDEMPOTENCY_META))
    if key is not None and not isinstance(key, str):
        raise BadArgument(IDEMPOTENCY_KEY, "must be a text")
    if tool.body is None and left:
        raise BadArgument(next(iter(left)), "is not an argument of this tool")
    return RestRequest(
        method=tool.method,
        path=tool.path.format(**ids),
        query=query,
        body=None if tool.body is None else left,
        idempotency_key=key,
    )


def _id(value: Any, *, name: str) -> str:
    found = id_from(value) if isinstance(value, str) else None
    if found is None:
        raise BadArgument(name, "must be the id of one, a UUID")
    return str(found)


def _query(tool: DeskTool, left: dict[str, Any]) -> dict[str, str]:
    """The parameters of the query, which are taken out of `left`."""
    names = tool.query.model_fields if tool.query else ()
    given = {name: left.pop(name) for name in names if name in left}
    if tool.can_wait and given.get("wait") is None:
        given["wait"] = USUAL_WAIT_S
    for name, value in given.items():
        if isinstance(value, bool | dict | list):
            raise BadArgument(name, "must be a text or a number")
    return {name: str(value) for name, value in given.items() if value is not None}
