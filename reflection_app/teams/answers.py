"""Webhooks, tools and secrets as REST tells them."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer, OrNull, PageAnswer, Related, part
from reflection_app.loops.tool_permission import ToolEffect
from reflection_app.teams.import_tools import Imported
from reflection_app.teams.models import DeliveryState, EffectSetting, ToolKind

# Webhooks and what they are sent, as REST tells them; a secret once, where it was made.


type State = Literal["on", "failing", "paused", "off"]


class WebhookAnswer(Answer):
    """An endpoint that receives the project's events."""

    id: UUID
    url: str
    description: str
    events: list[str] = Field(examples=[["run.finished"]])
    state: State = Field(
        description="failing: nothing is delivered; after a day of that, the webhook is paused automatically"
    )
    is_enabled: bool
    paused_at: AwareDatetime | None
    pause_reason: Annotated[str | None, OrNull] = Field(
        description="why the server paused or disabled it automatically"
    )
    failing_since: AwareDatetime | None
    former_secret_until: AwareDatetime | None = Field(
        validation_alias="former_until", description="time until which the previous secret also signs"
    )
    created_at: AwareDatetime
    updated_at: AwareDatetime


class WebhookPage(PageAnswer):
    results: list[WebhookAnswer]


class NewSecretAnswer(Answer):
    """The webhook, and the secret with which receivers check signatures."""

    webhook: WebhookAnswer
    secret: str | None = Field(
        description="Returned only once; null if an idempotency key repeats the response. Then rotate the secret.",
        examples=["whsec_…"],
    )


class TryAnswer(Answer):
    """One request and its response."""

    number: int
    status: int | None = Field(description="null if there was no response")
    answer: str = Field(description="beginning of the response body")
    error: Annotated[str | None, OrNull]
    duration_s: float
    created_at: AwareDatetime


class DeliveryAnswer(Answer):
    """One message to a webhook."""

    id: UUID
    message_id: str = Field(description="value of the `webhook-id` header, the same for every try")
    type: str = Field(examples=["run.finished"])
    state: DeliveryState
    tries: int
    next_at: AwareDatetime | None = Field(description="time of the next try")
    run_id: Annotated[UUID | None, part("run_id")] = Field(
        validation_alias="event", description="run that the event belongs to; null for a test or if the run was deleted"
    )
    again: UUID | None = Field(validation_alias="again_id", description="the delivery that this one repeats")
    created_at: AwareDatetime
    delivered_at: AwareDatetime | None


class DeliveryPage(PageAnswer):
    results: list[DeliveryAnswer]


class DeliveryDetailAnswer(DeliveryAnswer):
    """One message with its content and all tries."""

    payload: dict[str, Any] | None = Field(description="null before the first try")
    log: Annotated[list[TryAnswer], Related]


# Tools and secrets as REST tells them; of a secret everything but its value.


class ToolAnswer(Answer):
    """A tool and how to call it."""

    id: UUID
    name: str
    kind: ToolKind
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments")
    config: dict[str, Any] = Field(description="settings by kind; headers name secrets as {secret:NAME}")
    timeout_s: float
    is_enabled: bool
    effect: EffectSetting = Field(description="effect class set by an admin")
    effect_class: ToolEffect = Field(
        description="effective class: the setting, else derived from how the tool is called"
    )
    is_allowed: bool = Field(description="whether calls that a model proposes are made without asking a reviewer")
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ToolPage(PageAnswer):
    results: list[ToolAnswer]


class SkippedTool(Answer):
    name: str
    why: str


class ToolImportAnswer(Answer):
    """Result of importing the server's tools, by their names in this project."""

    added: list[str]
    updated: list[str]
    unchanged: list[str]
    skipped: list[SkippedTool]


class SecretAnswer(Answer):
    """A secret without its value, which is never returned."""

    id: UUID
    name: str
    origin: str = Field(description="the only origin that the secret is sent to")
    created_at: AwareDatetime


class SecretPage(PageAnswer):
    results: list[SecretAnswer]


def import_answer(imported: Imported) -> ToolImportAnswer:
    skipped = [SkippedTool(name=name, why=why) for name, why in imported.skipped]
    return ToolImportAnswer.from_row(imported, skipped=skipped)
