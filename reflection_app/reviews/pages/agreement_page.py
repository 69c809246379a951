"""How far blind reviewers agree, with the panels behind each figure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.reviews.models.panel import Panel
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.panel_agreement import (
    FEWEST_IN_COMMON,
    agreement_of,
    complete_panels,
    panels_of_both,
    ratings_of,
)
from reflection_app.web.access import DeskRequest, project_page

PERIODS = (7, 30, 90, 365)
USUAL_DAYS = 90
SHOWN = 100
LONGEST_NAME = 200


@dataclass(frozen=True)
class PanelLine:
    """A panel with who gave which verdict; `seat` leads to its page."""

    panel: Panel
    ratings: list[tuple[str, str]]
    seat: Review | None


@project_page(Permission.READ_METRICS)
@require_safe
def agreement_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    asked = request.GET.get("days", "")
    days = next((period for period in PERIODS if str(period) == asked), USUAL_DAYS)
    both = [name for name in request.GET.getlist("reviewer")[:2] if 0 < len(name) <= LONGEST_NAME and "\0" not in name]
    until = timezone.now()
    since = until - timedelta(days=days)
    context: dict[str, Any] = {
        "found": agreement_of(project.pk, since=since, until=until),
        "days": days,
        "periods": PERIODS,
        "both": both if len(both) == 2 else [],
        "lines": _lines(project, both, since=since, until=until),
        "shown": SHOWN,
        "fewest": FEWEST_IN_COMMON,
    }
    return render(request, "reviews/agreement.html", context)


def _lines(project: Project, both: list[str], *, since: datetime, until: datetime) -> list[PanelLine]:
    panels = complete_panels(project.pk, since=since, until=until)
    if len(both) == 2:
        panels = panels_of_both(panels, *both)
    shown = list(panels.select_related("run__task", "attempt").defer("run__spec", "attempt__content")[:SHOWN])
    ratings = ratings_of(panel.pk for panel in shown)
    seats = Review.objects.filter(panel__in=shown, opinion__isnull=False).order_by("panel", "decided_at")
    first = {seat.panel_id: seat for seat in seats.distinct("panel").defer("opinion")}
    return [PanelLine(panel, sorted(ratings[panel.pk].items()), first.get(panel.pk)) for panel in shown]
