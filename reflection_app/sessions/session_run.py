"""The run that reflects on a session: started with it, and woken by its turns."""

from django.db import transaction
from django.utils import timezone

from reflection_app.core.audit import Actor, audit
from reflection_app.core.events import EventType, add_event
from reflection_app.core.own_work import hands_of
from reflection_app.loops.effects import AwaitTurns
from reflection_app.loops.session_messages import content_text
from reflection_app.loops.task_spec import Execution, Mode, TaskSpec
from reflection_app.runs.jobs import enqueue
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.performing import turns_for
from reflection_app.runs.queueing import begin_run
from reflection_app.sessions.models.transcript import Transcript, TranscriptTurn
from reflection_app.sessions.transcript_submission import TranscriptSubmission
from reflection_app.tasks.models import Task

LONGEST_GUESSED = 1_000
NOT_STATED = "(The agent's objective was not stated; tell it from the session.)"


def start_session_run(transcript: Transcript, submission: TranscriptSubmission, *, actor: Actor) -> Run:
    """A queued run that reflects on the session; call it inside the transaction that opens it."""
    project = transcript.project
    spec = TaskSpec(
        objective=objective_of(transcript),
        mode=Mode.INLINE_REFLECTION,
        execution=Execution.EXTERNAL,
        inline_every_turns=submission.reflection.every_turns,
        limits=submission.limits_over(project.get_limits()),
        models=project.models_by_role,
    )
    task = Task.objects.create(
        project=project,
        external_id=submission.external_id,
        objective=spec.objective,
        mode=spec.mode.value,
        agent=submission.agent,
        execution=spec.execution.value,
        limits=spec.limits.model_dump(mode="json"),
        metadata=submission.metadata,
        created_by=actor.user,
    )
    audit(project.pk, actor, "task.submitted", target=task)
    return begin_run(task, spec, handed_in_by=hands_of(actor))


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
