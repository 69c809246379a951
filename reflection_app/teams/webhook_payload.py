"""What a webhook is sent: thin, so that it holds little that somebody should not read. The rest is asked for over REST.

It tells of the event and of nothing that came after it, however late it is sent.
"""

import json
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from reflection_app.core.events import Event
from reflection_app.teams.models.webhook import TEST, Webhook

# The scheme asks for small messages; an event's own payload that is longer is left out.
LONGEST_PAYLOAD = 40_000


def event_message(event: Event) -> dict[str, Any]:
    """The message of an event. Ask for it with its run, the run's task and the project."""
    run = event.run
    payload = event.payload if len(json.dumps(event.payload)) <= LONGEST_PAYLOAD else None
    data = {
        "event_id": str(event.pk),
        "project": event.project.slug,
        "run_id": str(run.pk),
        "seq": event.seq,
        "task_id": str(run.task_id),
        "external_id": run.task.external_id,
        "agent": run.task.agent,
        "page": settings.PUBLIC_URL + reverse("run", args=(event.project.slug, run.pk)),
        "payload": payload,
    }
    return _message(event.type, at=event.created_at, data=data)


def test_message(webhook: Webhook) -> dict[str, Any]:
    """The message of a test."""
    data = {"project": webhook.project.slug, "webhook_id": str(webhook.pk), "note": "This is a test."}
    return _message(TEST, at=timezone.now(), data=data)


def body_of(message: dict[str, Any]) -> bytes:
    """The bytes that are signed and sent, the same for every try: the database keeps no order of names."""
    return json.dumps(message, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _message(kind: str, *, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": data}
