"""Sums by day over the figures of runs: what the metrics of long periods are read from.

Each is there by everything that can be asked for, and as a total of the day (`is_total`), which is what most ask for.
They are worked out anew from the figures of runs whenever one of those changes, in the same transaction.
"""

from django.db import models

from reflection_app.core.models import Project
from reflection_app.metrics.models.figure_columns import ByWhat, Spent, Summed

IN_ORDER = ("project", "is_total", "is_scripted", "day")


class OfDay(ByWhat):
    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    is_total = models.BooleanField()

    class Meta:
        abstract = True


class DayFigure(OfDay, Summed):
    class Meta:
        indexes = (models.Index(fields=IN_ORDER, name="day_figure"),)

    def __str__(self) -> str:
        return f"figures of {self.day}"


class DayCount(OfDay):
    """How many runs of the day belong to the bar `key` of the family `family`."""

    family = models.CharField(max_length=20)
    key = models.CharField(max_length=200, blank=True)
    count = models.BigIntegerField()

    class Meta:
        indexes = (models.Index(fields=IN_ORDER, name="day_count"),)

    def __str__(self) -> str:
        return f"{self.family} {self.key}: {self.count} on {self.day}"


class DaySpend(OfDay, Spent):
    class Meta:
        indexes = (models.Index(fields=IN_ORDER, name="day_spend"),)

    def __str__(self) -> str:
        return f"spent on {self.day}: {self.role} {self.spent_on}"
