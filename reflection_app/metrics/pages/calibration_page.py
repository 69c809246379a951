"""How far each critic can be believed, with the reviews and items behind every cell."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.metrics.calibration_figures import CalibrationFigures, calibration_figures
from reflection_app.metrics.compared import Compared, Critic, CriticCalibration, JudgementSource
from reflection_app.metrics.models.judged_item import JudgedItem
from reflection_app.metrics.views.calibration_charts import matrix_chart, reliability_chart
from reflection_app.metrics.views.calibration_choice import Choice, judging_of, query_of, read_choice
from reflection_app.metrics.views.calibration_words import (
    SOURCES,
    critic_words,
    headline,
    interval_text,
    kappa_interval,
    kappa_text,
    share_text,
    verdict_words,
)
from reflection_app.metrics.views.charts import CHARTS_POLICY
from reflection_app.metrics.views.metrics_choice import Asked, read_asked
from reflection_app.metrics.views.metrics_filters import filter_context
from reflection_app.metrics.views.metrics_words import share_words
from reflection_app.reviews.models import Review
from reflection_app.web.access import DeskRequest, project_page

# Of all that was compared the newest give an idea; of a cell, people look at each.
SHOWN = 10
SHOWN_OF_CELL = 100


@dataclass(frozen=True)
class CriticLine:
    """A critic in the table of all. `figures` are texts with their intervals, in the table's order."""

    name: str
    critic: Critic
    source: str
    href: str
    is_shown: bool
    pairs: int
    figures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BehindLine:
    """One thing behind a figure: a review or an imported item."""

    title: str
    href: str
    said: str
    people: str
    weight: float


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def calibration_page(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = calibration_figures(project.pk, judging_of(asked))
    choice = read_choice(request.GET, found)
    context = filter_context(asked, {}) | {
        "found": found,
        "lines": [_critic_line(one, asked, choice) for one in found.critics],
        "may_import": member_may(request.place.membership, Permission.IMPORT_JUDGEMENTS),
    }
    if choice.shown is not None:
        context |= _of_critic(choice.shown, choice, found, asked, project)
    return render(request, "calibration/page.html", context)


def _of_critic(
    shown: CriticCalibration, choice: Choice, found: CalibrationFigures, asked: Asked, project: Project
) -> dict[str, Any]:
    def address(said: str, people: str) -> str:
        page = reverse("calibration", args=[project.slug])
        return f"{page}?{query_of(asked, shown.critic, said=said, people=people)}#behind"

    behind = found.behind(shown.critic, said=choice.said, people=choice.people)
    return {
        "critic": shown.critic,
        "critic_name": critic_words(shown.critic),
        "is_imported": shown.critic.source is JudgementSource.IMPORTED,
        "pairs": shown.calibration.pairs,
        "worth": round(shown.calibration.worth),
        "headline": headline(shown.calibration),
        "by_verdict": [
            (verdict_words(one.verdict), (_with_interval(one.precision), _with_interval(one.recall)))
            for one in shown.calibration.by_verdict
        ],
        "charts": [matrix_chart(shown.calibration, address=address), reliability_chart(shown.calibration)],
        "said": verdict_words(choice.said),
        "people": verdict_words(choice.people),
        "whole": query_of(asked, shown.critic),
        "behind_count": len(behind),
        "behind": _behind_lines(project, behind[: SHOWN_OF_CELL if choice.said or choice.people else SHOWN]),
    }


def _critic_line(one: CriticCalibration, asked: Asked, choice: Choice) -> CriticLine:
    figures = one.calibration
    error = figures.reliability.error
    return CriticLine(
        name=critic_words(one.critic),
        critic=one.critic,
        source=str(SOURCES[one.critic.source]),
        href=query_of(asked, one.critic),
        is_shown=choice.shown is one,
        pairs=figures.pairs,
        figures=(
            _with_interval(figures.agreed),
            (kappa_text(figures.kappa), kappa_interval(figures.kappa)),
            _with_interval(figures.false_pass),
            _with_interval(figures.false_fail),
            ("–" if error is None else share_words(error), ""),
        ),
    )


def _with_interval(interval: Any) -> tuple[str, str]:
    return share_text(interval), interval_text(interval)


def _behind_lines(project: Project, rows: list[Compared]) -> list[BehindLine]:
    """The things with their titles, in the order of `rows`; what is gone meanwhile is left out."""
    desk = [row.behind for row in rows if row.critic.source is JudgementSource.DESK]
    titles = _review_titles(desk) if desk else _item_titles(project, [row.behind for row in rows])
    page = "review" if desk else "judged_item"
    return [
        BehindLine(
            title=titles[row.behind],
            href=reverse(page, args=[project.slug, row.behind]),
            said=verdict_words(row.judged.critic),
            people=verdict_words(row.judged.people),
            weight=row.judged.weight,
        )
        for row in rows
        if row.behind in titles
    ]


def _review_titles(ids: list[UUID]) -> dict[UUID, str]:
    rows = Review.objects.select_related("run__task").defer("run__spec", "opinion").filter(pk__in=ids)
    return {row.pk: row.run.task.title for row in rows}


def _item_titles(project: Project, ids: list[UUID]) -> dict[UUID, str]:
    return dict(JudgedItem.objects.filter(project=project, pk__in=ids).values_list("pk", "external_id"))
