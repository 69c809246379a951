"""The metrics of runs: headline figures against the period before, and charts that lead to the runs behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.metrics.definitions import Bar, Chosen, Metrics
from reflection_app.metrics.figures import choices_of, metrics_of
from reflection_app.metrics.figuring import NOT_COUNTED
from reflection_app.metrics.review_figures import ReviewFigures, as_csv, review_figures
from reflection_app.metrics.views.charts import CHARTS_POLICY, Chart
from reflection_app.metrics.views.choice import Asked, Links, filter_context, read_asked
from reflection_app.metrics.views.families import FACETS
from reflection_app.metrics.views.review_charts import overruled_chart
from reflection_app.metrics.views.run_charts import (
    DECISION_TIME,
    OVERRULED,
    SUCCESS,
    bar_chart,
    course_chart,
    money_chart,
    tasks_chart,
    tokens_chart,
)
from reflection_app.metrics.views.words import shown_figures
from reflection_app.runs.models import Run, RunState
from reflection_app.web.access import DeskRequest, project_page

# The figures at a glance, and all of them in the order of the page.
RUN_HEADLINE = (
    "success_rate_with_reflection",
    "success_rate_without_reflection",
    "improvement_rate",
    "avg_iterations_to_success",
    "avg_latency_per_iteration_ms",
    "cost_usd_per_success",
)
ALL = (
    *("runs", "success_rate", "success_on_first_try", "reflection_enabled_tasks"),
    *("success_rate_with_reflection", "success_rate_without_reflection", "improvement_rate"),
    *("reflection_effectiveness", "over_correction_rate", "passed_lowered_rate"),
    *("avg_iterations_per_task", "avg_iterations_to_success", "total_reasoning_attempts"),
    *("avg_latency_per_iteration_ms", "avg_tokens_per_reflection", "tokens", "cost_usd", "cost_usd_per_success"),
    *("found_incomplete", "completed_by_supplement", "supplements_per_task"),
    *("exec_used", "exec_attempted", "exec_succeeded"),
    "exec_success_rate",
)


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
        context |= {
            "headline": shown_figures(RUN_HEADLINE, metrics.figures, metrics.before, links.runs),
            "all_figures": shown_figures(ALL, metrics.figures, metrics.before, links.runs),
            "sections": run_sections(metrics, links),
        }
    return render(request, "metrics/page.html", context)


def _why_nothing(request: DeskRequest, asked: Asked, metrics: Metrics) -> str:
    """Why there is nothing to show, for what the page says to do next; empty where there is something."""
    if any(metrics.figures[name].of for name in ("runs", "tokens", "supplements_per_task")):
        return ""
    runs = Run.objects.filter(project=request.place.project, state=RunState.FINISHED).exclude(mode__in=NOT_COUNTED)
    if not runs.exists():
        return "never"
    if asked.is_narrowed:
        return "filters"
    return "period" if runs.filter(is_scripted=False).exists() else "scripted"


def run_sections(metrics: Metrics, links: Links) -> list[Section]:
    """The charts of runs, under what each group of them answers."""

    def family(name: str, *, upright: bool = False, of: float | None = None) -> Chart:
        return bar_chart(name, metrics.bars[name], links, upright=upright, of=of)

    return [
        Section(
            "helps",
            _("Reflection effect"),
            [
                course_chart(SUCCESS, metrics.points, links),
                family("attempts_to_success", upright=True),
                family("outcomes"),
            ],
        ),
        Section(
            "works",
            _("Breakdown"),
            [
                family("modes"),
                # A run may have failed in several ways, so the shares are of the runs.
                family("failures", of=metrics.figures["runs"].value),
                *(family(name) for name in FACETS if len(metrics.bars[name]) > 1),
            ],
        ),
        Section(
            "takes",
            _("Usage and cost"),
            [
                tokens_chart(metrics.spend, links),
                money_chart(metrics.spend, links),
                tasks_chart(metrics.dearest_tasks, links),
            ],
        ),
    ]


@project_page(Permission.READ_METRICS)
@require_safe
def removed_page(request: DeskRequest, /, to: str, **_ids: UUID) -> HttpResponse:
    """The page that is in the place of one that was removed."""
    return redirect(to, request.place.project.slug, permanent=True)


# The metrics of the review desk.

REVIEW_HEADLINE = (
    *("queue_length", "oldest_age_s", "overdue", "decided"),
    *("time_to_decision_p50_s", "time_to_decision_p95_s", "overrule_rate"),
)


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def review_metrics(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = review_figures(project.pk, asked.chosen)
    links = Links(project.slug, asked.chosen)
    context = filter_context(asked, choices_of(project.pk, asked.chosen)) | {
        "headline": shown_figures(REVIEW_HEADLINE, found.figures, found.before, links.runs),
        "charts": review_charts(found, links),
        "is_empty": not any(found.figures[name].value for name in ("queue_length", "decided") if name in found.figures),
    }
    return render(request, "metrics/reviews.html", context)


def review_charts(found: ReviewFigures, links: Links) -> list[Chart]:
    return [
        course_chart(DECISION_TIME, found.points, links),
        bar_chart("ages", found.ages, links, upright=True),
        course_chart(OVERRULED, found.points, links),
        bar_chart("reasons", [Bar(key, count) for key, count in found.reasons.items()], links),
        overruled_chart("critics", found.by_critic, links),
        overruled_chart("reviewers", found.by_reviewer, links),
        # What keys decided stands apart from all that people did.
        *([overruled_chart("keys", found.by_key, links)] if found.by_key else []),
    ]


# The figures of a choice as a file for spreadsheets.

SUBJECTS: Mapping[str, Callable[[UUID, Chosen], Metrics | ReviewFigures]] = {
    "runs": metrics_of,
    "reviews": review_figures,
}


@project_page(Permission.READ_METRICS)
@require_safe
def metrics_export(request: DeskRequest, subject: str) -> HttpResponse:
    """The figures in CSV; `subject` is one of SUBJECTS, else Http404 is raised."""
    project, chosen = request.place.project, read_asked(request.GET).chosen
    if subject not in SUBJECTS:
        raise Http404("no such file")
    name = f"metrics-{subject}-{project.slug}-{chosen.since}-{chosen.until}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    text = as_csv(SUBJECTS[subject](project.pk, chosen))
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)
