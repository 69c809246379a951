"""Sending channels what they are to be told: one message of all that has gathered, and never two at once.

A message is written down as begun before it is sent. Where its worker is lost before the answer was noted, it may have
arrived: it is sent once more, and says so; the second time it is given up.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.adapters.outgoing import Message, OutgoingError, Receiver, TimedOut
from reflection_app.adapters.tools.http import retry_after_s
from reflection_app.alerts.channels import AddressUnreadable, forget_waiting, lock, open_address
from reflection_app.alerts.composing import note_of, test_note
from reflection_app.alerts.models import Channel, ChannelItem, ChannelKind, ChannelMessage, ChannelTry, MessageState
from reflection_app.alerts.services import answer_of, request_of
from reflection_app.alerts.services.notes import Address, Answered, Meaning, Note
from reflection_app.core.audit import Actor, audit
from reflection_app.loops.storable import storable
from reflection_app.teams.models import ABOUT_CHANNEL, NotificationKind
from reflection_app.teams.notifications import tell_admins
from reflection_app.teams.webhook_sending import LONGEST_RETRY_AFTER_S, is_to_pause, next_delay_s

Clock = Callable[[], datetime]

DEADLINE_S = 15.0
LEASE = timedelta(seconds=60)
# What comes together goes together; then the room has its peace for a minute, which keeps to every service's limits.
GATHERED_FOR = timedelta(seconds=10)
BETWEEN = timedelta(seconds=60)
# A service that wants fewer messages and does not say when: DingTalk holds a robot back for ten minutes.
SLOWER_S = 600.0
MOST_ITEMS = 500
MOST_ASKED = 500
MOST_LOSSES = 2
LONGEST_ANSWER = 2_000
# The parts of an address that are long enough to be secret are not kept where a service repeats them.
SECRET_PART = 8

# Shown in the reader's language; kept in English.
NOTHING_ARRIVED = gettext_noop("Nothing was delivered for a day.")
SERVICE_REFUSES = gettext_noop("The service reports that this address no longer exists.")
LOST = gettext_noop("The worker stopped before the response was recorded. The message may have been delivered.")
LOST_AGAIN = gettext_noop(
    "A second worker stopped the same way. The message may have been delivered and is not retried."
)
REDIRECTED = gettext_noop("The service sent a redirect. Redirects are not followed.")


@dataclass(frozen=True)
class Held:
    """A message that the caller is to send, and may note the outcome of as long as its lease is the same."""

    message: ChannelMessage
    channel: Channel
    note: Note


@dataclass(frozen=True)
class Tried:
    """One request: what the answer meant, or the error that kept it from one."""

    meaning: Meaning
    status: int | None = None
    answer: str = ""
    error: str = ""
    retry_after: str = ""
    duration_s: float = 0.0


def is_quiet(channel: Channel, *, now: datetime) -> bool:
    """Whether the channel's quiet hours hold, in the project's time zone."""
    begins, ends = channel.quiet_from, channel.quiet_until
    if begins is None or ends is None:
        return False
    local = now.astimezone(channel.project.get_waiting().zone).time()
    return begins <= local < ends if begins < ends else local >= begins or local < ends


def due_channels(now: datetime) -> list[UUID]:
    """The channels that may have something to be sent now."""
    rested = Q(rest_until=None) | Q(rest_until__lte=now)
    gathered = ChannelItem.objects.filter(channel=OuterRef("pk"), message=None, created_at__lte=now - GATHERED_FOR)
    waiting = ChannelMessage.objects.filter(channel=OuterRef("pk"), state=MessageState.WAITING)
    due = waiting.filter(Q(lease_until=None, next_at__lte=now) | Q(lease_until__lte=now))
    channels = Channel.objects.filter(rested, is_enabled=True, project__deleted_at=None)
    return list(channels.filter(Exists(gathered) | Exists(due)).values_list("pk", flat=True)[:MOST_ASKED])


def send_due(channel_id: UUID, *, clock: Clock = timezone.now) -> bool:
    """Sends the channel what it is to be told, where it is time; whether something arrived."""
    held = claim(channel_id, now=clock())
    return held is not None and send(held, clock=clock).meaning is Meaning.ARRIVED


@transaction.atomic
def claim(channel_id: UUID, *, now: datetime) -> Held | None:
    """The message of all that the channel is to be told, held from now on; None where there is none, or not yet."""
    channels = Channel.objects.select_for_update(of=("self",), no_key=True).select_related("project")
    channel = channels.filter(pk=channel_id, is_enabled=True, project__deleted_at=None).first()
    if channel is None:
        return None
    for lost in channel.messages.filter(state=MessageState.WAITING, lease_until__lte=now):
        _note_loss(lost, now=now)
    if (channel.rest_until is not None and channel.rest_until > now) or is_quiet(channel, now=now):
        return None
    message = channel.messages.filter(state=MessageState.WAITING, is_test=False).first()
    if message is not None and (message.lease_until is not None or (message.next_at and message.next_at > now)):
        return None
    fresh = ChannelItem.objects.filter(channel=channel, message=None)
    if message is None:
        if not fresh.filter(created_at__lte=now - GATHERED_FOR).exists():
            return None
        message = ChannelMessage.objects.create(channel=channel, project_id=channel.project_id)
    fresh.update(message=message)
    items = list(message.items.select_related("event").order_by("created_at", "id")[:MOST_ITEMS])
    note = note_of(channel, items, now=now, is_again=bool(message.losses))
    if note is None:
        message.state, message.next_at = MessageState.OBSOLETE, None
        message.save(update_fields=["state", "next_at"])
        return None
    message.text, message.lease_until = storable(note.text), now + LEASE
    message.save(update_fields=["text", "lease_until"])
    channel.rest_until = now + BETWEEN
    channel.save(update_fields=["rest_until"])
    return Held(message, channel, note)


def _note_loss(message: ChannelMessage, *, now: datetime) -> None:
    """What is known of a message whose worker did not come back."""
    message.losses += 1
    message.tries += 1
    is_over = message.is_test or message.losses >= MOST_LOSSES
    error = LOST_AGAIN if message.losses >= MOST_LOSSES else LOST
    ChannelTry.objects.create(message=message, number=message.tries, error=error)
    message.lease_until = None
    message.state = MessageState.GIVEN_UP if is_over else MessageState.WAITING
    message.next_at = None if is_over else now
    message.save(update_fields=["losses", "tries", "lease_until", "state", "next_at"])


def send(held: Held, *, clock: Clock = timezone.now, deadline_s: float = DEADLINE_S) -> Tried:
    """Sends what the caller holds, and notes what came of it."""
    kind = ChannelKind(held.channel.kind)
    try:
        address = open_address(held.channel)
    except AddressUnreadable as error:
        tried = Tried(Meaning.FAILED, error=str(error))
    else:
        tried = _post(kind, held.note, address, now_s=clock().timestamp(), deadline_s=deadline_s)
    record(held.message, tried, now=clock())
    return tried


def _post(kind: ChannelKind, note: Note, address: Address, *, now_s: float, deadline_s: float) -> Tried:
    request, began = request_of(kind, note, address, now_s=now_s), time.monotonic()
    with Receiver(request.url, deadline_s=deadline_s) as receiver:
        (outcome,) = receiver.post([Message(request.body, {"Content-Type": "application/json; charset=utf-8"})])
    took_s = time.monotonic() - began
    if isinstance(outcome, OutgoingError):
        error = _without_secrets(str(outcome), address)
        if isinstance(outcome, TimedOut):
            error += " " + LOST_ON_THE_WAY
        return Tried(Meaning.FAILED, error=storable(error), duration_s=took_s)
    text = storable(_without_secrets(outcome.text, address))[:LONGEST_ANSWER]
    if 300 <= outcome.status < 400:
        answered = Answered(Meaning.FAILED, REDIRECTED)
    else:
        answered = answer_of(kind, outcome.status, outcome.text)
    why = "" if answered.meaning is Meaning.ARRIVED else _without_secrets(answered.why, address)[:LONGEST_ANSWER]
    return Tried(
        answered.meaning,
        status=outcome.status,
        answer=text,
        error=storable(why),
        retry_after=outcome.retry_after,
        duration_s=took_s,
    )


LOST_ON_THE_WAY = "It may have arrived all the same."


def _without_secrets(text: str, address: Address) -> str:
    """`text` without the address, its longer parts and the secret, which a service may repeat."""
    url = urlsplit(address.url)
    parts = [part for part in re.split(r"[/?&=#]", f"{url.path}?{url.query}") if len(part) >= SECRET_PART]
    for part in (address.url, address.secret, *parts, *(unquote(part) for part in parts)):
        if part:
            text = text.replace(part, "[…]")
    return text


@transaction.atomic
def record(message: ChannelMessage, tried: Tried, *, now: datetime) -> None:
    """Notes a try of a message that the caller holds. Where the hold was lost, whoever took it over notes theirs."""
    channel = Channel.objects.select_for_update(of=("self",), no_key=True).filter(pk=message.channel_id).first()
    mine = ChannelMessage.objects.select_for_update().filter(pk=message.pk, state=MessageState.WAITING).first()
    if channel is None or mine is None or mine.lease_until != message.lease_until:
        return
    mine.tries += 1
    mine.lease_until = None
    ChannelTry.objects.create(
        message=mine,
        number=mine.tries,
        status=tried.status,
        answer=tried.answer,
        error=tried.error,
        duration_s=tried.duration_s,
    )
    if tried.meaning is Meaning.ARRIVED:
        mine.state, mine.delivered_at, mine.next_at = MessageState.DELIVERED, now, None
        if channel.failing_since is not None:
            channel.keep(failing_since=None)
    else:
        asked_s = retry_after_s(tried.retry_after, now=now.timestamp()) if tried.retry_after else None
        if tried.meaning is Meaning.SLOWER:
            asked_s = asked_s or SLOWER_S
        delay_s = next_delay_s(mine.tries, chance=random(), retry_after_s=asked_s)  # noqa: S311 - no secret
        if mine.is_test or delay_s is None or tried.meaning is Meaning.GONE:
            mine.state, mine.next_at = MessageState.GIVEN_UP, None
        else:
            mine.next_at = now + timedelta(seconds=delay_s)
        if asked_s is not None:
            channel.keep(rest_until=now + timedelta(seconds=min(asked_s, LONGEST_RETRY_AFTER_S)))
    mine.save(update_fields=["tries", "lease_until", "state", "next_at", "delivered_at"])
    if tried.meaning is not Meaning.ARRIVED and not mine.is_test:
        _note_failure(channel, tried.meaning, now=now)


def _note_failure(channel: Channel, meaning: Meaning, *, now: datetime) -> None:
    """What the try says of the channel as a whole."""
    if meaning is Meaning.GONE:
        _switch_off(channel, reason=SERVICE_REFUSES)
    elif channel.failing_since is None:
        channel.keep(failing_since=now)
    elif is_to_pause(now - channel.failing_since):
        _switch_off(channel, reason=NOTHING_ARRIVED)


def _switch_off(channel: Channel, *, reason: str) -> None:
    if not channel.is_enabled:
        return
    channel.keep(is_enabled=False, off_reason=reason)
    forget_waiting(channel)
    audit(channel.project_id, Actor(), "channel.switched_off", target=channel, after={"reason": reason})
    kind, project_id = NotificationKind.CHANNEL_OFF, channel.project_id
    tell_admins(kind, channel, project_id=project_id, about=ABOUT_CHANNEL, title=channel.name)


# A test, for which somebody waits.

TEST_DEADLINE_S = 10.0


@transaction.atomic
def begin_test(channel: Channel, *, actor: Actor) -> Held:
    """A test message that the caller is to send at once, also to a channel that is off or has its quiet hours."""
    locked, now = lock(channel), timezone.now()
    note = test_note(locked)
    message = ChannelMessage.objects.create(
        channel=locked,
        project_id=locked.project_id,
        is_test=True,
        text=storable(note.text),
        lease_until=now + LEASE,
    )
    audit(locked.project_id, actor, "channel.tested", target=locked)
    return Held(message, locked, note)


def test_refusal(message: ChannelMessage) -> str:
    """Why a test did not arrive, in the service's own words; nothing where it did."""
    last = message.log.last()
    return (last.error or last.answer or _("No response.")) if last and not message.delivered_at else ""
