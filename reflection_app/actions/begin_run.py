"""The beginning of a run: its row, its first event, and the message to the workers."""

from django.db import transaction
from django.utils import timezone

from reflection_app.live.doorbell import ring
from reflection_app.loops import prompts
from reflection_app.loops.catalogue import version_of
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.models import EventType, Run, Task, add_event
from reflection_app.models.run import spec_as_json
from reflection_app.tasks import enqueue


def is_scripted(models: dict[str, str]) -> bool:
    """Whether any of the models by role is a script."""
    return any(name.startswith("scripted/") for name in models.values())


def begin_run(task: Task, spec: TaskSpec) -> Run:
    """A queued run of `task`; call it inside a transaction, after whose commit the workers are told."""
    run = Run(
        project=task.project,
        task=task,
        mode=spec.mode.value,
        spec=spec_as_json(spec),
        loop_version=version_of(spec.mode),
        prompt_versions=prompts.versions(),
        is_scripted=is_scripted(spec.models),
        enqueued_at=timezone.now(),
    )
    run.save()
    add_event(run, EventType.RUN_CREATED)
    run.save(update_fields=["last_event_seq"])
    transaction.on_commit(lambda: enqueue(run.pk))
    transaction.on_commit(lambda: ring(run.pk, project_id=task.project_id))
    return run
