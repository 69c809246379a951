"""Answers already given, so that a repeated request is answered again and not carried out again."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from reflection_app.core.models.api_key import ApiKey

# A pipeline that repeats a request does so within minutes or hours, not days.
KEPT_FOR = timedelta(days=2)


class IdempotentAnswer(models.Model):
    """Written in the same transaction as what the request caused. `status` is null while that is under way."""

    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="hash of method, path and body")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("api_key", "key"), name="idempotency_key_once"),)

    def __str__(self) -> str:
        return self.key


def forget_old_answers() -> int:
    """Deletes the answers that nobody will ask for again; how many there were."""
    return IdempotentAnswer.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()[0]
