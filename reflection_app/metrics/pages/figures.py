"""The metrics of runs: headline figures against the period before, and charts that lead to the runs behind them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from notebook_app.public import Claim, EntryState, LessonLift, lift_of_all
from reflection_app.core.permissions import Permission
from reflection_app.metrics.correction_figures import CorrectionFigures, correction_figures
from reflection_app.metrics.definitions import Bar, Chosen, Metrics
from reflection_app.metrics.figures import choices_of, metrics_of
from reflection_app.metrics.figuring import NOT_COUNTED
from reflection_app.metrics.review_figures import ReviewFigures, as_csv, review_figures
from reflection_app.metrics.views.charts import CHARTS_POLICY, Cell, Chart, Mark, dots, titled
from reflection_app.metrics.views.choice import Asked, Links, filter_context, read_asked
from reflection_app.metrics.views.families import FACETS
from reflection_app.metrics.views.review_charts import CRITICS, KEYS, REVIEWERS, ages_chart, overruled_chart
from reflection_app.metrics.views.run_charts import (
    COMPLETENESS,
    DECISION_TIME,
    OVERRULED,
    SUCCESS,
    bar_chart,
    course_chart,
    money_chart,
    tasks_chart,
    tokens_chart,
)
from reflection_app.metrics.views.words import Shown, shown_figures
from reflection_app.notebook.views.lift import CLAIMS, points
from reflection_app.runs.models import Run, RunState
from reflection_app.web.access import DeskRequest, project_page

# The figures at a glance, those of completeness checks, and all of them in the order of the page.
RUN_HEADLINE = (
    "success_rate_with_reflection",
    "success_rate_without_reflection",
    "improvement_rate",
    "avg_iterations_to_success",
    "avg_latency_per_iteration_ms",
    "cost_usd_per_success",
)
COMPLETENESS_HEADLINE = (
    *("found_incomplete", "completed_by_supplement", "supplements_per_task"),
    *("exec_used", "exec_success_rate"),
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
            "completeness": shown_figures(COMPLETENESS_HEADLINE, metrics.figures, metrics.before, links.runs),
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
            _("Does reflection help?"),
            [
                course_chart(SUCCESS, metrics.points, links),
                family("attempts_to_success", upright=True),
                family("outcomes"),
            ],
        ),
        Section(
            "works",
            _("How the work goes"),
            [
                family("modes"),
                family("latency", upright=True),
                # A run may have failed in several ways, so the shares are of the runs.
                family("failures", of=metrics.figures["runs"].value),
                family("referees"),
                *(family(name) for name in FACETS if len(metrics.bars[name]) > 1),
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
        Section("complete", _("Completeness checks"), [course_chart(COMPLETENESS, metrics.points, links)]),
    ]


# The metrics of the notebook: what lessons are worth, by the draws that withhold them.

MOST_LESSONS = 15
TONES = {
    Claim.HARMS: "bad",
    Claim.PERHAPS_HARMS: "warn",
    Claim.HELPS: "good",
    Claim.PERHAPS_HELPS: "two",
    Claim.NO_HELP: "plain",
    Claim.OPEN: "plain",
}


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def lesson_metrics(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    share = project.get_notebook().holdout_share
    lessons = lift_of_all(project.pk, share=share, state=EntryState.APPROVED)

    def claimed(*claims: Claim) -> int:
        return sum(one.claim in claims for one in lessons)

    counts = (
        ("lessons", _("Approved lessons"), _("Runs are told those that fit their task."), len(lessons), ""),
        (
            "outcomes",
            _("Outcomes"),
            _("First attempts that were judged, with a lesson or with one withheld."),
            sum(one.measured.total for one in lessons),
            "?sort=outcomes",
        ),
        (
            "help",
            _("Help, or perhaps"),
            _("At a look, their runs did better."),
            claimed(Claim.HELPS, Claim.PERHAPS_HELPS),
            "?sort=high",
        ),
        (
            "harm",
            _("Harm, or perhaps"),
            _("At a look, their runs did worse."),
            claimed(Claim.HARMS, Claim.PERHAPS_HARMS),
            "?sort=low",
        ),
    )
    page = reverse("lift", kwargs={"slug": project.slug})
    context = {
        "headline": [
            Shown(name, label, meaning, f"{count:,}", href=page + query if count else "")
            for name, label, meaning, count, query in counts
        ],
        "chart": lift_chart(lessons, project.slug),
        "lessons": len(lessons),
        "measured": sum(bool(lesson.measured.total) for lesson in lessons),
        "withholds": bool(share),
    }
    return render(request, "metrics/lessons.html", context)


def lift_chart(lessons: Sequence[LessonLift], slug: str) -> Chart:
    """The lessons with most outcomes, by the difference that they make."""
    found = [(one.measured.difference, one) for one in sorted(lessons, key=lambda one: -one.measured.total)]
    told = [(difference, one) for difference, one in found if difference][:MOST_LESSONS]
    marks, rows = [], []
    for difference, one in sorted(told, key=lambda pair: -pair[0].estimate):
        at, arms = points(difference.estimate), one.measured
        bounds = _("%(low)s to %(high)s") % {"low": points(difference.low), "high": points(difference.high)}
        words = {"name": one.name, "points": at, "bounds": bounds, "claim": CLAIMS[one.claim]}
        mark = Mark(
            label=one.name,
            value=difference.estimate,
            said=_("%(name)s: %(points)s points (%(bounds)s). %(claim)s") % words,
            href=reverse("entry", kwargs={"slug": slug, "entry_id": one.entry_id}),
            tone=TONES[one.claim],
            low=difference.low,
            high=difference.high,
        )
        marks.append(mark)
        texts = (str(CLAIMS[one.claim]), at, bounds, f"{arms.given.outcomes:,}", f"{arms.withheld.outcomes:,}")
        rows.append((Cell(one.name, mark.href), *map(Cell, texts)))
    ticks = (-1, -0.5, 0, 0.5, 1)
    scale = {"tickmode": "array", "tickvals": list(ticks), "ticktext": [points(tick) for tick in ticks]}
    return Chart(
        name="lift",
        title=_("What lessons change"),
        hint=_("How much oftener first attempts succeed with a lesson than without it, with its interval of 95 %."),
        figure=dots(marks, axis=titled(_("points"), range=[-1.1, 1.1], **scale)),
        columns=(_("Lesson"), _("What can be said"), _("Points"), _("Interval of 95 %"), _("Given"), _("Withheld")),
        rows=tuple(rows),
        empty=_("No lesson has outcomes both with it and without it yet."),
        words=2,
        size="tall" if len(marks) > 8 else "",
        is_wide=True,
    )


# The address of a page that was removed.


@project_page(Permission.READ_METRICS)
@require_safe
def referee_metrics(request: DeskRequest) -> HttpResponse:
    return redirect("calibration", request.place.project.slug, permanent=True)


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
        ages_chart(found, links),
        course_chart(OVERRULED, found.points, links),
        bar_chart("reasons", [Bar(key, count) for key, count in found.reasons.items()], links),
        overruled_chart(CRITICS, found.by_critic, links),
        overruled_chart(REVIEWERS, found.by_reviewer, links),
        # What keys decided stands apart from all that people did.
        *([overruled_chart(KEYS, found.by_key, links)] if found.by_key else []),
    ]


# How often people corrected what the desk claims to understand.


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def correction_metrics(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = correction_figures(project.pk, asked.chosen)
    shown = shown_figures(found.figures, found.figures, found.before, lambda _name: "")
    context = filter_context(asked, {}) | {
        "headline": [one for one in shown if found.figures[one.name].of],
        "all_figures": shown,
        "keeps_labels": project.get_notebook().keeps_labels,
    }
    return render(request, "metrics/corrections.html", context)


# The figures of a choice as a file, JSON or CSV, to be looked at elsewhere.

SUBJECTS: Mapping[str, Callable[[UUID, Chosen], Metrics | ReviewFigures | CorrectionFigures]] = {
    "runs": metrics_of,
    "reviews": review_figures,
    "corrections": correction_figures,
}
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@project_page(Permission.READ_METRICS)
@require_safe
def metrics_export(request: DeskRequest, subject: str, form: str) -> HttpResponse:
    """`subject` is one of SUBJECTS. Raises Http404 for another form or subject."""
    project, chosen = request.place.project, read_asked(request.GET).chosen
    if form not in MEDIA_TYPES or subject not in SUBJECTS:
        raise Http404("no such file")
    found = SUBJECTS[subject](project.pk, chosen)
    text = (
        json.dumps(asdict(found), cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
        if form == "json"
        else as_csv(found)
    )
    name = f"metrics-{subject}-{project.slug}-{chosen.since}-{chosen.until}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)
