"""The beginning of a run: its row, its first event, and the message to the workers."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from reflection_app.adapters.doorbell import ring
from reflection_app.core.events import EventType, next_event
from reflection_app.loops import prompts
from reflection_app.loops.catalogue import version_of
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.batch import Batch
from reflection_app.runs.enqueuing import enqueue
from reflection_app.runs.models.run import Run, spec_as_json
from reflection_app.tasks.models import Task


def is_scripted(models: dict[str, str]) -> bool:
    """Whether any of the models by role is a script."""
    return any(name.startswith("scripted/") for name in models.values())


@dataclass(frozen=True)
class Origin:
    """The run that another is begun from, why, and by whom."""

    run: Run
    note: str
    by: str


def begin_run(
    task: Task,
    spec: TaskSpec,
    *,
    origin: Origin | None = None,
    handed_in_by: Sequence[str] = (),
    beside: Batch | None = None,
) -> Run:
    """A queued run of `task`; call it inside a transaction, after whose commit the workers are told.

    `handed_in_by` is whose work it is (`Actor.hand`); what is begun from another run is theirs whose that was. Its rows
    are written with those of `beside`, where there is one, by whoever made that.
    """
    run = Run(
        project=task.project,
        task=task,
        mode=spec.mode.value,
        spec=spec_as_json(spec),
        loop_version=version_of(spec.mode),
        prompt_versions=prompts.versions(),
        is_scripted=is_scripted(spec.models),
        enqueued_at=timezone.now(),
        parent=origin.run if origin else None,
        fork_note=origin.note if origin else "",
        forked_by_label=origin.by if origin else "",
        handed_in_by=[*handed_in_by] or (origin.run.handed_in_by if origin else []),
    )
    begun = next_event(run, EventType.RUN_CREATED, **({"parent": str(origin.run.pk)} if origin else {}))
    batch = beside or Batch()
    batch.insert(run)
    batch.insert(begun)
    if beside is None:
        batch.write()
    transaction.on_commit(lambda: enqueue(run))
    transaction.on_commit(lambda: ring(run.pk, project_id=task.project_id))
    return run
