"""Tools and secrets as REST tells them; of a secret everything but its value."""

from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.teams.import_tools import Imported
from reflection_app.teams.models.tool import Secret, Tool, ToolKind


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


def tool_answer(tool: Tool) -> ToolAnswer:
    return ToolAnswer(
        id=tool.pk,
        name=tool.name,
        kind=ToolKind(tool.kind),
        description=tool.description,
        parameters=tool.parameters,
        config=tool.config,
        timeout_s=tool.timeout_s,
        is_enabled=tool.is_enabled,
        created_at=tool.created_at,
        updated_at=tool.updated_at,
    )


def import_answer(imported: Imported) -> ToolImportAnswer:
    return ToolImportAnswer(
        added=imported.added,
        updated=imported.updated,
        unchanged=imported.unchanged,
        skipped=[SkippedTool(name=name, why=why) for name, why in imported.skipped],
    )


def secret_answer(secret: Secret) -> SecretAnswer:
    return SecretAnswer(id=secret.pk, name=secret.name, origin=secret.origin, created_at=secret.created_at)
