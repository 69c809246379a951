"""Judgements from elsewhere: the items with what was said of them, and bringing some in."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission, member_may
from reflection_app.metrics.compared import majority
from reflection_app.metrics.import_judgements import (
    Shown,
    apply_judgements,
    get_judgement_import,
    preview_judgements,
)
from reflection_app.metrics.imported_judgements import judged_items
from reflection_app.metrics.judgement_plan import RowStep
from reflection_app.metrics.judgement_rows import ReadRows, read_lines
from reflection_app.metrics.models.judged_item import JudgedItem
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.list_pages import page_before

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
    return render(request, "calibration/items.html", context)


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
    return render(request, "calibration/item.html", context)


@project_page(Permission.IMPORT_JUDGEMENTS)
@require_http_methods(["GET", "HEAD", "POST"])
def import_start(request: DeskRequest) -> HttpResponse:
    """A form to hand in a file; handed in, what it would do."""
    if request.method != "POST":
        return render(request, "calibration/import.html")
    try:
        rows, name = _handed_in(request)
    except InvalidInput as error:
        told = error.errors[0]["message"] if error.errors else str(error)
        return render(request, "calibration/import.html", {"error": told}, status=400)
    found = preview_judgements(request.place.project, rows, name=name, actor=request.place.actor)
    return redirect("judgements_shown", request.place.project.slug, found.id)


@project_page(Permission.IMPORT_JUDGEMENTS)
@require_safe
def import_shown(request: DeskRequest, judgements_id: UUID) -> HttpResponse:
    """What the import would do, or what it did."""
    found = get_judgement_import(request.place.project, judgements_id)
    return render(request, "calibration/import_shown.html", _context(found))


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
    if file is None:
        raise _wrong(_("Choose a file."))
    if (file.size or 0) > LARGEST_UPLOAD:
        most = {"size": LARGEST_UPLOAD // 1_000_000}
        raise _wrong(_("The file is larger than %(size)s MB; put its rows into several files.") % most)
    return read_lines(file.read()), file.name or ""


def _wrong(why: str) -> InvalidInput:
    return InvalidInput(why, errors=[{"field": "file", "message": why}])


def _context(found: Shown) -> dict[str, object]:
    groups = [
        (words, found.counts[step.value], [one for one in found.planned if one.step is step][:MOST_SHOWN])
        for step, words in STEPS.items()
        if found.counts[step.value] and found.applied_at is None
    ]
    return {
        "found": found,
        "groups": [
            (words, many, [(one, ", ".join(str(CHANGES[name]) for name in one.changes)) for one in shown])
            for words, many, shown in groups
        ],
        "refused": found.refused[:MOST_SHOWN],
        "most_shown": MOST_SHOWN,
    }
