"""What those who look back found, for a run or a session that has ended."""

from typing import Literal
from uuid import UUID

from django.db.models import Q
from pydantic import AwareDatetime, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for, get_transcript_for
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView, NoParameters
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.sessions.models.reflector import Reflector


class FoundAnswer(Answer):
    """A finding of the error reflector (category, cause, suggestion), or a memory (type, name, content)."""

    category: str | None
    type: str | None
    name: str | None
    description: str
    cause: str | None
    suggestion: str | None
    content: str | None
    became: Literal["added", "counted", "refused"]
    why: str | None = Field(description="why it was refused: told, counted_before or name_taken")
    entry_id: UUID | None


class ReflectorAnswer(Answer):
    kind: Literal["errors", "memory"]
    run_id: UUID = Field(description="the run that looks back, with its steps and its cost")
    outcome: str | None = Field(description="null while it looks back")
    score: float | None = Field(description="of the work, 0 to 100, by the error reflector")
    found: int
    added: int = Field(description="how many became new entries of the notebook")
    counted: int = Field(description="how many the notebook knew, counted once more")
    findings: list[FoundAnswer]
    finished_at: AwareDatetime | None


class ReflectorsAnswer(Answer):
    """Both forks; neither where nobody was asked to look back."""

    results: list[ReflectorAnswer]
    pending: bool


class RunReflectors(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_run_reflectors",
        summary="What those who look back at a run found",
        answer=ReflectorsAnswer,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        read_query(request, NoParameters)
        return _answered(Q(run=get_run_for(self.project, run_id)))


class TranscriptReflectors(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_transcript_reflectors",
        summary="What those who look back at a session found",
        answer=ReflectorsAnswer,
        problems=(404,),
    )
    def get(self, request: Request, transcript_id: UUID) -> Response:
        read_query(request, NoParameters)
        return _answered(Q(transcript=get_transcript_for(self.project, transcript_id)))


def _answered(about: Q) -> Response:
    rows = Reflector.objects.filter(about).select_related("fork").defer("fork__spec").order_by("kind")
    results = [reflector_answer(row) for row in rows]
    pending = any(one.finished_at is None for one in results)
    return Response(ReflectorsAnswer(results=results, pending=pending).model_dump(mode="json"))


def reflector_answer(row: Reflector) -> ReflectorAnswer:
    return ReflectorAnswer(
        kind=row.kind,
        run_id=row.fork_id,
        outcome=row.fork.outcome,
        score=row.score,
        found=row.found,
        added=row.added,
        counted=row.counted,
        findings=[_found(one) for one in row.findings],
        finished_at=row.finished_at,
    )


def _found(one: dict[str, str]) -> FoundAnswer:
    told = {name: one.get(name) or None for name in FoundAnswer.model_fields if name != "entry_id"}
    return FoundAnswer.model_validate(
        told | {"description": one.get("description", ""), "entry_id": one.get("entry") or None}
    )
