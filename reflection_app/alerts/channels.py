"""Channels: made, changed, deleted, tested. Their addresses are secrets, which nobody is shown again."""

import json
from datetime import time
from typing import Annotated, Any, Self

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, model_validator

from reflection_app.adapters.outgoing import OutgoingError, check_url, origin_of
from reflection_app.adapters.outgoing.urls import LONGEST_URL, read_url
from reflection_app.adapters.tools.secrets import cipher
from reflection_app.alerts.models import Channel, ChannelItem, ChannelKind, ChannelMessage, MessageState, Topic
from reflection_app.alerts.services import teams
from reflection_app.alerts.services.notes import Address
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.loops.project_settings import WaitingSettings
from reflection_app.loops.storable import only_storable
from reflection_app.loops.values import Value
from reflection_app.teams.projects import save_settings

LONGEST_NAME = 80
LONGEST_SECRET = 200
MOST_CHANNELS = 20
USUAL_TOPICS = (Topic.REVIEW, Topic.QUESTION, Topic.ESCALATION, Topic.RUN_FAILED)


def _in_order(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    return tuple(topic for topic in Topic if topic in topics)


def _spoken(language: str) -> str:
    if language not in dict(settings.LANGUAGES):
        raise ValueError(f"the desk speaks {', '.join(dict(settings.LANGUAGES))}")
    return language


def _whole_minutes(at: time) -> time:
    if at.tzinfo is not None:
        raise ValueError("without an offset: it is of the project's time zone")
    return at.replace(second=0, microsecond=0)


def _some(name: str) -> str:
    if not name:
        raise ValueError("not empty")
    return name


Plain = (AfterValidator(only_storable), AfterValidator(str.strip))
Name = Annotated[str, Field(max_length=LONGEST_NAME), *Plain, AfterValidator(_some)]
Url = Annotated[str, Field(max_length=LONGEST_URL), *Plain]
Signing = Annotated[str, Field(max_length=LONGEST_SECRET), *Plain]
Topics = Annotated[tuple[Topic, ...], Field(min_length=1, max_length=len(Topic)), AfterValidator(_in_order)]
Language = Annotated[str, Field(max_length=10), AfterValidator(_spoken)]
Hour = Annotated[time, AfterValidator(_whole_minutes)]


class ChannelChange(Value):
    """What is to be changed of a channel; what is left out stays."""

    name: Name | None = None
    # Where its host is another, the secret goes unless one is sent with it.
    url: Url | None = None
    secret: Signing | None = None
    topics: Topics | None = None
    language: Language | None = None
    is_enabled: bool | None = None
    # Nothing is sent between them, in the project's time zone.
    quiet_from: Hour | None = None
    quiet_until: Hour | None = None

    @model_validator(mode="after")
    def _check_quiet(self) -> Self:
        if (self.quiet_from is None) != (self.quiet_until is None):
            raise ValueError("quiet hours have a beginning and an end")
        if self.quiet_from is not None and self.quiet_from == self.quiet_until:
            raise ValueError("quiet hours must not be the whole day")
        return self


class ChannelInput(ChannelChange):
    """A room of a chat service that is told what waits."""

    kind: ChannelKind
    name: Name
    url: Url
    # Of Feishu and DingTalk, where their bot asks for a signature.
    secret: Signing = ""
    topics: Topics = USUAL_TOPICS
    language: Language = "en"
    is_enabled: bool = True


# Addresses at rest, sealed together with the secret and the host that both were entered for.

PURPOSE = b"reflection-desk: addresses of channels"


class AddressUnreadable(Exception):
    """The channel's address cannot be read: SECRET_KEY has changed. Enter it again."""


def seal(address: Address) -> str:
    sealed = json.dumps({"url": address.url, "secret": address.secret})
    return cipher(PURPOSE).encrypt(sealed.encode()).decode("ascii")


def open_address(channel: Channel) -> Address:
    """Where the channel is reached. Raises AddressUnreadable."""
    try:
        opened = json.loads(cipher(PURPOSE).decrypt(channel.ciphertext.encode()))
    except InvalidToken:
        raise AddressUnreadable(str(AddressUnreadable.__doc__)) from None
    return Address(url=opened["url"], secret=opened["secret"])


def check_address(url: str, *, kind: ChannelKind) -> str:
    """The origin of the address. Raises InvalidInput where nothing could be sent there.

    Asks the name server: call it outside of transactions.
    """
    try:
        check_url(url)
    except OutgoingError as error:
        # What the refusal says of an address is of its form or its host, never of the rest.
        raise wrong("url", str(error)) from None
    if kind == ChannelKind.TEAMS and read_url(url).host.endswith(teams.RETIRED):
        raise wrong(
            "url",
            _("Office 365 connectors are retired. Create a workflow from the webhook template in Teams instead."),
        )
    return origin_of(url)


def create_channel(project: Project, data: ChannelInput, *, actor: Actor) -> Channel:
    """The channel. Raises InvalidInput, or Conflict where there are too many."""
    origin = check_address(data.url, kind=data.kind)
    _refuse_secret(data.secret, kind=data.kind)
    fields = data.model_dump(exclude={"url", "secret"}) | {"topics": [topic.value for topic in data.topics]}
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if Channel.objects.filter(project=project).count() >= MOST_CHANNELS:
            raise Conflict(_("A project can have at most %(most)s channels.") % {"most": MOST_CHANNELS})
        _refuse_taken_name(project, data.name)
        channel = Channel.objects.create(
            project=project,
            ciphertext=seal(Address(data.url, data.secret)),
            host=origin,
            has_secret=bool(data.secret),
            created_by=actor.user,
            **fields,
        )
        audit(project.pk, actor, "channel.created", target=channel, after=audit_fields(channel))
    return channel


def change_channel(channel: Channel, change: ChannelChange, *, actor: Actor) -> Channel:
    """The changed channel. Raises InvalidInput, or NotFound where it was deleted meanwhile.

    An address at another host takes the secret with it, which was given for the former one. Switched off, what waits is
    forgotten; switched on, it begins anew.
    """
    kind = ChannelKind(channel.kind)
    origin = "" if change.url is None else check_address(change.url, kind=kind)
    _refuse_secret(change.secret or "", kind=kind)
    wanted = change.model_dump(exclude={"url", "secret"}, exclude_unset=True)
    plain = {name: value for name, value in wanted.items() if value is not None or name.startswith("quiet_")}
    if change.topics is not None:
        plain["topics"] = [topic.value for topic in change.topics]
    with transaction.atomic():
        locked = lock(channel)
        before = audit_fields(locked)
        if change.name is not None and change.name != locked.name:
            _refuse_taken_name(locked.project, change.name)
        if origin or change.secret is not None:
            _readdress(locked, change, origin=origin)
        was_enabled = locked.is_enabled
        for name, value in plain.items():
            setattr(locked, name, value)
        if locked.is_enabled != was_enabled:
            locked.off_reason, locked.failing_since, locked.rest_until = "", None, None
            if not locked.is_enabled:
                forget_waiting(locked)
        locked.save()
        after = audit_fields(locked)
        is_other = bool(origin) or change.secret is not None
        changed = {name for name in after if after[name] != before[name]} | ({"host"} if is_other else set())
        if changed:
            audit(
                locked.project_id,
                actor,
                "channel.changed",
                target=locked,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed} | ({"address": "entered again"} if is_other else {}),
            )
    return locked


