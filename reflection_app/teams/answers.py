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
    """An address that is told of the project's events."""

    id: UUID
    url: str
    description: str
    events: list[str] = Field(examples=[["run.finished"]])
    state: State = Field(description="failing: nothing arrives; after a day of that it is paused by itself")
    is_enabled: bool
    paused_at: AwareDatetime | None
    pause_reason: Annotated[str | None, OrNull] = Field(
        description="why, where the desk paused it or switched it off by itself"
    )
    failing_since: AwareDatetime | None
    former_secret_until: AwareDatetime | None = Field(
        validation_alias="former_until", description="until when the secret before this one signs, too"
    )
    created_at: AwareDatetime
    updated_at: AwareDatetime


class WebhookPage(PageAnswer):
    results: list[WebhookAnswer]


class NewSecretAnswer(Answer):
    """The webhook, and the secret that receivers check signatures with."""

    webhook: WebhookAnswer
    secret: str | None = Field(
        description="told this once: null where an idempotency key brings the same answer again. Rotate it then",
        examples=["whsec_…"],
    )


class TryAnswer(Answer):
    """One request, and what came back."""

    number: int
    status: int | None = Field(description="null where no answer came")
    answer: str = Field(description="the beginning of the body")
    error: Annotated[str | None, OrNull]
    duration_s: float
    created_at: AwareDatetime


class DeliveryAnswer(Answer):
    """One message to a webhook."""

    id: UUID
    message_id: str = Field(description="the header `webhook-id`, the same for every try")
    type: str = Field(examples=["run.finished"])
    state: DeliveryState
    tries: int
    next_at: AwareDatetime | None = Field(description="when it is tried next")
    run_id: Annotated[UUID | None, part("run_id")] = Field(
        validation_alias="event", description="of whose event it tells; null of a test, or where the run was deleted"
    )
    again: UUID | None = Field(validation_alias="again_id", description="the delivery that it repeats")
    created_at: AwareDatetime
    delivered_at: AwareDatetime | None


class DeliveryPage(PageAnswer):
    results: list[DeliveryAnswer]


class DeliveryDetailAnswer(DeliveryAnswer):
    """One message with its content and every try."""

    payload: dict[str, Any] | None = Field(description="null before it was first sent")
    log: Annotated[list[TryAnswer], Related]


# Tools and secrets as REST tells them; of a secret everything but its value.


class ToolAnswer(Answer):
    """A tool, and how it is called."""

    id: UUID
    name: str
    kind: ToolKind
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments")
    config: dict[str, Any] = Field(description="by kind; headers name secrets as {secret:NAME}")
    timeout_s: float
    is_enabled: bool
    effect: EffectSetting = Field(description="the admin's setting")
    effect_class: ToolEffect = Field(description="what counts: the setting, or else what the way of calling shows")
    is_allowed: bool = Field(description="calls that a model proposes are made without asking a reviewer")
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ToolPage(PageAnswer):
    results: list[ToolAnswer]


class SkippedTool(Answer):
    name: str
    why: str


class ToolImportAnswer(Answer):
    """What became of the server's tools, by the names that they have here."""

    added: list[str]
    updated: list[str]
    unchanged: list[str]
    skipped: list[SkippedTool]


class SecretAnswer(Answer):
    """A secret without its value, which is never told."""

    id: UUID
    name: str
    origin: str = Field(description="the one origin that it is sent to")
    created_at: AwareDatetime


class SecretPage(PageAnswer):
    results: list[SecretAnswer]


def import_answer(imported: Imported) -> ToolImportAnswer:
    skipped = [SkippedTool(name=name, why=why) for name, why in imported.skipped]
    return ToolImportAnswer.from_row(imported, skipped=skipped)
