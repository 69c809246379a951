"""What a model has written so far, on its way to the open pages of its run. Never kept: a lost message changes nothing.

A message carries the whole text so far, of a long one the tail, and replaces the one before it. It goes out at most
four times a second per run, on the doorbell's thread; what came in between is never sent.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from channels.layers import get_channel_layer

from reflection_app.adapters.doorbell import QUIET_S, Doorbell, bell, group_of_run

log = logging.getLogger(__name__)

MOST_BYTES = 12_000


@dataclass(frozen=True)
class PartialText:
    """The text of step `step` so far. Of two messages of one step the one with the greater `order` is the newer."""

    step: int
    order: tuple[int, int]
    role: str
    attempt: int | None = None
    text: str = ""
    is_tail: bool = False

    def with_text(self, text: str) -> "PartialText":
        """The next message: `text`, of which the beginning is left out where it is long."""
        tail = text[-MOST_BYTES:].encode("utf-8", "replace")[-MOST_BYTES:].decode("utf-8", "ignore")
        return replace(self, order=(self.order[0], self.order[1] + 1), text=tail, is_tail=len(tail) < len(text))

    def as_message(self) -> dict[str, Any]:
        return {"type": "partial", **vars(self), "order": list(self.order)}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Self:
        fields = {name: value for name, value in message.items() if name != "type"}
        return cls(**{**fields, "order": tuple(fields["order"])})


class Typist:
    """Sends the newest text of each run, and nothing of a step that has ended."""

    def __init__(self, doorbell: Doorbell) -> None:
        self._doorbell = doorbell
        self._lock = threading.Lock()
        self._newest: dict[str, PartialText] = {}
        self._busy: set[str] = set()

    def show(self, run_id: UUID, partial: PartialText) -> None:
        """Sends soon, unless something newer comes first; returns at once. May be called from any thread."""
        group = group_of_run(run_id)
        with self._lock:
            self._newest[group] = partial
            if group in self._busy:
                return
            self._busy.add(group)
        asyncio.run_coroutine_threadsafe(self._send_while_new(group), self._doorbell.loop())

    def forget(self, run_id: UUID) -> None:
        """Drops what was not sent yet."""
        with self._lock:
            self._newest.pop(group_of_run(run_id), None)

    async def _send_while_new(self, group: str) -> None:
        while True:
            with self._lock:
                partial = self._newest.pop(group, None)
                if partial is None:
                    self._busy.discard(group)
                    return
            await self._send(group, partial)
            await asyncio.sleep(QUIET_S)

    async def _send(self, group: str, partial: PartialText) -> None:
        layer = get_channel_layer()
        assert layer is not None
        try:
            await layer.group_send(group, partial.as_message())
        except Exception as error:  # noqa: BLE001 - the broker may be away; the text is shown when the step has ended
            log.warning("partial text for %s could not be sent: %s", group, error)


typist = Typist(bell)


@contextmanager
def writing(run_id: UUID, *, step: int, tries: int, role: str, attempt: int | None) -> Iterator[Callable[[str], None]]:
    """While it lasts, what the function it gives is called with is shown on the run's page."""
    partial = PartialText(step=step, order=(tries, 0), role=role, attempt=attempt)

    def on_text(text: str) -> None:
        nonlocal partial
        partial = partial.with_text(text)
        typist.show(run_id, partial)

    try:
        yield on_text
    finally:
        typist.forget(run_id)
