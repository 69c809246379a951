"""Recording sessions turn by turn: numbered without gaps, taken once, and shown to the run that reflects on them.

The run's lock comes before the transcript's everywhere, and the journal looks for turns under the run's lock: so new
turns either see the run waiting, or are seen by it before it waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, JsonValue

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, TurnsConflict
from reflection_app.core.json_sizes import at_most, check_size
from reflection_app.core.models import Project
from reflection_app.loops.effects import AwaitTurns, RecordReflection
from reflection_app.loops.inline_reflection import is_due
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.loops.storable import AgentName
from reflection_app.loops.task_spec import MOST_REFLECTIONS, Execution, Limits, Mode, TaskSpec
from reflection_app.loops.tool_failures import (
    ROLES,
    calls_in,
    content_text,
    is_tool_failure,
    message_text,
    tool_name_of,
)
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Outcome
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.performing import turns_for
from reflection_app.runs.queueing import enqueue
from reflection_app.sessions.models import Transcript, TranscriptFile, TranscriptTurn
from reflection_app.sessions.reflectors import begin_reflectors_for_transcript, reflection_mode
from reflection_app.tasks.submission import (
    LARGEST_METADATA,
    AnyReflection,
    Files,
    LimitsOverride,
    ReflectionInput,
    ToolErrors,
)
from reflection_app.tasks.submitting import begin_own_task

# A session as it is handed in, checked message by message. Messages are kept as they came.

MOST_MESSAGES_AT_ONCE = 500
MOST_TURNS = 10_000
LARGEST_MESSAGE = 200_000
LONGEST_OBJECTIVE = 20_000

# A session is longer than a task: where a project's limits are lower, these hold. Iterations are reflections here.
SESSION_LIMITS = Limits(max_iterations=200, token_budget=500_000, time_budget_s=3_600.0)


def _message(value: dict[str, Any]) -> dict[str, Any]:
    """The message. Raises ValueError, which says what of it is not of the form."""
    if value.get("role") not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}")
    if not isinstance(value.get("content"), str | list | None):
        raise ValueError("content must be a text, a list of parts, or null")
    if not isinstance(value.get("tool_calls"), list | None):
        raise ValueError("tool_calls must be a list")
    if not isinstance(value.get("is_error"), bool | None):
        raise ValueError("is_error must be true or false")
    check_size(value, longest=LARGEST_MESSAGE)
    return value


Message = Annotated[dict[str, JsonValue], AfterValidator(_message)]


class SessionLimitsOverride(LimitsOverride):
    """Limits of the reflections on this session. An iteration is one reflection."""

    max_iterations: int | None = Field(default=None, ge=1, le=MOST_REFLECTIONS)


class TranscriptSubmission(Value):
    """A session of an agent: complete, with `ended`, or only its beginning."""

    objective: str = Field(default="", max_length=LONGEST_OBJECTIVE)
    agent: AgentName = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    messages: Annotated[tuple[Message, ...], Field(max_length=MOST_MESSAGES_AT_ONCE)] = ()
    tool_errors: ToolErrors = ()
    files: Files = ()
    reflection: AnyReflection = ReflectionInput()
    limits: SessionLimitsOverride = SessionLimitsOverride()
    ended: bool = False
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    def limits_over(self, project: Limits) -> Limits:
        """What the reflections may take: the submission's own, else the project's or a session's, the larger."""
        usual = project.model_copy(
            update={
                "max_iterations": max(project.max_iterations, SESSION_LIMITS.max_iterations),
                "token_budget": max(project.token_budget, SESSION_LIMITS.token_budget),
                "time_budget_s": max(project.time_budget_s, SESSION_LIMITS.time_budget_s),
            }
        )
        return self.limits.over(usual)


class TurnsInput(Value):
    """New turns of a session. With `after`, the number of turns known to the sender, they are accepted only once."""

    messages: Annotated[tuple[Message, ...], Field(min_length=1, max_length=MOST_MESSAGES_AT_ONCE)]
    after: int | None = Field(default=None, ge=0, le=MOST_TURNS)


# The run that reflects on a session: started with it, and woken by its turns.

LONGEST_GUESSED = 1_000
NOT_STATED = "(The agent's objective was not stated; tell it from the session.)"


