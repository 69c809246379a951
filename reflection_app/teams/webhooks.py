"""Webhooks: made, changed, resumed, taken away. The address is told of what happens from then on."""

import json
import secrets
from datetime import datetime, timedelta
from typing import Annotated, Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.outgoing import OutgoingError, as_secret, check_url, origin_of
from reflection_app.adapters.outgoing.posting import SECRET_BYTES
from reflection_app.adapters.outgoing.urls import LONGEST_URL
from reflection_app.adapters.tools.secrets import cipher
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import only_storable
from reflection_app.loops.values import Value
from reflection_app.runs.events import Event, EventType
from reflection_app.teams.models import TEST, Delivery, DeliveryState, Webhook

# What a webhook must hold, whoever hands it in.

LONGEST_DESCRIPTION = 200
# Those that are written; who claims a review and gives it back is told by the queue alone.
NOT_SENT = frozenset({EventType.REVIEW_CLAIMED, EventType.REVIEW_RELEASED, EventType.CHECKS_SUGGESTED})
OFFERED = tuple(kind for kind in EventType if kind not in NOT_SENT)
USUAL = (EventType.RUN_FINISHED, EventType.RUN_WAITING, EventType.REVIEW_DECIDED)


def _offered(events: tuple[EventType, ...]) -> tuple[EventType, ...]:
    unknown = sorted(set(events) - set(OFFERED))
    if unknown:
        raise ValueError(f"of this webhooks are not told: {', '.join(unknown)}")
    return tuple(kind for kind in OFFERED if kind in events)


Description = Annotated[
    str, Field(max_length=LONGEST_DESCRIPTION), AfterValidator(only_storable), AfterValidator(str.strip)
]
Events = Annotated[tuple[EventType, ...], Field(min_length=1, max_length=100), AfterValidator(_offered)]
Url = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(only_storable), AfterValidator(str.strip)]


class WebhookInput(Value):
    """An endpoint that receives a project's events."""

    url: Url = Field(description="http or https, on the public internet", examples=["https://ci.example.com/desk"])
    events: Events = Field(description="events that it receives")
    description: Description = ""


class WebhookChange(Value):
    """Changes to a webhook. Omitted fields and the secret stay unchanged."""

    url: Url | None = None
    events: Events | None = None
    description: Description | None = None
    is_enabled: bool | None = Field(
        default=None, description="false: no new deliveries are created, and waiting ones are given up"
    )


def check_receiver(url: str) -> None:
    """Raises InvalidInput where nothing could be sent there. Asks the name server: call it outside of transactions."""
    try:
        check_url(url)
    except OutgoingError as error:
        raise wrong("url", str(error), said=_("The webhook was not saved.")) from None


# The secrets that sign what webhooks are sent: ours, made here, told once.

PURPOSE = b"reflection-desk: secrets of webhooks"


class SecretUnreadable(Exception):
    """The secret cannot be read: SECRET_KEY has changed. Rotate it."""


def new_secret() -> str:
    """A secret that nobody has seen yet."""
    return as_secret(secrets.token_bytes(SECRET_BYTES))


def seal(secret: str) -> str:
    """The secret as it is stored."""
    return cipher(PURPOSE).encrypt(secret.encode()).decode("ascii")


def signing_secrets(webhook: Webhook, *, now: datetime) -> list[str]:
    """The present secret and, while receivers change over, the former one. Raises SecretUnreadable."""
    sealed = [webhook.ciphertext]
    if webhook.former_ciphertext and webhook.former_until is not None and webhook.former_until > now:
        sealed.append(webhook.former_ciphertext)
    try:
        return [cipher(PURPOSE).decrypt(one.encode()).decode("ascii") for one in sealed]
    except InvalidToken:
        raise SecretUnreadable(str(SecretUnreadable.__doc__)) from None


# Each of them costs a row for each event that it is told of, in the transaction of the event.
MOST_WEBHOOKS = 20
# So long the former secret signs beside a new one.
OVERLAP = timedelta(hours=24)


def create_webhook(project: Project, data: WebhookInput, *, actor: Actor) -> tuple[Webhook, str]:
    """The webhook and its secret, which is not told again. Raises InvalidInput; Conflict where there are too many."""
    check_receiver(data.url)
    secret = new_secret()
    fields = data.model_dump(mode="json")
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        if Webhook.objects.filter(project=project).count() >= MOST_WEBHOOKS:
            raise Conflict(_("A project can have at most %(most)s webhooks.") % {"most": MOST_WEBHOOKS})
        webhook = Webhook.objects.create(project=project, ciphertext=seal(secret), created_by=actor.user, **fields)
        audit(project.pk, actor, "webhook.created", target=webhook, after=audit_fields(fields))
    return webhook, secret


