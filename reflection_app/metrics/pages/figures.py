"""The metrics of runs: headline figures against the period before, and charts that lead to the runs behind them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from notebook_app.public import Claim, EntryState, LessonLift, lift_of_all
from reflection_app.core.permissions import Permission
from reflection_app.metrics.definitions import Bar, Metrics
from reflection_app.metrics.figures import choices_of, metrics_of
from reflection_app.metrics.models import RefereeMeasurement
from reflection_app.metrics.referees import RULES, PickKind, RefereeQuality
from reflection_app.metrics.review_figures import ReviewFigures, as_csv, review_figures
from reflection_app.metrics.views.charts import CHARTS_POLICY, Cell, Chart, Mark, bars, dots, share_axis, titled
from reflection_app.metrics.views.choice import Asked, Links, filter_context, read_asked
from reflection_app.metrics.views.families import (
    Family,
    attempts_family,
    facets,
    failures_family,
    latency_family,
    modes_family,
    outcomes_family,
    reasons_family,
    referees_family,
)
from reflection_app.metrics.views.review_charts import ages_chart, by_name_chart, decision_time_chart, overrule_chart
from reflection_app.metrics.views.run_charts import (
    bar_chart,
    completeness_chart,
    money_chart,
    success_chart,
    tasks_chart,
    tokens_chart,
)
from reflection_app.metrics.views.words import ALL, COMPLETENESS, Shown, share_words, shown_figures
from reflection_app.metrics.views.words import HEADLINE as RUN_HEADLINE
from reflection_app.notebook.views.lift import CLAIMS, points
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
            "headline": shown_figures(RUN_HEADLINE, metrics.figures, metrics.before, hrefs=hrefs),
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
    context = {
        "headline": _headline(lessons, project.slug),
        "chart": lift_chart(lessons, project.slug),
        "lessons": len(lessons),
        "measured": sum(bool(lesson.measured.total) for lesson in lessons),
        "withholds": bool(share),
    }
    return render(request, "metrics/lessons.html", context)


def lift_chart(lessons: Sequence[LessonLift], slug: str) -> Chart:
    """The lessons with most outcomes, by the difference that they make."""
    told = sorted((one for one in lessons if one.measured.difference), key=lambda one: -one.measured.total)
    shown = sorted(told[:MOST_LESSONS], key=lambda one: -_estimate(one))
    marks = [_mark(one, slug) for one in shown]
    rows = tuple(
        (
            Cell(one.name, mark.href),
            Cell(str(CLAIMS[one.claim])),
            Cell(points(_estimate(one))),
            Cell(_bounds(one)),
            Cell(f"{one.measured.given.outcomes:,}"),
            Cell(f"{one.measured.withheld.outcomes:,}"),
        )
        for one, mark in zip(shown, marks, strict=True)
    )
    ticks = (-1, -0.5, 0, 0.5, 1)
    axis = titled(
        _("points"),
        range=[-1.1, 1.1],
        tickmode="array",
        tickvals=list(ticks),
        ticktext=[points(tick) for tick in ticks],
    )
    return Chart(
        name="lift",
        title=_("What lessons change"),
        hint=_("How much oftener first attempts succeed with a lesson than without it, with its interval of 95 %."),
        figure=dots(marks, axis=axis),
        columns=(_("Lesson"), _("What can be said"), _("Points"), _("Interval of 95 %"), _("Given"), _("Withheld")),
        rows=rows,
        empty=_("No lesson has outcomes both with it and without it yet."),
        words=2,
        size="tall" if len(marks) > 8 else "",
        is_wide=True,
    )


def _mark(lesson: LessonLift, slug: str) -> Mark:
    found = lesson.measured.difference
    assert found is not None
    said = _("%(name)s: %(points)s points (%(bounds)s). %(claim)s") % {
        "name": lesson.name,
        "points": points(found.estimate),
        "bounds": _bounds(lesson),
        "claim": CLAIMS[lesson.claim],
    }
    href = reverse("entry", kwargs={"slug": slug, "entry_id": lesson.entry_id})
    tone = TONES[lesson.claim]
    return Mark(
        label=lesson.name, value=found.estimate, said=said, href=href, tone=tone, low=found.low, high=found.high
    )


def _estimate(lesson: LessonLift) -> float:
    return lesson.measured.difference.estimate if lesson.measured.difference else 0.0


def _bounds(lesson: LessonLift) -> str:
    found = lesson.measured.difference
    return _("%(low)s to %(high)s") % {"low": points(found.low), "high": points(found.high)} if found else "–"


def _headline(lessons: Sequence[LessonLift], slug: str) -> list[Shown]:
    def shown(name: str, label: str, meaning: str, count: int, query: str = "") -> Shown:
        href = f"{reverse('lift', kwargs={'slug': slug})}{query}" if count else ""
        return Shown(name, label, meaning, f"{count:,}", "", "", None, href)

    harms = sum(one.claim in {Claim.HARMS, Claim.PERHAPS_HARMS} for one in lessons)
    helps = sum(one.claim in {Claim.HELPS, Claim.PERHAPS_HELPS} for one in lessons)
    return [
        shown("lessons", _("Approved lessons"), _("Runs are told those that fit their task."), len(lessons)),
        shown(
            "outcomes",
            _("Outcomes"),
            _("First attempts that were judged, with a lesson or with one withheld."),
            sum(one.measured.total for one in lessons),
            "?sort=outcomes",
        ),
        shown("help", _("Help, or perhaps"), _("At a look, their runs did better."), helps, "?sort=high"),
        shown("harm", _("Harm, or perhaps"), _("At a look, their runs did worse."), harms, "?sort=low"),
    ]


# The metrics of the referee: how often the attempt that is kept is right, as measured on recorded runs.

# Each is computed anew where somebody measures, so few are of interest.
MOST_SHOWN = 20
LABELS: Mapping[str, Promise] = {
    "first": gettext_lazy("First attempt"),
    "last": gettext_lazy("Last attempt"),
    "best_self_score": gettext_lazy("Best by own tests"),
    "kept": gettext_lazy("The referee's"),
    "any": gettext_lazy("Best possible"),
}


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def referee_metrics(request: DeskRequest) -> HttpResponse:
    rows = list(RefereeMeasurement.objects.filter(project=request.place.project)[:MOST_SHOWN])
    newest = rows[0] if rows else None
    quality = RefereeQuality.model_validate(newest.figures) if newest else None
    context = {
        "newest": newest,
        "quality": quality,
        "kinds": [kind_words(kind) for kind in quality.kinds] if quality else [],
        "charts": [rules_chart(quality), review_chart(quality)] if quality else [],
        "rows": [(row, RefereeQuality.model_validate(row.figures)) for row in rows],
    }
    return render(request, "metrics/referees.html", context)


def kind_words(kind: PickKind) -> dict[str, str]:
    """A line of the table of kinds."""
    return {
        "because": kind.because,
        "stated": share_words(kind.stated),
        "held_out": share_words(kind.held_out),
        "runs": f"{kind.runs:,}",
        "right": f"{kind.right:,}",
        "bounds": _("%(low)s to %(high)s") % {"low": share_words(kind.low), "high": share_words(kind.high)},
        "gained": f"{kind.gained:,}",
        "lost": f"{kind.lost:,}",
    }


def rules_chart(quality: RefereeQuality) -> Chart:
    """The share that is right by each rule, with its interval."""
    marks, lines = [], []
    for rule in RULES:
        found = quality.share(rule)
        if found is None:
            continue
        label, count = str(LABELS[rule]), getattr(quality, rule)
        bounds = _("%(low)s to %(high)s") % {"low": share_words(found.low), "high": share_words(found.high)}
        said = f"{label}: {share_words(found.estimate)} ({bounds})"
        tone = "one" if rule == "kept" else "plain"
        marks.append(Mark(label=label, value=found.estimate, said=said, tone=tone, low=found.low, high=found.high))
        lines.append((Cell(label), Cell(f"{count:,}"), Cell(share_words(found.estimate)), Cell(bounds)))
    return Chart(
        name="referee-rules",
        title=_("Right in the end, by what is kept"),
        hint=_("Of the recorded runs, those whose kept attempt passes the hidden test."),
        figure=dots(marks, axis=share_axis()),
        columns=(_("What is kept"), _("Right"), _("Share"), _("Interval of 95 %")),
        rows=tuple(lines),
        empty=_("The file had no runs."),
        words=1,
        is_wide=True,
    )


def review_chart(quality: RefereeQuality) -> Chart:
    """What a person's look at the least settled runs adds."""
    curve = sorted((int(looked_at), share) for looked_at, share in quality.review_curve.items())
    marks = [
        Mark(label=f"{looked_at} %", value=share, said=f"{looked_at} %: {share_words(share)}")
        for looked_at, share in curve
    ]
    return Chart(
        name="referee-reviews",
        title=_("What people's looking adds"),
        hint=_("The share that is right once a person has looked at so many of the runs, the least settled first."),
        figure=bars(marks, axis=share_axis()),
        columns=(_("Looked at"), _("Right")),
        rows=tuple((Cell(mark.label), Cell(share_words(mark.value or 0.0))) for mark in marks),
        empty=_("The file had no runs."),
        is_wide=True,
    )


