"""Telling a receiver something: its status counts. Redirects are not followed, and little of the body is read."""

from dataclasses import dataclass

import anyio
import httpx2

from reflection_app.outgoing.client import run_with_client
from reflection_app.outgoing.errors import OutgoingError
from reflection_app.outgoing.requests import USER_AGENT, OutgoingAnswer
from reflection_app.outgoing.urls import origin_of, read_url

# Of an answer that nobody waits for this much is read, to show it; a body that never ends changes nothing.
KEPT_BYTES = 2_000
BODY_WITHIN_S = 2.0
_READ_BYTES = 256 * 1024


@dataclass(frozen=True)
class Posted:
    """What came back; `text` is the beginning of the body."""

    status: int
    text: str
    retry_after: str


def post(url: str, body: bytes, *, headers: dict[str, str], deadline_s: float) -> Posted:
    """The answer to the body, whatever its status, a redirect like any other. Raises an OutgoingError.

    The address is resolved and checked for this very request.
    """
    origin = origin_of(url)

    async def exchange(client: httpx2.AsyncClient) -> Posted:
        sent = {"User-Agent": USER_AGENT, **headers}
        async with client.stream("POST", read_url(url), headers=sent, content=body) as answer:
            text = OutgoingAnswer(answer.status_code, answer.headers, await _beginning(answer)).text
            return Posted(answer.status_code, text, str(answer.headers.get("retry-after", "")))

    return run_with_client(exchange, deadline_s=deadline_s, most_bytes=_READ_BYTES, only_origin=origin)


async def _beginning(answer: httpx2.Response) -> bytes:
    """The first of the body, as much of it as comes soon: the status is known, and must not be lost over the rest."""
    read = b""
    left_s = anyio.current_effective_deadline() - anyio.current_time()
    with anyio.move_on_after(min(BODY_WITHIN_S, left_s * 0.9)):
        try:
            async for piece in answer.aiter_bytes():
                read += piece
                if len(read) >= KEPT_BYTES:
                    break
        except (OutgoingError, httpx2.HTTPError):
            return read[:KEPT_BYTES]
    return read[:KEPT_BYTES]
