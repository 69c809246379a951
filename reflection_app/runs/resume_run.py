"""A run that waited goes on: the waiting step has its result, and the run is queued."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from reflection_app.core.events import EventType, add_event
from reflection_app.runs.jobs import enqueue
from reflection_app.runs.models.run import Run, RunState, Step, StepState

STEP_FIELDS = ("state", "finished_at", "result", "last_event_seq")
RUN_FIELDS = ("state", "waiting_for", "enqueued_at", "last_event_seq")


def resume_run(
    run: Run, step: Step, result: Any, *, step_fields: Sequence[str] = (), run_fields: Sequence[str] = (), **told: Any
) -> None:
    """Saves the step as done with `result`, and the locked `run` as queued; workers are told after the commit.

    `step_fields` and `run_fields` are what the caller has changed besides; `told` goes into the event.
    """
    add_event(run, EventType.RUN_RESUMED, step=step.seq, **told)
    step.state, step.finished_at, step.last_event_seq = StepState.DONE, timezone.now(), run.last_event_seq
    step.result = result
    step.save(update_fields=[*STEP_FIELDS, *step_fields])
    run.state, run.waiting_for, run.enqueued_at = RunState.QUEUED, "", timezone.now()
    run.save(update_fields=[*RUN_FIELDS, *run_fields])
    transaction.on_commit(lambda: enqueue(run))
