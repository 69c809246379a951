"""Channels and what they were sent, as REST tells them: of an address its host, and of a secret that there is one."""

from datetime import time
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, PlainSerializer

from reflection_app.alerts.models import ChannelKind, MessageState, Topic
from reflection_app.api.reading import Answer, OrNull, PageAnswer, Related

Hour = Annotated[time, PlainSerializer(lambda at: f"{at:%H:%M}", return_type=str)]


class ChannelAnswer(Answer):
    """A room of a chat service that is told what waits."""

    id: UUID
    kind: ChannelKind
    name: str
    host: str = Field(description="all that is told of its address", examples=["https://hooks.slack.com:443"])
    has_secret: bool = Field(description="whether its messages are signed")
    topics: list[Topic]
    language: str
    quiet_from: Hour | None
    quiet_until: Hour | None = Field(description="of the project's time zone")
    state: Literal["on", "failing", "off"] = Field(description="after a day of failing the desk switches it off")
    is_enabled: bool
    off_reason: Annotated[str | None, OrNull] = Field(description="why, where the desk switched it off by itself")
    failing_since: AwareDatetime | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ChannelPage(PageAnswer):
    results: list[ChannelAnswer]


class ChannelTryAnswer(Answer):
    """One request, and what came back."""

    number: int
    status: int | None = Field(description="null where no answer came")
    answer: str = Field(description="the beginning of the body; of the address nothing is repeated")
    error: Annotated[str | None, OrNull] = Field(description="why it is no success, in the service's words")
    duration_s: float
    created_at: AwareDatetime


class ChannelMessageAnswer(Answer):
    """One message to a channel."""

    id: UUID
    is_test: bool
    state: MessageState = Field(description="obsolete: what it was to tell of had been dealt with")
    text: str = Field(description="what it said last, without its links")
    tries: int
    losses: int = Field(description="how often its worker was lost while it was sent: it may have arrived as often")
    next_at: AwareDatetime | None = Field(description="when it is tried next")
    created_at: AwareDatetime
    delivered_at: AwareDatetime | None


class ChannelMessagePage(PageAnswer):
    results: list[ChannelMessageAnswer]


class ChannelMessageDetail(ChannelMessageAnswer):
    """One message with every try."""

    log: Annotated[list[ChannelTryAnswer], Related]
