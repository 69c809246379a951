"""The chat services: what a message to each looks like and what its answers mean. Pure: clock and address come in.

Each module is written after the public documentation that it names.
"""

from collections.abc import Mapping
from typing import Protocol

from reflection_app.alerts.models import ChannelKind
from reflection_app.alerts.services import dingtalk, feishu, slack, teams, wecom
from reflection_app.alerts.services.notes import Address, Answered, Note, Post


class Service(Protocol):
    """What each of the modules offers."""

    def request(self, note: Note, address: Address, *, now_s: float) -> Post: ...
    def read(self, status: int, text: str) -> Answered: ...


MODULES: Mapping[ChannelKind, Service] = {
    ChannelKind.SLACK: slack,
    ChannelKind.TEAMS: teams,
    ChannelKind.FEISHU: feishu,
    ChannelKind.DINGTALK: dingtalk,
    ChannelKind.WECOM: wecom,
}


def request_of(kind: ChannelKind, note: Note, address: Address, *, now_s: float) -> Post:
    """The request that brings the note to the channel, within what the service takes."""
    return MODULES[kind].request(note, address, now_s=now_s)


def answer_of(kind: ChannelKind, status: int, text: str) -> Answered:
    """What the service's answer means."""
    return MODULES[kind].read(status, text)
