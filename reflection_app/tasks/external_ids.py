"""External ids that a project wants once: kept apart by the database, and told of where one is taken."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F
from django.utils.translation import gettext as _

from reflection_app.core.errors import ExternalIdTaken, InvalidInput
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.models import ONCE, Task
from reflection_app.tasks.submission import OTHER_CALLS

MOST_NAMED = 5
# Held until the task is committed: a change of the rule, which takes the row for itself, waits, and is waited for.
WANTS_ONCE = "SELECT unique_external_ids FROM reflection_app_project WHERE id = %s FOR SHARE"


def are_wanted_once(project: Project) -> bool:
    """Whether the project wants each external id once, and will until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(WANTS_ONCE, [project.pk])
        row = cursor.fetchone()
    return bool(row and row[0])


@contextmanager
def kept_apart(project: Project, external_id: str | None) -> Iterator[str | None]:
    """Gives `Task.unique_external_id` for a task with this id, which the block writes.

    Raises ExternalIdTaken, also where another request was quicker; then nothing of the block is left.
    """
    if external_id is None or not are_wanted_once(project):
        yield None
        return
    _refuse_taken(project, external_id)
    try:
        with transaction.atomic():
            yield external_id
    except IntegrityError as error:
        if ONCE not in str(error):
            raise
        _refuse_taken(project, external_id)
        raise


def _refuse_taken(project: Project, external_id: str) -> None:
    task = Task.objects.only("pk").filter(project=project, unique_external_id=external_id).first()
    if task is not None:
        run_id = Run.objects.filter(task=task).order_by("-created_at", "-id").values_list("pk", flat=True).first()
        message = _("Task %(id)s already uses this external id, and this project requires unique external ids.") % {
            "id": task.pk
        }
        raise ExternalIdTaken(message, task_id=task.pk, run_id=run_id)


def keep_external_ids_apart(project: Project) -> None:
    """The project's tasks are kept apart from now on, or no longer, as it now has it; call it with the project locked.

    Raises InvalidInput, which names some of them, where several tasks have the same id.
    """
    # Those of sessions, failures and checks have names of their own kind, which may well come again.
    tasks = Task.objects.filter(project=project, external_id__isnull=False).exclude(mode__in=OTHER_CALLS)
    if not project.unique_external_ids:
        tasks.filter(unique_external_id__isnull=False).update(unique_external_id=None)
        return
    doubled = tasks.values("external_id").annotate(many=Count("pk")).filter(many__gt=1).order_by("-many", "external_id")
    found = list(doubled[: MOST_NAMED + 1])
    if found:
        named = ", ".join(f"{one['external_id']} ({one['many']})" for one in found[:MOST_NAMED])
        message = _(
            "Several tasks share an external id: %(named)s%(more)s. Change or delete the duplicates (PATCH or "
            "DELETE /tasks/{id}), then turn this on."
        ) % {"named": named, "more": "…" if len(found) > MOST_NAMED else ""}
        raise InvalidInput(message, errors=[{"field": "unique_external_ids", "message": message}])
    tasks.update(unique_external_id=F("external_id"))
