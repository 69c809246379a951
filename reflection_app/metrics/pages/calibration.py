"""How far each critic can be believed, with the reviews and items behind every cell."""

from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.metrics.calibration import (
    Compared,
    Critic,
    JudgementSource,
    judged_items,
    majority,
)
from reflection_app.metrics.critics import calibration_figures, prompts_first_seen
from reflection_app.metrics.judgements import (
    RowStep,
    apply_judgements,
    get_judgement_import,
    preview_judgements,
    read_lines,
)
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
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import problems_of
from reflection_app.web.list_pages import list_context
from reflection_app.web.middleware import post_only

# Of all that was compared the newest give an idea; of a cell, people look at each.
SHOWN = 10
SHOWN_OF_CELL = 100
IN_TABLE = ("agreed", "kappa", "false_pass", "false_fail", "reliability.error")


@dataclass(frozen=True)
class CriticLine:
    """A critic in the table of all; each figure is its value and its interval, written out."""

    name: str
    prompt: str
    critic: Critic
    source: str
    href: str
    is_shown: bool
    pairs: int
    figures: list[tuple[str, str]]


@dataclass(frozen=True)
class BehindLine:
    """A review or an imported item of which the critic and people spoke, with what each said."""

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
    found = calibration_figures(project.pk, asked.chosen)
    choice, seen = read_choice(request.GET, found), prompts_first_seen(project.pk)
    context = filter_context(asked, {}) | {
        "found": found,
        "lines": [
            CriticLine(
                name=critic_words(one.critic),
                prompt=prompt_words(one.critic, seen),
                critic=one.critic,
                source=str(SOURCES[one.critic.source]),
                href=query_of(asked, one.critic),
                is_shown=choice.shown is one,
                pairs=one.calibration.pairs,
                figures=[written(name, one.calibration) for name in IN_TABLE],
            )
            for one in found.critics
        ],
        "may_import": request.place.may(Permission.IMPORT_JUDGEMENTS),
    }
    if (shown := choice.shown) is None:
        return render(request, "metrics/calibration/page.html", context)

    def address(said: str, people: str) -> str:
        page = reverse("calibration", args=[project.slug])
        return f"{page}?{query_of(asked, shown.critic, said=said, people=people)}#behind"

    behind = found.behind(shown.critic, said=choice.said, people=choice.people)
    most = SHOWN_OF_CELL if choice.said or choice.people else SHOWN
    context |= {
        "critic": shown.critic,
        "critic_name": critic_words(shown.critic),
        "critic_prompt": prompt_words(shown.critic, seen),
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
    return render(request, "metrics/calibration/page.html", context)


def _behind_lines(project: Project, critic: Critic, rows: list[Compared]) -> list[BehindLine]:
    """The reviews or imported items with their titles, in the order of `rows`; what is gone meanwhile is left out."""
    ids = [row.behind for row in rows]
    if critic.source is JudgementSource.DESK:
        reviews = Review.objects.select_related("run__task").defer("run__spec", "opinion").filter(pk__in=ids)
        page, titles = "review", {row.pk: row.run.task.title for row in reviews}
    else:
        items = JudgedItem.objects.filter(project=project, pk__in=ids)
        page, titles = "judged_item", dict(items.values_list("pk", "external_id"))
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
    context = list_context(
        request,
        rows.defer("content"),
        called="lines",
        among=rows,
        view=lambda items: [(item, _majority(item)) for item in items],
    )
    context["may_import"] = request.place.may(Permission.IMPORT_JUDGEMENTS)
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
    file = request.FILES.get("file")
    try:
        if file is None:
            raise InvalidInput(_("Choose a file."))
        if (file.size or 0) > LARGEST_UPLOAD:
            most = {"size": LARGEST_UPLOAD // 1_000_000}
            raise InvalidInput(_("The file is larger than %(size)s MB; put its rows into several files.") % most)
        rows = read_lines(file.read())
    except InvalidInput as error:
        context = {"error": problems_of(error)[0]["message"]}
        return render(request, "metrics/calibration/import.html", context, status=400)
    found = preview_judgements(request.place.project, rows, name=file.name or "", actor=request.place.actor)
    return back_to(request, "judgements_shown", found.id)


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
    return back_to(request, "judgements_shown", judgements_id, message=_("The judgements are imported."))


def _majority(item: JudgedItem) -> str | None:
    return majority(person.verdict for person in item.persons_judgements.all())
