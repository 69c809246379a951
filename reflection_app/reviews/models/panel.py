"""Panels: several people judge the same verdict without seeing each other's decisions."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.effects import ReviewReason
from reflection_app.runs.models import Attempt, Run, Step, Verdict


class PanelState(models.TextChoices):
    """OPEN: opinions are missing. DISPUTED: they differ, and one more person decides. The other two are ends."""

    OPEN = "open", "Open"
    DISPUTED = "disputed", "Disputed"
    SETTLED = "settled", "Settled"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Panel(models.Model):
    """Its seats are reviews, as many as `wanted`. `agreed` is None until all of them are decided."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="panels")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="panels")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="panels")
    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="panels")
    step = models.ForeignKey(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="panels")
    # That of the seats, for the review that settles a dispute has a reason of its own.
    reason = models.CharField(max_length=20, choices=[(reason.value, reason.value) for reason in ReviewReason])
    holds_run = models.BooleanField()
    wanted = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=PanelState, default=PanelState.OPEN)
    agreed = models.BooleanField(null=True, blank=True)
    # Somebody took an opinion back after all were in, and so had read the others' before giving another.
    was_reopened = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the last opinion came in.
    complete_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "complete_at"), name="panel_complete", condition=models.Q(agreed__isnull=False)
            ),
            models.Index(fields=("run",), name="panel_of_run"),
        )

    def __str__(self) -> str:
        return f"panel of {self.wanted}"