# The metrics of the review desk.

HEADLINE = (
    *("queue_length", "oldest_age_s", "decided"),
    *("time_to_decision_p50_s", "time_to_decision_p95_s", "overrule_rate"),
)


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def review_metrics(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = review_figures(project.pk, asked.chosen)
    links = Links(project.slug, asked.chosen)
    hrefs = {name: links.runs(name) for name in found.figures}
    context = filter_context(asked, choices_of(project.pk, asked.chosen)) | {
        "headline": shown_figures(HEADLINE, found.figures, found.before, hrefs=hrefs),
        "charts": _charts(found, links),
        "is_empty": not any(found.figures[name].value for name in ("queue_length", "decided") if name in found.figures),
    }
    return render(request, "metrics/reviews.html", context)


def _charts(found: ReviewFigures, links: Links) -> list[Chart]:
    return [
        decision_time_chart(found, links),
        ages_chart(found, links),
        overrule_chart(found, links),
        bar_chart(reasons_family(), [Bar(key, count) for key, count in found.reasons.items()], links),
        by_name_chart(
            found.by_critic,
            links,
            name="critics",
            title=_("Overrule rate by critic"),
            hint=_("Of each model's verdicts that people decided about, with its interval of 95 %."),
            column=_("Model"),
            empty=_("Nobody has decided about a model's verdict in this time."),
        ),
        by_name_chart(
            found.by_reviewer,
            links,
            name="reviewers",
            title=_("Overrule rate by reviewer"),
            hint=_("How often each person said otherwise. What they get to see differs, so this is no ranking."),
            column=_("Reviewer"),
        ),
        *_keys_chart(found, links),
    ]


def _keys_chart(found: ReviewFigures, links: Links) -> list[Chart]:
    """What keys decided, apart from all that people did; nothing where they decided nothing."""
    if not found.by_key:
        return []
    return [
        by_name_chart(
            found.by_key,
            links,
            name="keys",
            title=_("Overrule rate by key"),
            hint=_("Decided by programs. It is in no other figure here: those are of people."),
            column=_("API key"),
        )
    ]


# The figures of a choice as a file, JSON or CSV, to be looked at elsewhere.

MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@project_page(Permission.READ_METRICS)
@require_safe
def metrics_export(request: DeskRequest, subject: str, form: str) -> HttpResponse:
    """`subject` is runs or reviews. Raises Http404 for another form or subject."""
    project, chosen = request.place.project, read_asked(request.GET).chosen
    if form not in MEDIA_TYPES or subject not in {"runs", "reviews"}:
        raise Http404("no such file")
    found = metrics_of(project.pk, chosen) if subject == "runs" else review_figures(project.pk, chosen)
    text = _json(asdict(found)) if form == "json" else as_csv(found)
    name = f"metrics-{subject}-{project.slug}-{chosen.since}-{chosen.until}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)


def _json(found: Mapping[str, Any]) -> str:
    return json.dumps(found, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
