"""Channels of tests; the service behind them is a receiver on loopback that answers as the test says."""

from typing import Any

from reflection_app.alerts.channels import ChannelInput, create_channel
from reflection_app.alerts.models import Channel, ChannelMessage
from reflection_app.alerts.sending import BETWEEN, GATHERED_FOR
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from tests.teams.webhooks import Clock, Receiver

PATH = "/services/T000/B000/a-secret-path"
OK = {"slack": b"ok", "teams": b"", "feishu": b'{"code":0}', "dingtalk": b'{"errcode":0}', "wecom": b'{"errcode":0}'}


def service(kind: str = "slack", *statuses: str, body: bytes | None = None, **headers: str) -> Receiver:
    """A service that takes everything, unless it is given other answers."""
    return Receiver(*(statuses or ("200 OK",)), body=OK[kind] if body is None else body, **headers)


def make_channel(project: Project, receiver: Receiver, kind: str = "slack", **fields: Any) -> Channel:
    given = {"kind": kind, "name": f"#{kind}", "url": receiver.url + PATH, **fields}
    return create_channel(project, ChannelInput.model_validate(given), actor=Actor())


def gathered() -> Clock:
    """A clock at which what has just happened is to be told."""
    clock = Clock()
    clock.forward(seconds=GATHERED_FOR.total_seconds())
    return clock


def rest(clock: Clock) -> None:
    """Lets the time pass that lies between two messages."""
    clock.forward(seconds=BETWEEN.total_seconds())


def only_message() -> ChannelMessage:
    return ChannelMessage.objects.get()