def start_session_run(transcript: Transcript, submission: TranscriptSubmission, *, actor: Actor) -> Run:
    """A queued run that reflects on the session; call it inside the transaction that opens it."""
    project = transcript.project
    spec = TaskSpec(
        objective=objective_of(transcript),
        mode=Mode.INLINE_REFLECTION,
        agent=submission.agent,
        execution=Execution.EXTERNAL,
        inline_every_turns=submission.reflection.every_turns,
        limits=submission.limits_over(project.get_limits()),
        models=project.models_by_role,
    )
    return begin_own_task(project, spec, actor=actor, external_id=submission.external_id, metadata=submission.metadata)


def objective_of(transcript: Transcript) -> str:
    """What the session is about: as it was stated, else what its user said first."""
    if transcript.objective.strip():
        return transcript.objective
    first = TranscriptTurn.objects.filter(transcript=transcript, role="user").order_by("seq").first()
    said = content_text(first.message.get("content")).strip() if first else ""
    return said[:LONGEST_GUESSED] or NOT_STATED


def wake(run: Run) -> None:
    """Queues the run, which the caller's transaction has locked, where the turns that it waits for are there."""
    if run.state != RunState.WAITING_AGENT:
        return
    # From the end, where it is: a long session has thousands of steps before it.
    step = Step.objects.filter(run=run, state=StepState.WAITING, kind=AwaitTurns.kind).last()
    if step is None or turns_for(AwaitTurns(key=step.key, **step.request), run_id=run.pk) is None:
        return
    add_event(run, EventType.RUN_RESUMED, step=step.seq)
    run.state, run.waiting_for, run.enqueued_at = RunState.QUEUED, "", timezone.now()
    run.save(update_fields=["state", "waiting_for", "enqueued_at", "last_event_seq"])
    transaction.on_commit(lambda: enqueue(run))


# An answer comes soon after its call.
TURNS_LOOKED_BACK_AT = 100
LONGEST_TOOL_NAME = 120


@dataclass(frozen=True)
class Added:
    """The session with its new turns, how many it had before, and whether they had been there already."""

    transcript: Transcript
    before: int
    is_repeated: bool = False


@transaction.atomic
def open_transcript(project: Project, submission: TranscriptSubmission, *, actor: Actor) -> Transcript:
    """The new session with its first turns and, where that was asked for, the run that reflects on it."""
    transcript = Transcript(
        project=project,
        external_id=submission.external_id,
        agent=submission.agent,
        objective=submission.objective,
        metadata=submission.metadata,
        reflection=submission.reflection.mode.value if submission.reflection.mode else "",
        reflector_switches=submission.reflection.switches,
        tool_errors=[error.model_dump(mode="json") for error in submission.tool_errors],
        ended_at=timezone.now() if submission.ended else None,
    )
    turns = _turns(transcript, submission.messages, called={})
    transcript.turns_made = len(turns)
    batch = Batch()
    batch.insert(transcript)
    for file in submission.files:
        batch.insert(TranscriptFile(transcript=transcript, path=file.path, content=file.content))
    for turn in turns:
        batch.insert(turn)
    opened = {"turns": transcript.turns_made}
    audit(project.pk, actor, "transcript.opened", target=transcript, after=opened, write=batch.insert)
    batch.write()
    if reflection_mode(project.get_notebook(), own=transcript.reflection).is_inline:
        transcript.run = start_session_run(transcript, submission, actor=actor)
        transcript.save(update_fields=["run"])
    if transcript.is_ended:
        begin_reflectors_for_transcript(transcript)
    return transcript


