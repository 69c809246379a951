"""Telling a receiver something: its status counts. Redirects are not followed, and little of the body is read."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2

from reflection_app.adapters.outgoing.addresses import OutgoingError, TimedOut, Unreachable, text_of
from reflection_app.adapters.outgoing.client import USER_AGENT, Budget, OutgoingAnswer, PinnedTransport, client_over
from reflection_app.adapters.outgoing.urls import origin_of, read_url

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


@dataclass(frozen=True)
class Message:
    """A body with the headers that sign it."""

    body: bytes
    headers: dict[str, str]


@dataclass
class Connected:
    """Whether a connection was made for a request: httpcore tells of each of its steps."""

    anew: bool = False

    async def trace(self, step: str, _info: dict[str, Any]) -> None:
        self.anew = self.anew or step.startswith("connection.connect_")


class Receiver:
    """An address to which several messages are posted, over connections that are kept while this is entered.

    The thread must not run an event loop already. Each request's address is resolved and checked for it.
    """

    def __init__(self, url: str, *, deadline_s: float) -> None:
        self._url = url
        self._deadline_s = deadline_s
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._kept: httpx2.AsyncClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._open.aclose())
        finally:
            self._runner.close()

    def post(self, messages: Sequence[Message]) -> list[Posted | OutgoingError]:
        """What became of each, all sent at once: the answer, whatever its status, a redirect like any other."""

        async def post_all() -> list[Posted | OutgoingError]:
            return await asyncio.gather(*(self._outcome(message) for message in messages))

        return self._runner.run(post_all())

    async def _outcome(self, message: Message) -> Posted | OutgoingError:
        try:
            with anyio.fail_after(self._deadline_s):
                if self._kept is None:
                    self._kept = client_over(self._transport(keep_alive=True))
                    await self._open.enter_async_context(self._kept)
                connected = Connected()
                try:
                    return await self._send(self._kept, message, connected)
                except Unreachable:
                    if connected.anew:
                        raise
                    # A connection that was kept may just have been given up by the other side. The message has a
                    # name by which a receiver that has it already knows it again.
                    async with client_over(self._transport(keep_alive=False)) as fresh:
                        return await self._send(fresh, message, connected)
        except TimeoutError:
            return TimedOut(f"No complete answer came within {self._deadline_s:g} s.")
        except OutgoingError as error:
            return error

    async def _send(self, client: httpx2.AsyncClient, message: Message, connected: Connected) -> Posted:
        headers = {"User-Agent": USER_AGENT, **message.headers}
        try:
            url, watched = read_url(self._url), {"trace": connected.trace}
            async with client.stream("POST", url, headers=headers, content=message.body, extensions=watched) as answer:
                # The first of the body, as much of it as comes soon: the status is known, and must not be lost over
                # the rest.
                read = b""
                left_s = anyio.current_effective_deadline() - anyio.current_time()
                with anyio.move_on_after(min(BODY_WITHIN_S, left_s * 0.9)), suppress(OutgoingError, httpx2.HTTPError):
                    async for piece in answer.aiter_bytes():
                        read += piece
                        if len(read) >= KEPT_BYTES:
                            break
                text = OutgoingAnswer(answer.status_code, answer.headers, read[:KEPT_BYTES]).text
                return Posted(answer.status_code, text, str(answer.headers.get("retry-after", "")))
        except httpx2.HTTPError as error:
            raise Unreachable(f"The request failed: {text_of(error)}") from None

    def _transport(self, *, keep_alive: bool) -> PinnedTransport:
        return PinnedTransport(
            budget=lambda: Budget(_READ_BYTES), only_origin=origin_of(self._url), keep_alive=keep_alive
        )


# Signatures of webhooks, after the Standard Webhooks scheme (standardwebhooks.com): symmetric, version 1. Pure.

BEGINNING = "whsec_"
# The scheme asks for 24 to 64 bytes.
SECRET_BYTES = 32


def as_secret(key: bytes) -> str:
    """The key as receivers are given it."""
    return BEGINNING + base64.b64encode(key).decode("ascii")


def signed_headers(body: bytes, *, message_id: str, timestamp_s: int, secrets: Sequence[str]) -> dict[str, str]:
    """The headers that say who sent `body`, with a signature of each secret: receivers need only know one of them."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    signatures = []
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix(BEGINNING))
        digest = hmac.new(key, signed, hashlib.sha256).digest()
        signatures.append("v1," + base64.b64encode(digest).decode("ascii"))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(signatures),
    }
