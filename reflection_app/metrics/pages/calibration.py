"""How far each critic can be believed, with the reviews and items behind every cell."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.metrics.calibration import (
    Compared,
    Critic,
    CriticCalibration,
    JudgementSource,
    judged_items,
    majority,
)
from reflection_app.metrics.critics import CalibrationFigures, calibration_figures
from reflection_app.metrics.judgements import (
    ReadRows,
    RowStep,
    apply_judgements,
    get_judgement_import,
    preview_judgements,
    read_lines,
)
from reflection_app.metrics.models import JudgedItem
from reflection_app.metrics.views.charts import CHARTS_POLICY
from reflection_app.metrics.views.choice import (
    Asked,
    Choice,
    filter_context,
    query_of,
    read_asked,
    read_choice,
)
from reflection_app.metrics.views.review_charts import matrix_chart, reliability_chart
from reflection_app.metrics.views.words import (
    SOURCES,
    critic_words,
    headline,
    share_text,
    verdict_words,
    written,
)
from reflection_app.reviews.models import Review
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import page_before
from reflection_app.web.middleware import post_only

# Of all that was compared the newest give an idea; of a cell, people look at each.
SHOWN = 10
SHOWN_OF_CELL = 100
IN_TABLE = ("agreed", "kappa", "false_pass", "false_fail", "reliability.error")


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def calibration_page(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = calibration_figures(project.pk, asked.chosen)
    choice = read_choice(request.GET, found)
    context = filter_context(asked, {}) | {
        "found": found,
        "lines": [
            {
                "name": critic_words(one.critic),
                "critic": one.critic,
                "source": str(SOURCES[one.critic.source]),
                "href": query_of(asked, one.critic),
                "is_shown": choice.shown is one,
                "pairs": one.calibration.pairs,
                "figures": [written(name, one.calibration) for name in IN_TABLE],
            }
            for one in found.critics
        ],
        "may_import": member_may(request.place.membership, Permission.IMPORT_JUDGEMENTS),
    }
    if choice.shown is not None:
        context |= _of_critic(choice.shown, choice, found, asked, project)
    return render(request, "metrics/calibration/page.html", context)


def _of_critic(
    shown: CriticCalibration, choice: Choice, found: CalibrationFigures, asked: Asked, project: Project
) -> dict[str, Any]:
    def address(said: str, people: str) -> str:
        page = reverse("calibration", args=[project.slug])
        return f"{page}?{query_of(asked, shown.critic, said=said, people=people)}#behind"

    behind = found.behind(shown.critic, said=choice.said, people=choice.people)
    most = SHOWN_OF_CELL if choice.said or choice.people else SHOWN
    return {
        "critic": shown.critic,
        "critic_name": critic_words(shown.critic),
        "is_imported": shown.critic.source is JudgementSource.IMPORTED,
        "pairs": shown.calibration.pairs,
        "worth": round(shown.calibration.worth),
        "headline": headline(shown.calibration),
        "by_verdict": [
            (verdict_words(one.verdict), (share_text(one.precision), share_text(one.recall)))
            for one in shown.calibration.by_verdict
        ],
        "charts": [matrix_chart(shown.calibration, address=address), reliability_chart(shown.calibration)],
        "said": verdict_words(choice.said),
        "people": verdict_words(choice.people),
        "whole": query_of(asked, shown.critic),
        "behind_count": len(behind),
        "behind": _behind_lines(project, shown.critic, behind[:most]),
    }


def _behind_lines(project: Project, critic: Critic, rows: list[Compared]) -> list[dict[str, Any]]:
    """The reviews or imported items with their titles, in the order of `rows`; what is gone meanwhile is left out."""
    ids = [row.behind for row in rows]
    if critic.source is JudgementSource.DESK:
        reviews = Review.objects.select_related("run__task").defer("run__spec", "opinion").filter(pk__in=ids)
        page, titles = "review", {row.pk: row.run.task.title for row in reviews}
    else:
        items = JudgedItem.objects.filter(project=project, pk__in=ids)
        page, titles = "judged_item", dict(items.values_list("pk", "external_id"))
    return [
        {
            "title": titles[row.behind],
            "href": reverse(page, args=[project.slug, row.behind]),
            "said": verdict_words(row.judged.critic),
            "people": verdict_words(row.judged.people),
            "weight": row.judged.weight,
        }
        for row in rows
        if row.behind in titles
    ]


# Judgements from elsewhere: the items with what was said of them, and bringing some in.

LARGEST_UPLOAD = 20_000_000
MOST_SHOWN = 25
STEPS = {
    RowStep.NEW: gettext_lazy("Would be added"),
    RowStep.CHANGED: gettext_lazy("Would be changed"),
    RowStep.SAME: gettext_lazy("Are there already"),
}
CHANGES = {
    "verdict": gettext_lazy("verdict"),
    "confidence": gettext_lazy("confidence"),
    "people": gettext_lazy("what people said"),
    "content": gettext_lazy("content"),
}


@project_page(Permission.READ_METRICS)
@require_safe
def item_list(request: DeskRequest) -> HttpResponse:
    rows = judged_items(request.place.project.pk)
    page = page_before(rows.defer("content"), request, among=rows)
    context = {
        "lines": [(item, _majority(item)) for item in page.rows],
        "older": page.last.pk if page.last else None,
        "before": request.GET.get("before", ""),
        "may_import": member_may(request.place.membership, Permission.IMPORT_JUDGEMENTS),
    }
    return render(request, "metrics/calibration/items.html", context)


@project_page(Permission.READ_METRICS)
@require_safe
def item_page(request: DeskRequest, item_id: UUID) -> HttpResponse:
    item = judged_items(request.place.project.pk).filter(pk=item_id).first()
    if item is None:
        raise Http404("no such item")
    context = {
        "item": item,
        "critics": item.critic_judgements.order_by("model", "prompt_version"),
        "people": item.persons_judgements.order_by("name"),
        "majority": _majority(item),
    }
    return render(request, "metrics/calibration/item.html", context)


@project_page(Permission.IMPORT_JUDGEMENTS)
@require_http_methods(["GET", "HEAD", "POST"])
def import_start(request: DeskRequest) -> HttpResponse:
    """A form to hand in a file; handed in, what it would do."""
    if request.method != "POST":
        return render(request, "metrics/calibration/import.html")
    try:
        rows, name = _handed_in(request)
    except InvalidInput as error:
        told = error.errors[0]["message"] if error.errors else str(error)
        return render(request, "metrics/calibration/import.html", {"error": told}, status=400)
    found = preview_judgements(request.place.project, rows, name=name, actor=request.place.actor)
    return redirect("judgements_shown", request.place.project.slug, found.id)


@project_page(Permission.IMPORT_JUDGEMENTS)
@require_safe
def import_shown(request: DeskRequest, judgements_id: UUID) -> HttpResponse:
    """What the import would do, or what it did."""
    found = get_judgement_import(request.place.project, judgements_id)
    # Of each step the words, how many rows, and the first of them with what they change; nothing once applied.
    groups = []
    for step, words in STEPS.items():
        rows = [one for one in found.planned if one.step is step]
        if rows and found.applied_at is None:
            some = [(one, ", ".join(str(CHANGES[name]) for name in one.changes)) for one in rows[:MOST_SHOWN]]
            groups.append((words, len(rows), some))
    context = {"found": found, "groups": groups, "refused": found.refused[:MOST_SHOWN], "most_shown": MOST_SHOWN}
    return render(request, "metrics/calibration/import_shown.html", context)


@project_page(Permission.IMPORT_JUDGEMENTS)
@post_only(page="judgements_shown")
def import_apply(request: DeskRequest, judgements_id: UUID) -> HttpResponse:
    apply_judgements(request.place.project, judgements_id, actor=request.place.actor)
    messages.success(request, _("The judgements are imported."))
    return redirect("judgements_shown", request.place.project.slug, judgements_id)


def _majority(item: JudgedItem) -> str | None:
    return majority(person.verdict for person in item.persons_judgements.all())


def _handed_in(request: DeskRequest) -> tuple[ReadRows, str]:
    """The rows of the chosen file, and its name. Raises InvalidInput where it is missing or too large."""
    file = request.FILES.get("file")
    if file is not None and (file.size or 0) <= LARGEST_UPLOAD:
        return read_lines(file.read()), file.name or ""
    most = {"size": LARGEST_UPLOAD // 1_000_000}
    too_large = _("The file is larger than %(size)s MB; put its rows into several files.") % most
    why = _("Choose a file.") if file is None else too_large
    raise InvalidInput(why, errors=[{"field": "file", "message": why}])
