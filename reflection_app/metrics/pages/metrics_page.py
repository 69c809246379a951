"""The metrics of runs: headline figures against the period before, and charts that lead to the runs behind them."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.values import Metrics
from reflection_app.metrics.views.charts import CHARTS_POLICY, Chart
from reflection_app.metrics.views.metrics_charts import bar_chart, completeness_chart, success_chart
from reflection_app.metrics.views.metrics_choice import Asked, read_asked
from reflection_app.metrics.views.metrics_families import (
    Family,
    attempts_family,
    facets,
    failures_family,
    latency_family,
    modes_family,
    outcomes_family,
    referees_family,
)
from reflection_app.metrics.views.metrics_filters import filter_context
from reflection_app.metrics.views.metrics_headline import ALL, COMPLETENESS, HEADLINE, shown_figures
from reflection_app.metrics.views.metrics_links import Links
from reflection_app.metrics.views.metrics_spend import money_chart, tasks_chart, tokens_chart
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState
from reflection_app.web.access import DeskRequest, project_page


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    charts: list[Chart]


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def metrics_page(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    metrics = metrics_of(project.pk, asked.chosen)
    links = Links(project.slug, asked.chosen)
    context = filter_context(asked, metrics.choices) | {
        "metrics": metrics,
        "nothing": _why_nothing(request, asked, metrics),
    }
    if not context["nothing"]:
        hrefs = {name: links.runs(name) for name in metrics.figures}
        context |= {
            "headline": shown_figures(HEADLINE, metrics.figures, metrics.before, hrefs=hrefs),
            "completeness": shown_figures(COMPLETENESS, metrics.figures, metrics.before, hrefs=hrefs),
            "all_figures": shown_figures(ALL, metrics.figures, metrics.before, hrefs=hrefs),
            "sections": _sections(metrics, links),
        }
    return render(request, "metrics/page.html", context)


def _why_nothing(request: DeskRequest, asked: Asked, metrics: Metrics) -> str:
    """Why there is nothing to show, for what the page says to do next; empty where there is something."""
    if metrics.figures["runs"].value or metrics.figures["tokens"].value:
        return ""
    runs = Run.objects.filter(NOT_OF_THE_DESK, project=request.place.project, state=RunState.FINISHED)
    if not runs.exists():
        return "never"
    if asked.is_narrowed:
        return "filters"
    return "period" if runs.filter(is_scripted=False).exists() else "scripted"


def _sections(metrics: Metrics, links: Links) -> list[Section]:
    def family(one: Family, *, upright: bool = False, of: float | None = None) -> Chart:
        return bar_chart(one, metrics.bars.get(one.name, ()), links, upright=upright, of=of)

    return [
        Section(
            "helps",
            _("Does reflection help?"),
            [success_chart(metrics, links), family(attempts_family(), upright=True), family(outcomes_family())],
        ),
        Section(
            "works",
            _("How the work goes"),
            [
                family(modes_family()),
                family(latency_family(), upright=True),
                # A run may have failed in several ways, so the shares are of the runs.
                family(failures_family(), of=metrics.figures["runs"].value),
                family(referees_family()),
                *(family(one) for one in _facets(metrics)),
            ],
        ),
        Section(
            "takes",
            _("What it takes"),
            [
                tokens_chart(metrics.spend, links),
                money_chart(metrics.spend, links),
                tasks_chart(metrics.dearest_tasks, links),
            ],
        ),
        Section("complete", _("Completeness checks"), [completeness_chart(metrics, links)]),
    ]


def _facets(metrics: Metrics) -> list[Family]:
    """Who did what for whom, where there is more than one."""
    return [one for one in facets() if len(metrics.bars.get(one.name, ())) > 1]
