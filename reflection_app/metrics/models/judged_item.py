"""What teams judged elsewhere: items, what critics said of them, and what people did. It feeds the calibration."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName

VERDICTS = [(verdict.value, verdict.value) for verdict in VerdictName]


class JudgementImport(models.Model):
    """One file or request, shown before it is applied. `rows` are kept until then; `outcome` tells what it did."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="judgement_imports")
    name = models.CharField(max_length=200, blank=True, default="")
    by_label = models.CharField(max_length=200)
    rows = models.JSONField(default=list)
    outcome = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    applied_at = models.DateTimeField(null=True, blank=True)

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
    batch = models.ForeignKey(JudgementImport, null=True, on_delete=models.SET_NULL, related_name="judgements")
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
    name = models.CharField(max_length=200)
    verdict = models.CharField(max_length=8, choices=VERDICTS)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("item", "name"), name="persons_judgement_once"),)

    def __str__(self) -> str:
        return f"{self.verdict} by {self.name}"
