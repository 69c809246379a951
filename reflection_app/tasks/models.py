"""Tasks: one objective each, handed in by a person or a pipeline."""

import json
import math
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.hidden_characters import in_order
from reflection_app.loops.task_spec import Execution, ReviewDemand

# The constraint by which the database keeps external ids apart.
ONCE = "task_external_id_once"
LONGEST_TITLE = 110


def title_of(objective: str) -> str:
    """Return the first line of the objective for lists: short, and without Markdown's marks.

    Characters that would reorder it are written out.
    """
    lines = (line.strip().lstrip("#").strip().replace("`", "") for line in objective.splitlines())
    first = next((line for line in lines if line), "")
    return in_order(first if len(first) <= LONGEST_TITLE else first[: LONGEST_TITLE - 1].rstrip() + "…")


class Task(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    # The same where the project wants every external id once, and the task was handed in as one; else null.
    unique_external_id = models.CharField(max_length=200, null=True, blank=True, editable=False)
    objective = models.TextField()
    kind = models.CharField(max_length=60, blank=True, default="")
    mode = models.CharField(max_length=20)
    agent = models.CharField(max_length=120, blank=True, default="")
    execution = models.CharField(
        max_length=10,
        choices=[(execution.value, execution.value) for execution in Execution],
        default=Execution.MANAGED.value,
    )
    tests = models.JSONField(null=True, blank=True)
    output_schema = models.JSONField(null=True, blank=True)
    requirements = models.JSONField(null=True, blank=True)
    phase = models.CharField(max_length=120, blank=True, default="")
    tools = models.JSONField(default=list, blank=True)
    tool_call = models.JSONField(null=True, blank=True)
    # When its runs are reflected on, where the task says so; else as the project has it.
    reflection = models.CharField(max_length=8, blank=True, default="")
    # Which of those who look back the task switches on or off; else as the project has it.
    reflector_switches = models.JSONField(default=dict, blank=True)
    chain_of_thought = models.BooleanField(default=False)
    # Who decides whether its runs end without a reviewer.
    review = models.CharField(
        max_length=8,
        choices=[(demand.value, demand.value) for demand in ReviewDemand],
        default=ReviewDemand.POLICY.value,
    )
    limits = models.JSONField(default=dict)
    # What the task chose for itself.
    models_by_role = models.JSONField(default=dict, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="task_newest"),
            models.Index(fields=("project", "external_id"), name="task_external_id"),
        )
        constraints = (models.UniqueConstraint(fields=("project", "unique_external_id"), name=ONCE),)

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return title_of(self.objective)


class TaskFile(models.Model):
    """A text file handed in with a task, for its tools to read."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=400)
    content = models.TextField(blank=True)

    class Meta:
        ordering = ("path",)
        constraints = (models.UniqueConstraint(fields=("task", "path"), name="task_file_once"),)

    def __str__(self) -> str:
        return self.path


# Looking for tasks by their metadata.


def has_metadata(key: str, value: str | None, *, at: str = "") -> Q:
    """That a task's metadata has the key, and where `value` is given, that value: a text, or what JSON makes of it.

    `at` leads from another row to the task.
    """
    if value is None:
        return Q(**{f"{at}metadata__has_key": key})
    found = Q()
    for spelled in [value, *_plain_value(value)]:
        found |= Q(**{f"{at}metadata__contains": {key: spelled}})
    return found


def _plain_value(text: str) -> list[Any]:
    """What the text stands for as JSON, where that is no text, list or object."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    # Python also reads NaN and 1e999, for which the database has no JSON.
    if isinstance(value, float) and not math.isfinite(value):
        return []
    return [value] if value is None or isinstance(value, (bool, int, float)) else []
