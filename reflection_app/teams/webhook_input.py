"""What a webhook must hold, whoever hands it in."""

from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.outgoing import OutgoingError, check_url
from reflection_app.adapters.outgoing.urls import LONGEST_URL
from reflection_app.core.errors import InvalidInput
from reflection_app.core.events import EventType
from reflection_app.loops.storable import is_storable
from reflection_app.loops.values import Value

LONGEST_DESCRIPTION = 200
# Those that are written; who claims a review and gives it back is told by the queue alone.
OFFERED = tuple(kind for kind in EventType if kind not in {EventType.REVIEW_CLAIMED, EventType.REVIEW_RELEASED})
USUAL = (EventType.RUN_FINISHED, EventType.RUN_WAITING, EventType.REVIEW_DECIDED)


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it holds characters that cannot be stored")
    return text.strip()


def _offered(events: tuple[EventType, ...]) -> tuple[EventType, ...]:
    unknown = sorted(set(events) - set(OFFERED))
    if unknown:
        raise ValueError(f"of this webhooks are not told: {', '.join(unknown)}")
    return tuple(kind for kind in OFFERED if kind in events)


Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION), AfterValidator(_storable)]
Events = Annotated[tuple[EventType, ...], Field(min_length=1, max_length=100), AfterValidator(_offered)]
Url = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_storable)]


class WebhookInput(Value):
    """An address that is told of a project's events."""

    url: Url = Field(description="http or https, on the public internet", examples=["https://ci.example.com/desk"])
    events: Events = Field(description="which events it is told of")
    description: Description = ""


class WebhookChange(Value):
    """What is to be changed of a webhook; what is left out stays. The secret stays in any case."""

    url: Url | None = None
    events: Events | None = None
    description: Description | None = None
    is_enabled: bool | None = Field(
        default=None, description="false: no deliveries are written any more, and those that wait are given up"
    )


def check_receiver(url: str) -> None:
    """Raises InvalidInput where nothing could be sent there. Asks the name server: call it outside of transactions."""
    try:
        check_url(url)
    except OutgoingError as error:
        raise InvalidInput(_("The webhook was not saved."), errors=[{"field": "url", "message": str(error)}]) from None
