"""Webhooks of tests, and a receiver on loopback that checks what it is sent as any receiver would."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from django.db import transaction
from standardwebhooks import Webhook as Verifier

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run
from reflection_app.teams.models import Delivery, Webhook
from reflection_app.teams.webhooks import WebhookInput, create_webhook
from tests.adapters.outgoing.server import Heard, RawServer, reply


@dataclass(frozen=True)
class Told:
    """A message that a receiver believes."""

    id: str
    body: Any
    heard: Heard


class Receiver(RawServer):
    """Answers with the next of `statuses`, and with the last of them from then on."""

    def __init__(self, *statuses: str, body: bytes = b"", **headers: str) -> None:
        self.statuses = list(statuses or ["204 No Content"])
        self.body, self.headers = body, headers
        super().__init__(self._next)

    def _next(self, heard: Heard, connection: socket.socket) -> None:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        reply(self.body, status=status, **self.headers)(heard, connection)

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def believed(self, secret: str) -> list[Told]:
        """What arrived. Raises WebhookVerificationError where a signature is not of this secret, or is old."""
        return [
            Told(heard.headers["webhook-id"], Verifier(secret).verify(heard.body, heard.headers), heard)
            for heard in self.heard
        ]


def make_webhook(
    project: Project, url: str, events: Sequence[str] = (EventType.RUN_FINISHED,), **fields: Any
) -> tuple[Webhook, str]:
    """A webhook and its secret."""
    given = WebhookInput.model_validate({"url": url, "events": list(events), **fields})
    return create_webhook(project, given, actor=Actor())


def happen(run: Run, kind: EventType = EventType.RUN_FINISHED, **payload: Any) -> None:
    """Something happens to the run."""
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        add_event(locked, kind, **payload)
        locked.save(update_fields=["last_event_seq"])


def only_delivery() -> Delivery:
    return Delivery.objects.get()


class Clock:
    """A clock that goes on where a test says so. It begins a little late, for what is written now to be due."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) + timedelta(seconds=2)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)
