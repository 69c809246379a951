"""Dashboards: a page of figures and charts that somebody picked, and its editor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
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
from reflection_app.metrics.definitions import FIGURES
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
NAMES = (*ALL, *REVIEW_HEADLINE)


@dataclass(frozen=True)
class Tile:
    """A figure or a chart; what is named and there is nothing of is neither."""

    name: str
    label: str | Promise
    figure: Shown | None = None
    chart: Chart | None = None


def tiles_of(project: Project, asked: Asked) -> tuple[dict[str, Tile], Mapping[str, Any]]:
    """Every tile that there is, in the order in which the editor offers them, and the choices of the filters."""
    links = Links(project.slug, asked.chosen)
    metrics, reviews = metrics_of(project.pk, asked.chosen), review_figures(project.pk, asked.chosen)
    figures = [
        *shown_figures(ALL, metrics.figures, metrics.before, links.runs),
        *shown_figures(REVIEW_HEADLINE, reviews.figures, reviews.before, links.runs),
    ]
    known = {one.name: one for one in figures}
    charts = [chart for section in run_sections(metrics, links) for chart in section.charts]
    charts += review_charts(reviews, links)
    found = {
        f"{FIGURE}{name}": Tile(f"{FIGURE}{name}", FIGURES[name].label, figure=known.get(name))
        for name in dict.fromkeys(NAMES)
    }
    return found | {f"{CHART}{one.name}": Tile(f"{CHART}{one.name}", one.title, chart=one) for one in charts}, (
        metrics.choices
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
    tiles, choices = tiles_of(request.place.project, asked)
    chosen = [tiles[name] for name in dashboard.tiles if name in tiles]
    context = filter_context(asked, choices) | {
        "dashboard": dashboard,
        "dashboards": list(dashboards_for(request.place.project, user_id=request.user.pk)),
        "figures": [tile.figure for tile in chosen if tile.figure],
        "charts": [tile.chart for tile in chosen if tile.chart],
        "may_change": _may_change(request, dashboard),
    }
    return render(request, "metrics/dashboards/page.html", context)


@project_page(Permission.READ_METRICS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_dashboard(request: DeskRequest, dashboard_id: UUID | None = None) -> HttpResponse:
    """The editor of a new one, or of one that the user may change. Only `save` saves; all else rearranges."""
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
    tiles = list(dict.fromkeys(request.POST.getlist("tile")))[: MOST_TILES + 1]
    order, _sign, name = request.POST.get("do", "save").partition(" ")
    if order != "save":
        return _editor(
            request, form, rearranged(tiles, order, name or request.POST.get("more", "")), dashboard=dashboard
        )
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


def rearranged(tiles: list[str], order: str, name: str) -> list[str]:
    """The tiles with that one added, taken out or moved; what makes no sense changes nothing."""
    if order == "add" and name and name not in tiles and len(tiles) < MOST_TILES:
        return [*tiles, name]
    if name not in tiles:
        return tiles
    place, rest = tiles.index(name), [one for one in tiles if one != name]
    if order == "remove":
        return rest
    if order in {"up", "down"}:
        rest.insert(max(0, place - 1) if order == "up" else place + 1, name)
        return rest
    return tiles


def _editor(
    request: DeskRequest, form: Form, tiles: list[str], *, dashboard: Dashboard | None, status: int = 200
) -> HttpResponse:
    known, _choices = tiles_of(request.place.project, read_asked({}))
    context = {
        "form": form,
        "dashboard": dashboard,
        "chosen": [known[name] for name in tiles if name in known],
        "more_figures": [one for name, one in known.items() if name.startswith(FIGURE) and name not in tiles],
        "more_charts": [one for name, one in known.items() if name.startswith(CHART) and name not in tiles],
        "is_full": len(tiles) >= MOST_TILES,
        "most": MOST_TILES,
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
