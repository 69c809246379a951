"""Sessions as REST tells them."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.loops.session_reflections import Finding, KeptReflection, Trigger
from reflection_app.sessions.models import Transcript, TranscriptTurn
from reflection_app.sessions.recording import SessionState


class SessionIssueAnswer(Answer):
    category: Finding
    description: str
    suggestion: str


class ReflectionAnswer(Answer):
    """A reflection, made when the session had `turn` turns."""

    number: int
    turn: int
    trigger: Trigger
    on_track: bool | None = Field(description="null where the reflector failed; `problem` says how")
    observations: list[str]
    issues: list[SessionIssueAnswer]
    suggestions: list[str]
    confidence: float | None
    problem: str | None


class TranscriptLine(Answer):
    """One session in a list."""

    id: UUID
    run_id: UUID | None = Field(description="the run that reflects on it, where that was asked for")
    external_id: str | None
    objective: str
    agent: str
    turns: int
    ended: bool
    metadata: dict[str, JsonValue]
    created_at: AwareDatetime
    ended_at: AwareDatetime | None


class TranscriptPage(PageAnswer):
    results: list[TranscriptLine]


class TranscriptAnswer(TranscriptLine):
    """One session with every reflection on it, oldest first."""

    reflections: list[ReflectionAnswer]
    reflection_pending: bool
    note: str | None = Field(description="why no more reflections are made, where that is so")


class TurnsAnswer(Answer):
    """The session after turns were added to it."""

    turns: int = Field(description="how many the session has now; give it as `after` next time")
    reflection: ReflectionAnswer | None = Field(description="the newest one that no answer has told of")
    pending: bool = Field(description="whether a reflection is being made")
    ended: bool
    note: str | None = Field(description="why no more reflections are made, where that is so")


class TurnAnswer(Answer):
    """One message as it was handed in, and what was read of it."""

    seq: int
    message: dict[str, JsonValue]
    tool_name: str
    is_tool_failure: bool
    created_at: AwareDatetime


class TurnPage(PageAnswer):
    results: list[TurnAnswer]


def transcript_line(row: Transcript) -> TranscriptLine:
    return TranscriptLine(
        id=row.pk,
        run_id=row.run_id,
        external_id=row.external_id,
        objective=row.objective,
        agent=row.agent,
        turns=row.turns_made,
        ended=row.is_ended,
        metadata=row.metadata,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def transcript_lines(rows: Sequence[Transcript]) -> list[TranscriptLine]:
    return [transcript_line(row) for row in rows]


def transcript_answer(state: SessionState) -> TranscriptAnswer:
    return TranscriptAnswer(
        **dict(transcript_line(state.transcript)),
        reflections=[reflection_answer(kept) for kept in state.reflections],
        reflection_pending=state.is_pending,
        note=state.note or None,
    )


def turns_answer(state: SessionState, *, newest: KeptReflection | None) -> TurnsAnswer:
    return TurnsAnswer(
        turns=state.transcript.turns_made,
        reflection=reflection_answer(newest) if newest else None,
        pending=state.is_pending,
        ended=state.transcript.is_ended,
        note=state.note or None,
    )


def reflection_answer(kept: KeptReflection) -> ReflectionAnswer:
    said = kept.reflection
    issues = said.issues if said else ()
    return ReflectionAnswer(
        number=kept.number,
        turn=kept.turn,
        trigger=kept.trigger,
        on_track=said.on_track if said else None,
        observations=list(said.observations) if said else [],
        issues=[SessionIssueAnswer.model_validate(issue.model_dump()) for issue in issues],
        suggestions=list(said.suggestions) if said else [],
        confidence=said.confidence if said else None,
        problem=kept.problem or None,
    )


def turn_answer(row: TranscriptTurn) -> TurnAnswer:
    return TurnAnswer(
        seq=row.seq,
        message=row.message,
        tool_name=row.tool_name,
        is_tool_failure=row.is_tool_failure,
        created_at=row.created_at,
    )
