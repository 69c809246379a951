"""Sessions as REST tells them."""

from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, PageAnswer, TextOrNull
from reflection_app.loops.session_reflections import Finding, KeptReflection, ReflectorTrigger
from reflection_app.sessions.recording import SessionState


class SessionIssueAnswer(Answer):
    category: Finding
    description: str
    suggestion: str


class ReflectionAnswer(Answer):
    """A reflection, made when the session had `turn` turns."""

    number: int
    turn: int
    trigger: ReflectorTrigger
    on_track: bool | None = Field(description="null if the reflector failed; see `problem`")
    observations: list[str]
    issues: list[SessionIssueAnswer]
    suggestions: list[str]
    confidence: float | None
    problem: TextOrNull


class TranscriptLine(Answer):
    """One session in a list."""

    id: UUID
    run_id: UUID | None = Field(description="the run that reflects on the session, if requested")
    external_id: str | None
    objective: str
    agent: str
    turns: int = Field(validation_alias="turns_made")
    ended: bool = Field(validation_alias="is_ended")
    metadata: dict[str, JsonValue]
    created_at: AwareDatetime
    ended_at: AwareDatetime | None


class TranscriptPage(PageAnswer):
    results: list[TranscriptLine]


class TranscriptAnswer(TranscriptLine):
    """One session with all its reflections, oldest first."""

    reflections: list[ReflectionAnswer]
    reflection_pending: bool
    note: TextOrNull = Field(description="why no more reflections are made, if so")


class TurnsAnswer(Answer):
    """The session after turns were added."""

    turns: int = Field(description="number of turns in the session; send it as `after` next time")
    reflection: ReflectionAnswer | None = Field(description="the newest reflection that no response has returned yet")
    pending: bool = Field(description="whether a reflection is in progress")
    ended: bool
    note: TextOrNull = Field(description="why no more reflections are made, if so")


class TurnAnswer(Answer):
    """One message as submitted, and what was parsed from it."""

    seq: int
    message: dict[str, JsonValue]
    tool_name: str
    is_tool_failure: bool
    created_at: AwareDatetime


class TurnPage(PageAnswer):
    results: list[TurnAnswer]


def transcript_answer(state: SessionState) -> TranscriptAnswer:
    return TranscriptAnswer.from_row(
        state.transcript,
        reflections=[_reflection_answer(kept) for kept in state.reflections],
        reflection_pending=state.is_pending,
        note=state.note,
    )


def turns_answer(state: SessionState, *, newest: KeptReflection | None) -> TurnsAnswer:
    return TurnsAnswer(
        turns=state.transcript.turns_made,
        reflection=_reflection_answer(newest) if newest else None,
        pending=state.is_pending,
        ended=state.transcript.is_ended,
        note=state.note,
    )


def _reflection_answer(kept: KeptReflection) -> ReflectionAnswer:
    said = dict(kept.reflection or {"on_track": None, "confidence": None})
    return ReflectionAnswer.from_row(kept, **{"observations": (), "issues": (), "suggestions": ()} | said)
