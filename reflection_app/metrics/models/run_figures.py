"""What each finished run counts for in the metrics. These rows outlive their runs, which retention deletes."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.metrics.models.figure_columns import ByWhat, Spent, Summed
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task


class FigureDue(models.Model):
    """That a finished run is new or has changed. Written by a trigger of the database, whatever changed the run; and
    by whoever adds a row that its figures are of without changing the run itself.

    Rows are only added and taken away, never changed, so that whoever writes a run waits for nobody.
    """

    id = models.BigAutoField(primary_key=True)
    run_id = models.UUIDField()

    def __str__(self) -> str:
        return f"figures of {self.run_id}"


class RunFigure(ByWhat, Summed):
    """Numbers of one run, most of them 0 or 1. Of a run that is not counted, all are 0 but those of what it took."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    run = models.OneToOneField(Run, null=True, on_delete=models.SET_NULL, related_name="figure")
    task = models.ForeignKey(Task, null=True, on_delete=models.SET_NULL, related_name="+")
    finished_at = models.DateTimeField()
    # The day of that moment in UTC.
    finished_on = models.DateField()
    is_counted = models.BooleanField()
    # Its task has other runs, forks or redos, which add to what the task took.
    is_of_several = models.BooleanField(default=False)
    outcome = models.CharField(max_length=16)
    # The strongest that judged the attempt which is kept.
    referee = models.CharField(max_length=20, blank=True, default="")
    # How long one of its attempts took, as the chart tells it.
    latency = models.CharField(max_length=10, blank=True, default="")
    failures = ArrayField(models.CharField(max_length=60), default=list)

    class Meta:
        indexes = (
            models.Index(fields=("project", "finished_on", "is_scripted"), name="run_figure_by_day"),
            models.Index(fields=("project", "finished_at"), name="run_figure_by_time"),
            # The dearest tasks are found without adding all up: most have one run.
            models.Index(
                fields=("project", "is_scripted", "-cost_usd", "-prompt_tokens", "task"),
                include=("finished_on",),
                name="run_figure_dearest",
                condition=models.Q(is_of_several=False, task__isnull=False),
            ),
            models.Index(
                fields=("project", "finished_on"),
                name="run_figure_of_several",
                condition=models.Q(is_of_several=True, task__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"figures of {self.run_id or 'a deleted run'}"


class RunSpend(Spent):
    figure = models.ForeignKey(RunFigure, on_delete=models.CASCADE, related_name="spend")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("figure", "role", "spent_on"), name="run_spend_once"),)

    def __str__(self) -> str:
        return f"{self.role} {self.spent_on}"
