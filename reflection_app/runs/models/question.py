"""Questions that a run put to a person, and what was answered."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.runs.models.run import Run, Step


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
            models.Index(fields=("run",), name="question_of_run"),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.text[:60]}"