def change_webhook(webhook: Webhook, change: WebhookChange, *, actor: Actor) -> Webhook:
    """The changed webhook. Raises InvalidInput, or NotFound where it was deleted meanwhile.

    What waits is sent to the new address. Switched off, what waits is given up.
    """
    wanted = change.model_dump(mode="json", exclude_none=True)
    if change.url is not None and change.url != webhook.url:
        check_receiver(change.url)
    with transaction.atomic():
        locked = lock(webhook)
        before = {name: getattr(locked, name) for name in wanted}
        changed = {name: value for name, value in wanted.items() if before[name] != value}
        if not changed:
            return locked
        for name, value in changed.items():
            setattr(locked, name, value)
        if "is_enabled" in changed:
            _begin_anew(locked)
            if not locked.is_enabled:
                give_up_waiting(locked)
        locked.save()
        old = audit_fields({name: before[name] for name in changed})
        audit(locked.project_id, actor, "webhook.changed", target=locked, before=old, after=audit_fields(changed))
    return locked


@transaction.atomic
def rotate_secret(webhook: Webhook, *, actor: Actor) -> tuple[Webhook, str]:
    """The webhook and its new secret, which is not told again; the former signs beside it for OVERLAP."""
    locked, secret = lock(webhook), new_secret()
    locked.former_ciphertext, locked.former_until = locked.ciphertext, timezone.now() + OVERLAP
    locked.ciphertext = seal(secret)
    locked.save(update_fields=["ciphertext", "former_ciphertext", "former_until", "updated_at"])
    audit(locked.project_id, actor, "webhook.rotated", target=locked)
    return locked, secret


@transaction.atomic
def resume_webhook(webhook: Webhook, *, actor: Actor) -> Webhook:
    """The webhook, to which all that waits is sent from now on."""
    locked = lock(webhook)
    if locked.paused_at is not None:
        before = {"paused_at": locked.paused_at.isoformat(), "reason": locked.pause_reason}
        _begin_anew(locked)
        locked.save(update_fields=["paused_at", "pause_reason", "failing_since", "updated_at"])
        Delivery.objects.filter(webhook=locked, state=DeliveryState.WAITING).update(next_at=timezone.now())
        audit(locked.project_id, actor, "webhook.resumed", target=locked, before=before)
    return locked


@transaction.atomic
def delete_webhook(webhook: Webhook, *, actor: Actor) -> None:
    """Deletes the webhook, its log, and what it was still to be sent. Raises NotFound the second time.

    Locked as the outbox's trigger locks it the other way: what has just written a delivery commits first.
    """
    locked = Webhook.objects.select_for_update(of=("self",)).filter(pk=webhook.pk).first()
    if locked is None:
        raise NotFound(_("Webhook not found."))
    told = {"url": locked.url, "events": locked.events, "description": locked.description}
    audit(locked.project_id, actor, "webhook.deleted", target=locked, before=audit_fields(told))
    locked.delete()


def lock(webhook: Webhook) -> Webhook:
    """The webhook as it is now, for a change in this transaction. Raises NotFound.

    Not locked so far that those who only write deliveries to it would wait.
    """
    rows = Webhook.objects.select_for_update(of=("self",), no_key=True).select_related("project")
    locked = rows.filter(pk=webhook.pk).first()
    if locked is None:
        raise NotFound(_("Webhook not found."))
    return locked


def give_up_waiting(webhook: Webhook) -> int:
    """Gives up what was still to be sent; how much it was."""
    waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    given_up: dict[str, Any] = {"state": DeliveryState.GIVEN_UP, "next_at": None, "lease_until": None}
    return waiting.update(**given_up)


def audit_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields for the audit trail, which every member reads: of the address only where it is, for the rest of it
    is with some services all that a sender needs to know."""
    return fields | ({"url": origin_of(fields["url"]) + "/…"} if "url" in fields else {})


def _begin_anew(webhook: Webhook) -> None:
    webhook.paused_at, webhook.pause_reason, webhook.failing_since = None, "", None


# What a webhook is sent: thin, so that it holds little that somebody should not read. The rest is asked for over REST.
#
# It tells of the event and of nothing that came after it, however late it is sent.

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
