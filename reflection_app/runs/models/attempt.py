"""Attempts and the verdicts on them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.loops import verdicts
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.verdicts import Judgement
from reflection_app.runs.models.run import Run, Step


class Attempt(models.Model):
    """One candidate answer, numbered from 1 within its run."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="made_attempt")
    content = models.TextField()
    # What the outside agent handed in beside the content.
    artifacts = models.JSONField(default=list, blank=True)
    self_check = models.JSONField(null=True, blank=True)
    repairs = models.JSONField(default=list, blank=True)
    # The beginning of an answer that never came to its end: no whole attempt.
    is_cut_off = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("run", "number"), name="attempt_number_once"),)

    def __str__(self) -> str:
        return f"attempt {self.number}"


# Of verdicts, those that are none: see Judgement.is_void.
VOID = Q(referee=verdicts.Referee.TESTS, confidence=0) & ~Q(verdict=verdicts.Verdict.PASS)


class Verdict(models.Model):
    """One referee's judgement of an attempt. Never changed: a person who disagrees adds one that outranks it."""

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
        """The referee as pages name it: minimum requirements are told apart from tests, which are as strong."""
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
        return Judgement(
            attempt=self.attempt.number,
            referee=verdicts.Referee(self.referee),
            verdict=verdicts.Verdict(self.verdict),
            score=self.score,
            confidence=self.confidence,
            issues=self.issues,
            feedback=verdicts.Feedback.model_validate(self.feedback),
            tests=self.get_tests(),
            requirements=self.get_requirements(),
            completeness=self.completeness,
            correctness=self.correctness,
        )

    @classmethod
    def from_judgement(cls, judgement: Judgement, *, attempt: Attempt, step: Step | None) -> "Verdict":
        """An unsaved row of `judgement`."""
        values = judgement.model_dump(mode="json")
        return cls(
            attempt=attempt,
            step=step,
            referee=judgement.referee.value,
            verdict=judgement.verdict.value,
            score=judgement.score,
            confidence=judgement.confidence,
            issues=values["issues"],
            feedback=values["feedback"],
            tests=values["tests"],
            requirements=values["requirements"],
            completeness=judgement.completeness,
            correctness=judgement.correctness,
        )
