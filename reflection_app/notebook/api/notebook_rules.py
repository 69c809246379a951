"""The rules prompt: what the notebook says most often, as text for a system prompt."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app.public import EntryKind, RulesPrompt, rules_prompt
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Text


class RulesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int | None = Field(
        default=None, ge=1, le=100, description="at most so many entries; the project's where left out"
    )
    min_occurrences: int | None = Field(
        default=None, ge=1, le=1_000_000, description="found at least so often; the project's where left out"
    )
    kind: EntryKind | None = Field(default=None, description="of this kind alone")
    agent: Text = Field(default="", max_length=120, description="what holds for this agent, and what holds for all")


class RuleAnswer(Answer):
    id: UUID
    version: int
    kind: EntryKind
    name: str
    occurrences: int


class RulesPromptAnswer(Answer):
    text: str = Field(description="put it into the system prompt as it stands; empty where there is nothing to tell")
    boundary: str = Field(description="the token in both markers, random in every answer")
    entries: list[RuleAnswer] = Field(description="those in the text, the first told first")
    left_out_flagged: int = Field(description="approved entries left out until a curator has looked at them")
    left_out_too_long: int = Field(description="entries that did not fit")


class RulesPromptView(DeskView):
    permissions = needs(get=Permission.RECALL)

    @described_get(
        "get_rules_prompt",
        summary="The most frequent and useful entries as text for a system prompt, inside a boundary",
        query=RulesQuery,
        answer=RulesPromptAnswer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, RulesQuery)
        usual = self.project.get_notebook()
        found = rules_prompt(
            self.project.pk,
            most=query.n or usual.rules_most,
            least_occurrences=query.min_occurrences or usual.rules_least_occurrences,
            kinds=(query.kind,) if query.kind else (),
            agent=query.agent,
        )
        return Response(_answer(found).model_dump(mode="json"))


def _answer(found: RulesPrompt) -> RulesPromptAnswer:
    return RulesPromptAnswer(
        text=found.text,
        boundary=found.boundary,
        entries=[
            RuleAnswer(
                id=entry.id, version=entry.version, kind=entry.kind, name=entry.name, occurrences=entry.occurrences
            )
            for entry in found.entries
        ],
        left_out_flagged=found.flagged_count,
        left_out_too_long=found.too_long,
    )
