"""Runs and their steps, attempts and verdicts, questions to people."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from desk_sandbox.code_tests import TestReport
from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops import verdicts
from reflection_app.loops.attempt_effects import HandedIn
from reflection_app.loops.chain_of_thought import ChainOfThought, parse_chain_of_thought
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.requirements import Lowered, RequirementsReport
from reflection_app.loops.rubrics import Rating, Ratings
from reflection_app.loops.task_spec import OF_THE_DESK, Mode, TaskSpec
from reflection_app.loops.verdicts import Judgement, Outcome
from reflection_app.tasks.models import Task

# Runs and their steps: one execution of a loop, and the journal of what it did.


# Of runs and of tasks: those of people and pipelines, without what the desk does about them by itself.
NOT_OF_THE_DESK = ~Q(mode__in=sorted(mode.value for mode in OF_THE_DESK))


class RunState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    WAITING_REVIEW = "waiting_review", "Waiting for review"
    WAITING_AGENT = "waiting_agent", "Waiting for the agent"
    WAITING_TIME = "waiting_time", "Waiting"
    FINISHED = "finished", "Finished"


# What `Run.let_go` sets, and what a step sets back once it has ended.
HELD_BY = ("lease_token", "lease_until")
TROUBLES = ("failures", "asked_waits", "worker_deaths")


class Run(models.Model):
    """`state` and the lease are changed only by conditional updates (runs/lease.py, actions)."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="runs", db_index=False)
    mode = models.CharField(max_length=20, choices=[(mode.value, mode.value) for mode in Mode])
    state = models.CharField(max_length=16, choices=RunState, default=RunState.QUEUED)
    outcome = models.CharField(
        max_length=16, null=True, blank=True, choices=[(outcome.value, outcome.value) for outcome in Outcome]
    )
    waiting_for = models.CharField(max_length=40, blank=True, default="")
    error = models.TextField(blank=True, default="")

    spec = models.JSONField()
    loop_version = models.PositiveIntegerField()
    prompt_versions = models.JSONField(default=dict)
    is_scripted = models.BooleanField(default=False)
    best_attempt = models.ForeignKey("Attempt", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    attempts_made = models.PositiveIntegerField(default=0)

    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    llm_calls = models.PositiveIntegerField(default=0)
    # Of the tokens above: what the desk counted because nobody told it. The two below are null until somebody told any.
    estimated_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    # Steps whose cost is not known, and so not in `cost_usd`; and attempts of an outside agent that told no tokens.
    unpriced_calls = models.PositiveIntegerField(default=0)
    unmetered_calls = models.PositiveIntegerField(default=0)
    active_s = models.FloatField(default=0.0)

    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    # How often in a row the provider of its model asked to wait, and for how long over all of the run.
    asked_waits = models.PositiveSmallIntegerField(default=0)
    asked_wait_s = models.FloatField(default=0.0)
    # Workers that died in a row while they had this run; it is to blame only where nobody else shares that fate.
    worker_deaths = models.PositiveSmallIntegerField(default=0)
    enqueued_at = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    last_event_seq = models.PositiveIntegerField(default=0)
    # The number of the last event that somebody outside of the desk may know of: what they know is not taken back.
    told_seq = models.PositiveIntegerField(default=0)

    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks")
    forked_from_step = models.PositiveIntegerField(null=True, blank=True)
    fork_note = models.TextField(blank=True, default="")
    forked_by_label = models.CharField(max_length=200, blank=True, default="")
    # Whose work it is (`Actor.hand`): who handed in the task or attempts, or edited parts of a fork.
    handed_in_by = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    # Messages by step key that a person wrote in place of the loop's own.
    edited_prompts = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="run_newest"),
            models.Index(fields=("task", "-created_at"), name="run_of_task"),
            models.Index(fields=("project", "-finished_at", "-id"), name="run_ended", condition=Q(state="finished")),
            models.Index(
                fields=("project", "-created_at", "-id"), name="run_unfinished", condition=~Q(state="finished")
            ),
            models.Index(fields=("lease_until",), name="run_lease", condition=Q(state="running")),
            models.Index(
                fields=("enqueued_at",), name="run_enqueued", condition=Q(state__in=("queued", "waiting_time"))
            ),
        )
        constraints = (
            models.CheckConstraint(
                name="run_outcome_when_finished",
                condition=Q(state="finished", outcome__isnull=False) | (~Q(state="finished") & Q(outcome__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return f"run {self.id}"

    @property
    def is_finished(self) -> bool:
        return self.state == RunState.FINISHED

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def let_go(self) -> None:
        """Release the lease and forget earlier failures; the caller saves HELD_BY and TROUBLES."""
        self.lease_token = self.lease_until = None
        self.failures = self.asked_waits = self.worker_deaths = 0

    def get_spec(self) -> TaskSpec:
        return TaskSpec.model_validate(self.spec)

    @property
    def chosen_models(self) -> dict[str, str]:
        """The models that its task chose, or forks up to this one, by role."""
        chosen: dict[str, str] = self.task.models_by_role | self.spec.get("chosen_models", {})
        return chosen


class AgentLease(models.Model):
    """Which agent works on the attempt that an external run waits for (runs/agent_leases.py).

    One that ran out holds nothing; its row stays, so that whoever had it may go on as long as nobody took over.
    """

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="agent_lease")
    token = models.UUIDField()
    # What the agent calls itself, and the key that it came with.
    holder = models.CharField(max_length=120, blank=True, default="")
    holder_label = models.CharField(max_length=200)
    lasts_s = models.FloatField()
    until = models.DateTimeField()
    taken_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} holds run {self.run_id}"

    @property
    def name(self) -> str:
        """Who holds it, as people are told."""
        return f"{self.holder} ({self.holder_label})" if self.holder else self.holder_label


class StepState(models.TextChoices):
    STARTED = "started", "Running"
    WAITING = "waiting", "Waiting"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    ABANDONED = "abandoned", "Abandoned"


class Step(models.Model):
    """One effect and its recorded result. `request` is kept for people; replay compares only `key` and `kind`."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps", db_index=False)
    seq = models.PositiveIntegerField()
    key = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=StepState, default=StepState.STARTED)
    role = models.CharField(max_length=40, blank=True, default="")
    attempt_number = models.PositiveIntegerField(null=True, blank=True)
    request = models.JSONField()
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="")
    timed_out = models.BooleanField(default=False)
    model = models.CharField(max_length=200, blank=True, default="")
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    cost_known = models.BooleanField(default=True)
    is_estimated = models.BooleanField(default=False)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True)
    duration_s = models.FloatField(default=0.0)
    tries = models.PositiveSmallIntegerField(default=1)
    last_event_seq = models.PositiveIntegerField(default=0)
    # Copied from the run that this one was forked from; what it cost was paid there.
    is_inherited = models.BooleanField(default=False)
    edited_by_label = models.CharField(max_length=200, blank=True, default="")
    # What it has for the notebook is still to be written there.
    owes_notebook = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("seq",)
        constraints = (
            models.UniqueConstraint(fields=("run", "seq"), name="step_seq_once"),
            models.UniqueConstraint(fields=("run", "key"), name="step_key_once"),
        )

    def __str__(self) -> str:
        return f"{self.seq} {self.key}"

    @property
    def is_open(self) -> bool:
        return self.state in {StepState.STARTED, StepState.WAITING}


def spec_as_json(spec: TaskSpec) -> dict[str, Any]:
    """The specification as `Run.spec` keeps it."""
    return spec.model_dump(mode="json")


# Attempts and the verdicts on them.


class ThoughtField(models.JSONField):
    """The parts of an attempt's content, read when its row is inserted; null in rows from before the field."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        assert isinstance(model_instance, Attempt)
        if add and model_instance.stored_thought is None:
            # Never null in a new row: reading it needs no look at what its run asked for.
            model_instance.stored_thought = model_instance.read_thought() or {}
        return super().pre_save(model_instance, add)


class Attempt(models.Model):
    """One candidate answer, numbered from 1 within its run."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    # The step that made it. One that a person wrote after the run's end comes from outside of the journal.
    step = models.OneToOneField(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="made_attempt")
    content = models.TextField()
    # A person wrote it in a review, in the place of the attempt of this number.
    edited_from = models.PositiveIntegerField(null=True, blank=True)
    edited_by_label = models.CharField(max_length=200, blank=True, default="")
    # What the outside agent handed in beside the content.
    artifacts = models.JSONField(default=list, blank=True)
    self_check = models.JSONField(null=True, blank=True)
    repairs = models.JSONField(default=list, blank=True)
    # The beginning of an answer that never came to its end: no whole attempt.
    is_cut_off = models.BooleanField(default=False)
    stored_thought = ThoughtField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("run", "number"), name="attempt_number_once"),)

    def __str__(self) -> str:
        return f"attempt {self.number}"

    @classmethod
    def from_handed_in(cls, handed_in: HandedIn, *, run: Run, step: Step) -> "Attempt":
        """An unsaved row of what an agent handed in for the step."""
        assert step.attempt_number is not None
        values = handed_in.model_dump(mode="json", include={"content", "artifacts", "self_check", "repairs"})
        return cls(run=run, number=step.attempt_number, step=step, **values)

    @property
    def thought(self) -> ChainOfThought | None:
        """The parts of the content, where a chain of thought was asked for and anything tells them apart."""
        # Rows from before the field are read now.
        stored = self.read_thought() if self.stored_thought is None else self.stored_thought
        return ChainOfThought.model_validate(stored) if stored else None

    def read_thought(self) -> dict[str, Any] | None:
        """The parts as JSON; empty where they cannot be separated, None where none were asked for."""
        if not self.run.spec.get("chain_of_thought"):
            return None
        result = self.step.result if self.step else None
        beside = result.get("reasoning") if isinstance(result, dict) else ""
        found = parse_chain_of_thought(self.content, beside=beside if isinstance(beside, str) else "")
        return found.model_dump(mode="json") if found else {}


# Of verdicts, those that are none: see Judgement.is_void.
VOID = Q(referee=verdicts.Referee.TESTS, confidence=0) & ~Q(verdict=verdicts.Verdict.PASS)


class Verdict(models.Model):
    """One referee's judgement of an attempt. A person who disagrees adds one that outranks it.

    Only the confidence of generated tests changes, when a review opens after later attempts.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="verdicts")
    # The step that recorded it. An audit's verdict comes from outside of the journal and has none.
    step = models.OneToOneField(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="made_verdict")
    referee = models.PositiveSmallIntegerField(choices=[(referee.value, referee.label) for referee in verdicts.Referee])
    verdict = models.CharField(max_length=8, choices=[(verdict.value, verdict.value) for verdict in verdicts.Verdict])
    score = models.FloatField()
    confidence = models.FloatField(null=True, blank=True)
    issues = models.JSONField(default=list)
    feedback = models.JSONField(default=dict)
    tests = models.JSONField(null=True, blank=True)
    requirements = models.JSONField(null=True, blank=True)
    completeness = models.FloatField(null=True, blank=True)
    correctness = models.FloatField(null=True, blank=True)
    # What was expected instead, where it was not judged by what the task itself expects.
    lowered = models.JSONField(null=True, blank=True)
    # By the project's rubric, in the version that its run began with.
    ratings = models.JSONField(default=list, blank=True)
    given_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return f"{self.verdict} by {self.referee_label}"

    @property
    def referee_label(self) -> str:
        return verdicts.Referee(self.referee).label

    @property
    def judge_label(self) -> str:
        """The referee as pages name it: minimum requirements are told apart from tests, which are as strong.

        "unjudged" is the label of an attempt without a judge.
        """
        if self.is_void and not self.tests:
            return "unjudged"
        is_by_requirements = self.referee == verdicts.Referee.TESTS and self.requirements and not self.tests
        return "requirements" if is_by_requirements else self.referee_label

    @property
    def passed(self) -> bool:
        return self.verdict == verdicts.Verdict.PASS

    def get_tests(self) -> TestReport | None:
        return TestReport.model_validate(self.tests) if self.tests else None

    @property
    def is_void(self) -> bool:
        """Whether all tests that it rests on are broken, so that it is no verdict: one of those that VOID finds."""
        return self.referee == verdicts.Referee.TESTS and self.confidence == 0 and not self.passed

    def get_requirements(self) -> RequirementsReport | None:
        return RequirementsReport.model_validate(self.requirements) if self.requirements else None

    def get_judgement(self) -> Judgement:
        """The verdict as the pure value that loops and ranking work with."""
        values = {name: getattr(self, name) for name in Judgement.model_fields if name != "attempt"}
        return Judgement.model_validate(values | {"attempt": self.attempt.number})

    def get_lowered(self) -> Lowered | None:
        return Lowered.model_validate(self.lowered) if self.lowered else None

    def get_ratings(self) -> Ratings:
        return tuple(Rating.model_validate(rating) for rating in self.ratings)

    @classmethod
    def from_judgement(cls, judgement: Judgement, *, attempt: Attempt, step: Step | None) -> "Verdict":
        """An unsaved row of `judgement`."""
        return cls(attempt=attempt, step=step, **judgement.model_dump(mode="json", exclude={"attempt"}))


# Questions that a run put to a person, and what was answered.


class QuestionState(models.TextChoices):
    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Question(models.Model):
    """The run waits for it as long as it is open."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="questions")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="questions")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="question")
    kind = models.CharField(max_length=12, choices=[(kind.value, kind.value) for kind in QuestionKind])
    text = models.TextField()
    context = models.JSONField(default=list)
    choices = models.JSONField(default=list)
    # A PreparedCall; None where no call of a tool waits for the answer.
    prepared = models.JSONField(null=True, default=None)
    state = models.CharField(max_length=10, choices=QuestionState, default=QuestionState.OPEN)
    choice = models.CharField(max_length=10, blank=True, default="", choices=[(one.value, one.value) for one in Choice])
    answer = models.TextField(blank=True, default="")
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    answered_by_label = models.CharField(max_length=200, blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("created_at", "id")
        indexes = (
            models.Index(fields=("project", "created_at", "id"), name="question_open", condition=Q(state="open")),
            models.Index(fields=("project", "-created_at", "-id"), name="question_newest"),
            models.Index(fields=("run",), name="question_of_run"),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.text[:60]}"