@transaction.atomic
def delete_channel(channel: Channel, *, actor: Actor) -> None:
    """Deletes the channel and its log. Raises NotFound the second time."""
    locked = Channel.objects.select_for_update(of=("self",)).filter(pk=channel.pk).first()
    if locked is None:
        raise NotFound(_("Channel not found."))
    audit(locked.project_id, actor, "channel.deleted", target=locked, before=audit_fields(locked))
    locked.delete()


def lock(channel: Channel) -> Channel:
    """The channel as it is now, for a change in this transaction. Raises NotFound.

    Not locked so far that those who only write what it is to be told would wait.
    """
    rows = Channel.objects.select_for_update(of=("self",), no_key=True).select_related("project")
    locked = rows.filter(pk=channel.pk).first()
    if locked is None:
        raise NotFound(_("Channel not found."))
    return locked


def forget_waiting(channel: Channel) -> None:
    """Gives up what the channel was still to be told."""
    waiting = ChannelMessage.objects.filter(channel=channel, state=MessageState.WAITING)
    given_up: dict[str, Any] = {"state": MessageState.GIVEN_UP, "next_at": None, "lease_until": None}
    waiting.update(**given_up)
    ChannelItem.objects.filter(channel=channel, message=None).delete()


def audit_fields(channel: Channel) -> dict[str, Any]:
    """The channel for the trail, which every member reads: of its address the host alone."""
    return {
        "kind": channel.kind,
        "name": channel.name,
        "host": channel.host,
        "has_secret": channel.has_secret,
        "topics": channel.topics,
        "language": channel.language,
        "quiet_from": channel.quiet_from and f"{channel.quiet_from:%H:%M}",
        "quiet_until": channel.quiet_until and f"{channel.quiet_until:%H:%M}",
        "is_enabled": channel.is_enabled,
    }


def _readdress(channel: Channel, change: ChannelChange, *, origin: str | None) -> None:
    """Seals the new address. Where the old one cannot be read, it has to be entered again with its secret."""
    try:
        former = open_address(channel)
    except AddressUnreadable:
        if change.url is None:
            raise wrong("url", str(AddressUnreadable.__doc__)) from None
        former = Address("")
    is_elsewhere = origin is not None and origin != channel.host
    kept = "" if is_elsewhere else former.secret
    address = Address(change.url or former.url, kept if change.secret is None else change.secret)
    channel.ciphertext, channel.has_secret = seal(address), bool(address.secret)
    channel.host = origin or channel.host
    channel.failing_since = None


def _refuse_secret(secret: str, *, kind: ChannelKind) -> None:
    if secret and not kind.signs:
        raise wrong("secret", _("%(service)s does not verify signatures. Leave this empty.") % {"service": kind.label})


def _refuse_taken_name(project: Project, name: str) -> None:
    if Channel.objects.filter(project=project, name=name).exists():
        raise wrong("name", _("Another channel in this project has this name."))


# The project's goals and time zone.


def change_waiting(project: Project, waiting: WaitingSettings, *, actor: Actor) -> Project:
    """The project with other goals; saving what holds already changes nothing."""
    if project.get_waiting() == waiting:
        return project
    return save_settings(project, actor=actor, waiting=waiting.model_dump(mode="json"))
