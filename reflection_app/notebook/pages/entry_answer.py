"""What follows a change of an entry on the page where it was made: the next one of the inbox, or the entry again."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from notebook_app.public import KeptEntry, page_of_entries
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.notebook.pages.entry_page import get_entry_for, render_entry
from reflection_app.notebook.pages.notebook_inbox import Inbox, inbox_context, inbox_of
from reflection_app.notebook.views.last_curation import last_curation
from reflection_app.notebook.views.notebook_filter import AskedNotebook, carried
from reflection_app.web.access import DeskRequest

INBOX = "inbox"


@dataclass(frozen=True)
class Refusal:
    """Why a change was not made, and what was typed for it."""

    act: str
    messages: list[str]
    reason: str = ""
    status: int = 409
    fields: dict[str, list[str]] = field(default_factory=dict)


def refusal_of(error: ActionError, *, act: str, reason: str = "") -> Refusal:
    """The refusal that an action's error is."""
    problems = error.errors if isinstance(error, InvalidInput) else []
    messages = [str(one["message"]) for one in problems] or [str(error)]
    fields: dict[str, list[str]] = {}
    for one in problems:
        fields.setdefault(str(one["field"]).split(".", 1)[0], []).append(str(one["message"]))
    return Refusal(act, messages, reason, status=error.status, fields=fields)


def version_seen(request: DeskRequest, name: str = "version") -> int | None:
    """The version that the page showed, None where the form does not say."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else None


def is_from_inbox(request: DeskRequest) -> bool:
    return (request.POST.get("from") or request.GET.get("from")) == INBOX


def inbox_address(request: DeskRequest, asked: AskedNotebook, entry: KeptEntry | None = None) -> str:
    """The inbox as the reader had it, with an entry chosen."""
    after = request.POST.get("after", "")
    given = {"after": after if id_from(after) else "", "entry": str(entry.id) if entry else ""}
    query = "&".join(part for part in (asked.query, urlencode({k: v for k, v in given.items() if v})) if part)
    return reverse("notebook_inbox", args=(request.place.project.slug,)) + (f"?{query}" if query else "")


def after_decision(request: DeskRequest, entry: KeptEntry) -> HttpResponse:
    """The inbox with the entry that came after the one that was decided; elsewhere the entry's own page."""
    if not is_from_inbox(request):
        return redirect("entry", request.place.project.slug, entry.id)
    found = inbox_as_asked(request)
    project_id = request.place.project.pk
    following = page_of_entries(project_id, found.wanted, limit=1, after=entry.id).entries
    first = following or found.page.entries or page_of_entries(project_id, found.wanted, limit=1).entries
    return show_in_inbox(request, found, first[0] if first else None)


def after_change(request: DeskRequest, entry: KeptEntry) -> HttpResponse:
    """The entry again, as it is now, on the page where it was changed."""
    if not is_from_inbox(request):
        return redirect("entry", request.place.project.slug, entry.id)
    return show_in_inbox(request, inbox_as_asked(request), entry)


def not_changed(request: DeskRequest, entry: KeptEntry, refusal: Refusal) -> HttpResponse:
    """The entry as it is now, why nothing was changed, and what was typed."""
    now = get_entry_for(request.place, entry.id)
    if is_from_inbox(request):
        return show_in_inbox(request, inbox_as_asked(request), now, refusal=refusal)
    return render_entry(request, now, refusal=refusal, status=refusal.status)


def show_in_inbox(
    request: DeskRequest, found: Inbox, entry: KeptEntry | None, *, refusal: Refusal | None = None
) -> HttpResponse:
    """Asked by htmx, the parts of the inbox that are others now; else the whole page, by its address where it may."""
    address = inbox_address(request, found.asked, entry)
    is_part = bool(request.headers.get("HX-Request"))
    if not is_part and refusal is None:
        return redirect(address)
    context = inbox_context(request, found, entry, with_filters=not is_part)
    context |= {"refusal": refusal, "last": last_curation(request), "is_open": entry is not None}
    template = "notebook/inbox.html#decided" if is_part else "notebook/inbox.html"
    response = render(request, template, context, status=refusal.status if refusal else 200)
    if is_part:
        response["HX-Push-Url"] = address
    return response


def inbox_as_asked(request: DeskRequest) -> Inbox:
    """The inbox that the form was on."""
    return inbox_of(request, carried(request), after=id_from(request.POST.get("after", "")))