@transaction.atomic
def add_turns(transcript: Transcript, turns: TurnsInput, *, actor: Actor) -> Added:
    """The session with the turns at its end; those that are there already are not taken twice.

    Raises TurnsConflict where `after` is not where the session is, or it has ended; InvalidInput where it is full.
    """
    run, locked = _locked(transcript)
    made = locked.turns_made
    if turns.after is not None and turns.after < made:
        later = TranscriptTurn.objects.filter(transcript=locked, seq__gt=turns.after).order_by("seq")
        if list(later.values_list("message", flat=True)[: len(turns.messages)]) == list(turns.messages):
            return Added(locked, before=turns.after, is_repeated=True)
    if turns.after is not None and turns.after != made:
        raise TurnsConflict(
            _("The session has %(made)s turns, not %(after)s. Nothing was added. Continue after the last turn.")
            % {"made": made, "after": turns.after}
        )
    if locked.is_ended:
        raise TurnsConflict(_("The session ended after %(made)s turns. Nothing was added.") % {"made": made})
    if made + len(turns.messages) > MOST_TURNS:
        raise InvalidInput(
            _("A session has at most %(most_turns)s turns. Nothing was added.") % {"most_turns": f"{MOST_TURNS:,}"},
            errors=[
                {
                    "field": "messages",
                    "message": _("at most %(more)s more can be added") % {"more": f"{MOST_TURNS - made:,}"},
                }
            ],
        )
    # The names of the tools called lately, by the calls' ids: an answer among the new turns may be to one of them.
    callers = TranscriptTurn.objects.filter(transcript=locked, role="assistant").order_by("-seq")
    lately = list(callers.values_list("message", flat=True)[:TURNS_LOOKED_BACK_AT])
    called = {call_id: name for message in lately for call_id, name, _arguments in calls_in(message) if call_id}
    rows = _turns(locked, turns.messages, called=called)
    TranscriptTurn.objects.bulk_create(rows)
    locked.turns_made += len(rows)
    locked.save(update_fields=["turns_made"])
    audit(locked.project_id, actor, "transcript.turns_added", target=locked, after={"turns": locked.turns_made})
    _wake_and_ring(run, locked)
    return Added(locked, before=made)


@transaction.atomic
def end_transcript(transcript: Transcript, *, actor: Actor) -> Transcript:
    """The session, ended; ending it again changes nothing."""
    run, locked = _locked(transcript)
    if not locked.is_ended:
        locked.ended_at = timezone.now()
        locked.save(update_fields=["ended_at"])
        begin_reflectors_for_transcript(locked)
        audit(locked.project_id, actor, "transcript.ended", target=locked, after={"turns": locked.turns_made})
        _wake_and_ring(run, locked)
    return locked


def _locked(transcript: Transcript) -> tuple[Run | None, Transcript]:
    run = Run.objects.select_for_update(of=("self",)).filter(transcript=transcript.pk).first()
    return run, Transcript.objects.select_for_update(of=("self",)).get(pk=transcript.pk)


def _wake_and_ring(run: Run | None, transcript: Transcript) -> None:
    if run is not None:
        wake(run)
        transaction.on_commit(lambda: ring(run.pk, project_id=transcript.project_id))


def _turns(
    transcript: Transcript, messages: Sequence[dict[str, Any]], *, called: dict[str, str]
) -> list[TranscriptTurn]:
    """The messages as the session's next turns; `called` are the names of tools by the ids of earlier calls."""
    rows = []
    for seq, message in enumerate(messages, start=transcript.turns_made + 1):
        called |= {call_id: name for call_id, name, _ in calls_in(message) if call_id}
        rows.append(
            TranscriptTurn(
                transcript=transcript,
                seq=seq,
                message=message,
                role=message["role"],
                content=message_text(message),
                tool_name=tool_name_of(message, called=called)[:LONGEST_TOOL_NAME],
                is_tool_failure=is_tool_failure(message),
            )
        )
    return rows


# A session as its agent and its page are told of it: what was reflected, what is being reflected on, and why not.

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
    is_pending = False
    if run is not None and not run.is_finished:
        reflected = reflections[-1].turn if reflections else 0
        failures = TranscriptTurn.objects.filter(transcript=transcript, is_tool_failure=True).order_by("seq")
        first_failure = failures.values_list("seq", flat=True).first()
        is_pending = is_due(
            made=transcript.turns_made,
            reflected=reflected,
            every=run.get_spec().inline_every_turns,
            has_new_failure=first_failure is not None and first_failure > reflected,
            is_ended=transcript.is_ended,
        )
    note = ""
    if run is not None and run.is_finished and run.outcome != Outcome.UNVERIFIED:
        reason = f": {run.error[:LONGEST_REASON]}" if run.error else ""
        goes_on = "" if transcript.is_ended else " The session goes on being recorded."
        note = f"No more reflections are made: the run that makes them has ended as {run.outcome}{reason}.{goes_on}"
    return SessionState(
        transcript=transcript,
        run=run,
        reflections=reflections,
        is_pending=is_pending,
        note=note,
    )


def reflections_of(run: Run) -> tuple[KeptReflection, ...]:
    """What was reflected so far, oldest first, the reflector's failures among it."""
    steps = Step.objects.filter(run=run, kind=RecordReflection.kind, state=StepState.DONE).order_by("seq")
    return tuple(KeptReflection.model_validate(result) for result in steps.values_list("result", flat=True))


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
