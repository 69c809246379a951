"""Figures of runs, judgements from elsewhere, and dashboards."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task

# The columns of figures of runs, named as in metrics/definitions.py.


class ByWhat(models.Model):
    """What figures can be asked for by. `model` is the one that made the attempts, `kind` the task's type."""

    is_scripted = models.BooleanField(default=False)
    agent = models.CharField(max_length=120, blank=True, default="")
    mode = models.CharField(max_length=20, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=60, blank=True, default="")

    class Meta:
        abstract = True


class Summed(models.Model):
    """Whole numbers and money over runs.

    `enabled` are the runs that allowed a second attempt, `told` those whose first attempt somebody could judge, and
    `attempted` those that made an attempt. `scored_twice` have scores of two attempts or more. Times are milliseconds.
    `reflection_tokens` are those of evaluation and reflection steps. What the runs that are counted took is in
    `counted_cost_usd`, with the calls of theirs that have no price; all else that was spent is of every run.
    """

    runs = models.BigIntegerField(default=0)
    succeeded = models.BigIntegerField(default=0)
    enabled = models.BigIntegerField(default=0)
    enabled_first_succeeded = models.BigIntegerField(default=0)
    enabled_first_failed = models.BigIntegerField(default=0)
    enabled_succeeded = models.BigIntegerField(default=0)
    improved = models.BigIntegerField(default=0)
    told = models.BigIntegerField(default=0)
    first_succeeded = models.BigIntegerField(default=0)
    attempted = models.BigIntegerField(default=0)
    attempts = models.BigIntegerField(default=0)
    attempted_succeeded = models.BigIntegerField(default=0)
    attempts_to_success = models.BigIntegerField(default=0)
    cycle_ms = models.BigIntegerField(default=0)
    reflections = models.BigIntegerField(default=0)
    effective = models.BigIntegerField(default=0)
    reflection_tokens = models.BigIntegerField(default=0)
    scored_twice = models.BigIntegerField(default=0)
    over_corrected = models.BigIntegerField(default=0)
    passed_lowered = models.BigIntegerField(default=0)
    checked = models.BigIntegerField(default=0)
    checks_complete = models.BigIntegerField(default=0)
    checks_incomplete = models.BigIntegerField(default=0)
    # Of those that found something missing, those of runs that carry supplements out themselves.
    checks_supplementable = models.BigIntegerField(default=0)
    checks_supplemented = models.BigIntegerField(default=0)
    supplements = models.BigIntegerField(default=0)
    exec_used = models.BigIntegerField(default=0)
    exec_attempted = models.BigIntegerField(default=0)
    exec_succeeded = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=24, decimal_places=8, default=0)
    llm_calls = models.BigIntegerField(default=0)
    unpriced_calls = models.BigIntegerField(default=0)
    counted_cost_usd = models.DecimalField(max_digits=24, decimal_places=8, default=0)
    counted_unpriced_calls = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


SUMMED = tuple(field.name for field in Summed._meta.local_fields)  # noqa: SLF001


class Spent(models.Model):
    """What the calls of one role of one model took; `role` is empty of what is in no journal any more."""

    role = models.CharField(max_length=40, blank=True, default="")
    spent_on = models.CharField(max_length=200, blank=True, default="")
    calls = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=24, decimal_places=8, default=0)
    unpriced_calls = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


# What each finished run counts for in the metrics. These rows outlive their runs, which retention deletes.


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


# What teams judged elsewhere: items, what critics said of them, and what people did. It feeds the calibration.

VERDICTS = [(verdict.value, verdict.value) for verdict in VerdictName]


class JudgementImport(models.Model):
    """One file or request with labels."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="judgement_imports")
    name = models.CharField(max_length=200, blank=True, default="")
    by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"judgements {self.name}"


class JudgedItem(models.Model):
    """One thing that was judged, under the name that it has where it came from."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="judged_items")
    external_id = models.CharField(max_length=200)
    content = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "external_id"), name="judged_item_once"),)
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="judged_item_newest"),)

    def __str__(self) -> str:
        return self.external_id


class CriticJudgement(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    item = models.ForeignKey(JudgedItem, on_delete=models.CASCADE, related_name="critic_judgements")
    batch = models.ForeignKey(JudgementImport, null=True, on_delete=models.CASCADE, related_name="judgements")
    model = models.CharField(max_length=200)
    prompt_version = models.CharField(max_length=40, blank=True, default="")
    verdict = models.CharField(max_length=8, choices=VERDICTS)
    confidence = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("item", "model", "prompt_version"), name="critic_judgement_once"),
        )

    def __str__(self) -> str:
        return f"{self.verdict} by {self.model}"


class PersonsJudgement(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    item = models.ForeignKey(JudgedItem, on_delete=models.CASCADE, related_name="persons_judgements")
    # None of those that were imported before deletion was possible; they are deleted with their item.
    batch = models.ForeignKey(JudgementImport, null=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    verdict = models.CharField(max_length=8, choices=VERDICTS)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("item", "name"), name="persons_judgement_once"),)

    def __str__(self) -> str:
        return f"{self.verdict} by {self.name}"


# Dashboards: figures and charts that somebody picked and put in an order.


class Dashboard(models.Model):
    """Its owner's own; shared, every member of the project sees it, and admins may change it as well."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="dashboards")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="dashboards"
    )
    owner_label = models.CharField(max_length=200)
    name = models.CharField(max_length=80)
    is_shared = models.BooleanField(default=False)
    # Names of figures and charts (metrics/dashboards.py), in their order.
    tiles = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name", "id")
        constraints = (models.UniqueConstraint(fields=("project", "owner", "name"), name="dashboard_name_once"),)

    def __str__(self) -> str:
        return self.name
