"""The metrics of the notebook: what lessons are worth, by the draws that withhold them."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from notebook_app.public import Claim, EntryState, LessonLift, lift_of_all
from reflection_app.core.permissions import Permission
from reflection_app.metrics.views.chart_figures import Mark, dots, titled
from reflection_app.metrics.views.charts import CHARTS_POLICY, Cell, Chart
from reflection_app.metrics.views.metrics_headline import Shown
from reflection_app.notebook.views.lift_words import CLAIMS, points
from reflection_app.web.access import DeskRequest, project_page

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
