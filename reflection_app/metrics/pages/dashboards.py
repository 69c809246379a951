"""Dashboards: a page of figures and charts that somebody picked, and its editor."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import ActionError
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.metrics.dashboards import (
    CHART,
    FIGURE,
    LONGEST_NAME,
    MOST_TILES,
    DashboardInput,
    dashboards_for,
    delete_dashboard,
    get_dashboard,
    keep_dashboard,
    may_change,
)
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.models import Dashboard
from reflection_app.metrics.pages.figures import ALL, REVIEW_HEADLINE, review_charts, run_sections
from reflection_app.metrics.review_figures import review_figures
from reflection_app.metrics.views.charts import CHARTS_POLICY, Chart
from reflection_app.metrics.views.choice import Asked, Links, filter_context, read_asked
from reflection_app.metrics.views.words import Shown, shown_figures
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import Form, read_form
from reflection_app.web.middleware import post_only

# What a new dashboard begins with.
USUAL_TILES = (
    *(f"{FIGURE}{name}" for name in ("success_rate_with_reflection", "cost_usd_per_success", "queue_length")),
    f"{CHART}success",
)


def tiles_of(project: Project, asked: Asked) -> tuple[dict[str, Shown], dict[str, Chart], Mapping[str, Any]]:
    """Every figure and every chart that there is by its name as a tile, and the choices of the filters."""
    links = Links(project.slug, asked.chosen)
    metrics, reviews = metrics_of(project.pk, asked.chosen), review_figures(project.pk, asked.chosen)
    figures = [
        *shown_figures(ALL, metrics.figures, metrics.before, links.runs),
        *shown_figures(REVIEW_HEADLINE, reviews.figures, reviews.before, links.runs),
    ]
    charts = [chart for section in run_sections(metrics, links) for chart in section.charts]
    charts += review_charts(reviews, links)
    return (
        {f"{FIGURE}{one.name}": one for one in figures},
        {f"{CHART}{one.name}": one for one in charts},
        metrics.choices,
    )


@project_page(Permission.READ_METRICS)
@require_safe
def dashboard_list(request: DeskRequest) -> HttpResponse:
    """One's own and the shared ones. Where there is none, what to do."""
    rows = dashboards_for(request.place.project, user_id=request.user.pk)
    return render(request, "metrics/dashboards/list.html", {"dashboards": list(rows), "asked": None})


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def dashboard_page(request: DeskRequest, dashboard_id: UUID) -> HttpResponse:
    dashboard, asked = _dashboard(request, dashboard_id), read_asked(request.GET)
    figures, charts, choices = tiles_of(request.place.project, asked)
    context = filter_context(asked, choices) | {
        "dashboard": dashboard,
        "dashboards": list(dashboards_for(request.place.project, user_id=request.user.pk)),
        "figures": [figures[name] for name in dashboard.tiles if name in figures],
        "charts": [charts[name] for name in dashboard.tiles if name in charts],
        "may_change": _may_change(request, dashboard),
    }
    return render(request, "metrics/dashboards/page.html", context)


@project_page(Permission.READ_METRICS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_dashboard(request: DeskRequest, dashboard_id: UUID | None = None) -> HttpResponse:
    """The editor of a new one, or of one that the user may change."""
    dashboard = _dashboard(request, dashboard_id) if dashboard_id else None
    if dashboard is not None and not _may_change(request, dashboard):
        raise Http404("not theirs to change")
    begun = {
        "name": dashboard.name if dashboard else "",
        "is_shared": "on" if dashboard and dashboard.is_shared else "",
    }
    form = read_form(request, ("name", "is_shared"), begun)
    if request.method != "POST":
        return _editor(request, form, list(dashboard.tiles if dashboard else USUAL_TILES), dashboard=dashboard)
    tiles = request.POST.getlist("tile")[: MOST_TILES + 1]
    try:
        with form.collect_errors():
            data = DashboardInput(
                name=form.values["name"], tiles=tuple(tiles), is_shared=bool(form.values["is_shared"])
            )
            kept = keep_dashboard(request.place.project, data, actor=request.place.actor, dashboard=dashboard)
            return back_to(request, "dashboard", kept.pk)
    except ActionError as refused:
        form.add_error("", str(refused))
        return _editor(request, form, tiles, dashboard=dashboard, status=refused.status)
    return _editor(request, form, tiles, dashboard=dashboard, status=400)


def _editor(
    request: DeskRequest, form: Form, tiles: list[str], *, dashboard: Dashboard | None, status: int = 200
) -> HttpResponse:
    figures, charts, _choices = tiles_of(request.place.project, read_asked({}))
    context = {
        "form": form,
        "dashboard": dashboard,
        "chosen": tiles,
        "groups": (
            (_("Metrics"), [(name, figure.label) for name, figure in figures.items()]),
            (_("Charts"), [(name, chart.title) for name, chart in charts.items()]),
        ),
        "longest": LONGEST_NAME,
        # What is shared already can be taken back.
        "may_share": request.place.may(Permission.REVIEW) or (dashboard is not None and dashboard.is_shared),
    }
    return render(request, "metrics/dashboards/edit.html", context, status=status)


@project_page(Permission.READ_METRICS)
@post_only(page="dashboard")
def drop_dashboard(request: DeskRequest, dashboard_id: UUID) -> HttpResponse:
    dashboard = _dashboard(request, dashboard_id)
    if not _may_change(request, dashboard):
        raise Http404("not theirs to delete")
    delete_dashboard(dashboard, actor=request.place.actor)
    return back_to(request, "dashboards", message=_("Deleted “%(name)s”.") % {"name": dashboard.name})


def _dashboard(request: DeskRequest, dashboard_id: UUID) -> Dashboard:
    found = get_dashboard(request.place.project, dashboard_id, user_id=request.user.pk)
    if found is None:
        raise Http404("no such dashboard")
    return found


def _may_change(request: DeskRequest, dashboard: Dashboard) -> bool:
    is_admin = request.place.may(Permission.CHANGE_SETTINGS)
    return may_change(dashboard, user_id=request.user.pk, is_admin=is_admin)
