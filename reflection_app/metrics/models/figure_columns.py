"""Columns that figures of runs and their sums by day have in common, named as in metrics/definitions.py."""

from django.db import models


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
    checked = models.BigIntegerField(default=0)
    checks_complete = models.BigIntegerField(default=0)
    checks_incomplete = models.BigIntegerField(default=0)
    supplements = models.BigIntegerField(default=0)
    exec_used = models.BigIntegerField(default=0)
    exec_attempted = models.BigIntegerField(default=0)
    exec_succeeded = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=24, decimal_places=8, default=0)
    llm_calls = models.BigIntegerField(default=0)
    unpriced_calls = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


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
