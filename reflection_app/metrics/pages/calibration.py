"""How far each critic can be believed, with the reviews and items behind every cell."""

import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models.functions import Left
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.metrics.calibration import (
    Compared,
    JudgementSource,
)
from reflection_app.metrics.critics import calibration_figures, prompts_first_seen
from reflection_app.metrics.judgements import delete_import, import_labels, imports_of, read_labels
from reflection_app.metrics.models import JudgedItem
from reflection_app.metrics.views.charts import CHARTS_POLICY
from reflection_app.metrics.views.choice import (
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
    prompt_words,
    share_text,
    verdict_words,
    written,
)
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.middleware import post_only

# Of all that was compared the newest give an idea; of a cell, people look at each.
SHOWN = 10
SHOWN_OF_CELL = 100
MOST_IMPORTS = 200
MOST_TEXT = 2_000
UUIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IN_TABLE = ("agreed", "kappa", "false_pass", "false_fail", "reliability.error")


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def calibration_page(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = calibration_figures(project.pk, asked.chosen)
    choice, seen = read_choice(request.GET, found), prompts_first_seen(project.pk)
    context = filter_context(asked, {}) | {
        "found": found,
        "lines": [
            {
                "name": critic_words(one.critic),
                "prompt": prompt_words(one.critic, seen),
                "critic": one.critic,
                "source": SOURCES[one.critic.source],
                "href": query_of(asked, one.critic),
                "is_shown": choice.shown is one,
                "pairs": one.calibration.pairs,
                "figures": [written(name, one.calibration) for name in IN_TABLE],
            }
            for one in found.critics
        ],
        "may_import": request.place.may(Permission.IMPORT_JUDGEMENTS),
        "imports": imports_of(project)[:MOST_IMPORTS],
    }
    if (shown := choice.shown) is None:
        return render(request, "metrics/calibration/page.html", context)

    def address(said: str, people: str) -> str:
        page = reverse("calibration", args=[project.slug])
        return f"{page}?{query_of(asked, shown.critic, said=said, people=people)}#behind"

    is_imported = shown.critic.source is JudgementSource.IMPORTED
    lines_of = _item_lines if is_imported else _review_lines
    behind = found.behind(shown.critic, said=choice.said, people=choice.people)
    most = SHOWN_OF_CELL if choice.said or choice.people else SHOWN
    context |= {
        "critic": shown.critic,
        "critic_name": critic_words(shown.critic),
        "critic_prompt": prompt_words(shown.critic, seen),
        "is_imported": is_imported,
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
        "behind": lines_of(project, behind[:most]),
    }
    return render(request, "metrics/calibration/page.html", context)


def _review_lines(project: Project, rows: list[Compared]) -> list[dict[str, Any]]:
    """The reviews with their titles, in the order of `rows`. Reviews deleted meanwhile are skipped."""
    reviews = Review.objects.select_related("run__task").defer("run__spec", "opinion")
    titles = {row.pk: row.run.task.title for row in reviews.filter(pk__in=[row.behind for row in rows])}
    return [
        _line(row, titles[row.behind], href=reverse("review", args=[project.slug, row.behind]))
        for row in rows
        if row.behind in titles
    ]


def _item_lines(project: Project, rows: list[Compared]) -> list[dict[str, Any]]:
    """The imported items with their texts, in the order of `rows`. An ID of a run or an attempt links to the run."""
    items = JudgedItem.objects.filter(project=project, pk__in=[row.behind for row in rows])
    texts = {pk: (name, text) for pk, name, text in items.values_list("pk", "external_id", Left("content", MOST_TEXT))}
    ids = [name for name, _text in texts.values() if UUIDS.fullmatch(name)]
    attempts = Attempt.objects.filter(run__project=project, pk__in=ids).values_list("pk", "run_id")
    runs = Run.objects.filter(project=project, pk__in=ids).values_list("pk", "pk")
    pages = {str(one): reverse("run", args=[project.slug, run]) for one, run in (*attempts, *runs)}
    found = [(row, *texts[row.behind]) for row in rows if row.behind in texts]
    return [_line(row, name, href=pages.get(name, ""), text=text) for row, name, text in found]


def _line(row: Compared, title: str, *, href: str, text: str = "") -> dict[str, Any]:
    """A review, or an imported item, with both verdicts; `href` is empty for an item that is no run."""
    said, people = verdict_words(row.judged.critic), verdict_words(row.judged.people)
    return {"title": title, "href": href, "said": said, "people": people, "weight": row.judged.weight, "text": text}


# Labels from elsewhere.

LARGEST_UPLOAD = 20_000_000
MOST_SHOWN = 10


@project_page(Permission.IMPORT_JUDGEMENTS)
@post_only(page="calibration")
def import_file(request: DeskRequest) -> HttpResponse:
    """Import the uploaded file, all of it or nothing."""
    file = request.FILES.get("file")
    try:
        if file is None:
            raise InvalidInput(_("Choose a file."))
        if (file.size or 0) > LARGEST_UPLOAD:
            most = {"size": LARGEST_UPLOAD // 1_000_000}
            raise InvalidInput(_("The file is larger than %(size)s MB. Split it into several files.") % most)
        rows = read_labels(file.read())
    except InvalidInput as error:
        problems = [f"{one['field']}: {one['message']}" for one in error.errors[:MOST_SHOWN]] or [str(error)]
        message = " ".join([_("Nothing was imported."), *problems])
        return back_to(request, "calibration", message=message, level=messages.ERROR)
    import_labels(request.place.project, rows, name=file.name or "", actor=request.place.actor)
    return back_to(request, "calibration", message=_("Labels imported."))


@project_page(Permission.IMPORT_JUDGEMENTS)
@post_only(page="calibration")
def drop_import(request: DeskRequest, judgements_id: UUID) -> HttpResponse:
    delete_import(request.place.project, judgements_id, actor=request.place.actor)
    return back_to(request, "calibration", message=_("Import deleted."))
