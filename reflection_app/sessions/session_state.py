"""A session as its agent and its page are told of it: what was reflected, what is being reflected on, and why not."""

from dataclasses import dataclass

from reflection_app.loops.effects import RecordReflection
from reflection_app.loops.ends import Outcome
from reflection_app.loops.inline_reflection import is_due
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.runs.models import Run, Step, StepState
from reflection_app.sessions.models.transcript import Transcript, TranscriptTurn

LONGEST_REASON = 300


@dataclass(frozen=True)
class SessionState:
    """`run` is None where nobody reflects on the session. `note` says why no more reflections come, else nothing."""

    transcript: Transcript
    run: Run | None
    reflections: tuple[KeptReflection, ...]
    is_pending: bool
    note: str

    @property
    def newest(self) -> KeptReflection | None:
        """The newest reflection that says something."""
        said = (kept for kept in reversed(self.reflections) if kept.reflection is not None)
        return next(said, None)


def session_state(transcript: Transcript) -> SessionState:
    """The present state of the session, read afresh."""
    transcript = Transcript.objects.select_related("run").get(pk=transcript.pk)
    run = transcript.run
    reflections = reflections_of(run) if run else ()
    return SessionState(
        transcript=transcript,
        run=run,
        reflections=reflections,
        is_pending=run is not None and not run.is_finished and _is_due(transcript, run, reflections),
        note=_note(transcript, run),
    )


def reflections_of(run: Run) -> tuple[KeptReflection, ...]:
    """What was reflected so far, oldest first, the reflector's failures among it."""
    steps = Step.objects.filter(run=run, kind=RecordReflection.kind, state=StepState.DONE).order_by("seq")
    return tuple(KeptReflection.model_validate(result) for result in steps.values_list("result", flat=True))


def _is_due(transcript: Transcript, run: Run, reflections: tuple[KeptReflection, ...]) -> bool:
    reflected = reflections[-1].turn if reflections else 0
    failures = TranscriptTurn.objects.filter(transcript=transcript, is_tool_failure=True).order_by("seq")
    first_failure = failures.values_list("seq", flat=True).first()
    return is_due(
        made=transcript.turns_made,
        reflected=reflected,
        every=run.get_spec().inline_every_turns,
        has_new_failure=first_failure is not None and first_failure > reflected,
        is_ended=transcript.is_ended,
    )


def _note(transcript: Transcript, run: Run | None) -> str:
    if run is None or not run.is_finished or run.outcome == Outcome.UNVERIFIED:
        return ""
    reason = f": {run.error[:LONGEST_REASON]}" if run.error else ""
    goes_on = "" if transcript.is_ended else " The session goes on being recorded."
    return f"No more reflections are made: the run that makes them has ended as {run.outcome}{reason}.{goes_on}"


def tell_newest(state: SessionState, *, covering: int | None = None) -> KeptReflection | None:
    """The newest reflection that the agent was not told of, which from now on counts as told.

    With `covering`, of a repeated call, the newest one made after that turn, told or not: its first answer was lost.
    """
    newest = state.newest
    if newest is None:
        return None
    untold = Transcript.objects.filter(pk=state.transcript.pk, reflections_told__lt=newest.number)
    is_untold = bool(untold.update(reflections_told=newest.number))
    is_covered = covering is not None and newest.turn > covering
    return newest if is_untold or is_covered else None
