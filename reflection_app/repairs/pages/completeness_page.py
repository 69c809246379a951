"""The project's page of completeness checks: how often something is missing, what recurs, and what it is worth."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from notebook_app.public import proposed_from
from reflection_app.core.models import Project
from reflection_app.metrics.completeness_figures import Recurring, completeness_figures, recurring_supplements
from reflection_app.metrics.supplement_value import FEWEST_RUNS, LEAST_GAIN, MOST_RUNS_PER_SUCCESS
from reflection_app.repairs.models.completeness import CompletenessCheck
from reflection_app.repairs.recurring import RECURS_FROM, source_of
from reflection_app.web.access import DeskRequest, project_page

NEWEST_SHOWN = 20


@dataclass(frozen=True)
class RecurringShown:
    recurring: Recurring
    # The state of the notebook's entry where it was offered, else nothing.
    offered: str


@project_page()
@require_safe
def completeness_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    context = {
        "figures": completeness_figures(project.pk),
        "recurring": _recurring(project),
        "newest": CompletenessCheck.objects.filter(project=project).select_related("run__task")[:NEWEST_SHOWN],
        "settings": project.get_completeness(),
        "recurs_from": RECURS_FROM,
        "fewest_runs": FEWEST_RUNS,
        "least_gain": LEAST_GAIN,
        "most_runs_per_success": MOST_RUNS_PER_SUCCESS,
    }
    return render(request, "completeness/page.html", context)


def _recurring(project: Project) -> list[RecurringShown]:
    found = [(one, source_of(one.task_kind, one.operation_key)) for one in recurring_supplements(project.pk)]
    entries = proposed_from(project.pk, sources=[source for _, source in found])
    offered = {entry.source: entry.state for entry in entries}
    return [RecurringShown(one, offered.get(source, "")) for one, source in found]
