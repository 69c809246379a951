"""Reviews: verdicts that a person looks at, and what the person decided."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from reflection_app.loops.effects import Decision, DirectorsDecision, ReviewReason
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.models.attempt import Attempt, Verdict
from reflection_app.models.identifiers import new_id
from reflection_app.models.project import Project
from reflection_app.models.run import Run, Step

MEANS = {
    VerdictName.PASS: DirectorsDecision.ACCEPT,
    VerdictName.REVISE: DirectorsDecision.REDO,
    VerdictName.REJECT: DirectorsDecision.CLOSE,
}


class ReviewState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    CLAIMED = "claimed", "Claimed"
    DECIDED = "decided", "Decided"
    SKIPPED = "skipped", "Skipped"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Review(models.Model):
    """`holds_run` tells a review that the run waits for from an audit, which it does not."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reviews")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="reviews")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="reviews")
    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="reviews")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="review")
    reason = models.CharField(max_length=20, choices=[(reason.value, reason.value) for reason in ReviewReason])
    holds_run = models.BooleanField()
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.WAITING)

    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="held_reviews"
    )
    holder_label = models.CharField(max_length=200, blank=True, default="")
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    decision = models.CharField(
        max_length=10, null=True, blank=True, choices=[(decision.value, decision.value) for decision in Decision]
    )
    decided_verdict = models.ForeignKey(
        Verdict, null=True, blank=True, on_delete=models.SET_NULL, related_name="decided_by_reviews"
    )
    decision_reason = models.TextField(blank=True, default="")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="decided_reviews"
    )
    decided_by_label = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "-holds_run", "created_at", "id"),
                name="review_open_first",
                condition=Q(state__in=("waiting", "claimed")),
            ),
            models.Index(fields=("run",), name="review_of_run"),
        )

    def __str__(self) -> str:
        return f"review {self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in {ReviewState.WAITING, ReviewState.CLAIMED}

    @property
    def is_pick(self) -> bool:
        """Whether the question is which attempt to keep."""
        return self.reason == ReviewReason.UNSETTLED_PICK

    @property
    def is_for_director(self) -> bool:
        """Whether a rejected attempt waits for a person to order it again, accept it anyway or close it."""
        return self.holds_run and self.verdict.verdict == VerdictName.REJECT and not self.is_pick

    def directors_decision_with(self, verdict: str) -> DirectorsDecision | None:
        """What giving this verdict amounts to, of a review that is the director's."""
        return MEANS[VerdictName(verdict)] if self.is_for_director else None

    @property
    def directors_decision(self) -> DirectorsDecision | None:
        """What was decided about a REJECT; None while nothing is, and of every other review."""
        return self.directors_decision_with(self.decided_verdict.verdict) if self.decided_verdict else None

    @property
    def why(self) -> list[str]:
        """What the loop tells the reviewer of its reasons, as its step keeps it."""
        request = self.step.request
        return [str(reason) for reason in request.get("why", ())] if isinstance(request, dict) else []
