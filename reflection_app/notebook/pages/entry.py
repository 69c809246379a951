"""The page of one entry of the notebook: what it says, why it is in its state, where it was learned, what changed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from notebook_app.curation import open_contradictions
from notebook_app.kinds import WAITING, EntryKind, EntryState
from notebook_app.listing import EntryOrder, EntryPage, Listing, count_entries, labels_in_use, page_of_entries
from notebook_app.public import Entry
from notebook_app.reading import conflicts_of, entry_of, last_version_of, merged_into, occurrences_of
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.notebook.curating import (
    approve_entry,
    clear_flags,
    own_entry,
    reject_entry,
    reopen_entry,
    restore_entry,
    retire_entry,
    tag_entry,
)
from reflection_app.notebook.input import ApprovalInput, CurationInput, Guarded, OwnerInput, RestoreInput, TagsInput
from reflection_app.notebook.proposing import get_entry_for
from reflection_app.notebook.views.entry import EntryView, lines_of, version_lines, views_of, wording_lines
from reflection_app.notebook.views.filter import (
    AskedNotebook,
    carried,
    last_curation,
    listing_of,
    read_notebook,
    remember_change,
)
from reflection_app.notebook.views.lift import lift_context
from reflection_app.notebook.views.words import category_words, tags_in
from reflection_app.reviews.models import About
from reflection_app.reviews.views.comments import opened_thread
from reflection_app.runs.lesson_use import counts_of, uses_of
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import problems_of_entry
from reflection_app.web.list_pages import PAGE, wants_part
from reflection_app.web.middleware import fragment, post_only

# The evidence shown beside the decision; the entry's page shows more.
SHOWN_BESIDE = 5
MOST_EVIDENCE = 100


def about_entry(request: DeskRequest, view: EntryView, *, most: int) -> dict[str, Any]:
    """The entry with what is needed to decide on it; of its evidence the newest `most`."""
    entry = view.entry
    project = request.place.project
    evidence = lines_of(project, occurrences_of(entry, most=most + 1))
    return {
        "view": view,
        "entry": entry,
        "evidence": evidence[:most],
        "has_more_evidence": len(evidence) > most,
        "conflicts": [(conflict, EntryView(other)) for conflict, other in conflicts_of(entry)],
        "contradictions": open_contradictions(project.pk, entry.id),
        "may_curate": request.place.may(Permission.CURATE),
        "thread": opened_thread(request, About.ENTRY, entry.id),
        "members": list(project.memberships.order_by("user__username").values_list("user_id", "user__username")),
    }


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def entry_page(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    return render_entry(request, get_entry_for(request.place.project, entry_id))


def render_entry(request: DeskRequest, entry: Entry, *, refusal: Any = None, status: int = 200) -> HttpResponse:
    """The whole page of the entry; with a refusal, why a change of it was not made."""
    context = about_entry(request, views_of([entry])[0], most=MOST_EVIDENCE)
    run_uses = uses_of(request.place.project, entry) if entry.state == EntryState.APPROVED else []
    context |= {
        "place": "entry",
        "versions": version_lines(entry),
        "merged": views_of(merged_into(entry)),
        "run_uses": run_uses,
        "run_use_counts": counts_of(run_uses),
        "wordings": wording_lines(entry, slug=request.place.project.slug),
        "last": last_curation(request),
        "refusal": refusal,
        **lift_context(request.place.project, entry.id),
    }
    return render(request, "notebook/entry.html", context, status=status)


# The inbox of the notebook: proposals that wait for a curator, beside the one that is being looked at.

# Of the orders, those that make sense for what nobody has been given yet.
INBOX_ORDERS = (EntryOrder.FREQUENT, EntryOrder.NEWEST, EntryOrder.OLDEST, EntryOrder.SEEN, EntryOrder.NAME)
LIST, ITEM = "inbox-list", "inbox-item"


@dataclass(frozen=True)
class Inbox:
    """The inbox as one address asks for it."""

    asked: AskedNotebook
    wanted: Listing
    after: UUID | None
    page: EntryPage


def inbox_of(request: DeskRequest, asked: AskedNotebook, *, after: UUID | None) -> Inbox:
    """Return the page of the inbox after the entry `after`. A state that never waits is left out of the filter."""
    project = request.place.project
    if asked.filter.state not in {None, *WAITING, EntryState.APPROVED}:
        asked = AskedNotebook(asked.filter.model_copy(update={"state": None}), asked.errors)
    # Approved entries come in only with a flag on them; those are to be found by their words too.
    states = (*WAITING, EntryState.APPROVED)
    wanted = listing_of(asked, project, user=request.user, states=states, order=EntryOrder.FREQUENT)
    wanted = replace(wanted, is_to_decide=True)
    return Inbox(asked, wanted, after, page_of_entries(project.pk, wanted, limit=PAGE, after=after))


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def inbox(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, the list alone or the entry alone, whichever is its target."""
    found = inbox_of(request, read_notebook(request.GET), after=id_from(request.GET.get("after", "")))
    named = id_from(request.GET.get("entry", ""))
    chosen = entry_of(request.place.project.pk, named) if named else None
    part = {LIST: "#list", ITEM: "#item"}.get(request.headers.get("HX-Target", ""), "") if wants_part(request) else ""
    context = inbox_context(request, found, chosen, with_filters=not part, with_item=part != "#list")
    context |= {"is_open": chosen is not None, "last": last_curation(request)}
    response = render(request, f"notebook/inbox.html{part}", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "HX-Target"])
    return response


def inbox_context(
    request: DeskRequest,
    found: Inbox,
    chosen: Entry | None,
    *,
    with_filters: bool = False,
    with_item: bool = True,
) -> dict[str, Any]:
    """What the inbox shows, with the first entry of the list where none is chosen."""
    project = request.place.project
    rows = views_of(found.page.entries)
    chosen = chosen or (found.page.entries[0] if found.page.entries else None)
    context: dict[str, Any] = {
        "asked": found.asked,
        "filter": found.asked.filter,
        "rows": rows,
        "after": found.after,
        "next_page": found.page.last,
        "matches": count_entries(project.pk, found.wanted) if found.asked.filter.is_narrowed else None,
        "chosen_id": chosen.id if chosen else None,
        "place": "inbox",
    }
    if with_item and chosen is not None:
        of_list = (view for view in rows if view.entry.id == chosen.id)
        context |= about_entry(request, next(of_list, None) or views_of([chosen])[0], most=SHOWN_BESIDE)
    return context | (filters_offered(project, orders=INBOX_ORDERS) if with_filters else {})


def filters_offered(project: Project, *, orders: tuple[EntryOrder, ...] = tuple(EntryOrder)) -> dict[str, Any]:
    """What a form of filters offers."""
    offered = labels_in_use(project.pk)
    return {
        "kinds": EntryKind.choices,
        "orders": [(order, order.label) for order in orders],
        "agents": offered.agents,
        "categories": [(category, category_words(category)) for category in offered.categories],
        "tags_in_use": offered.tags,
    }


# What follows a change of an entry on the page where it was made: the next one of the inbox, or the entry again.

INBOX = "inbox"


@dataclass(frozen=True)
class Refusal:
    """Why a change was not made, and what was typed for it."""

    act: str
    messages: list[str]
    reason: str = ""
    status: int = 409
    fields: dict[str, list[str]] = field(default_factory=dict)


def refusal_of(error: ValidationError | ActionError, *, act: str, reason: str = "") -> Refusal:
    """The refusal that an action's error is, or a form's."""
    if isinstance(error, ValidationError):
        found = problems_of_entry(error)
        error = InvalidInput("; ".join(one["message"] for one in found), errors=found)
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


def inbox_address(request: DeskRequest, asked: AskedNotebook, entry: Entry | None = None) -> str:
    """The inbox as the reader had it, with an entry chosen."""
    after = request.POST.get("after", "")
    given = {"after": after if id_from(after) else "", "entry": str(entry.id) if entry else ""}
    query = "&".join(part for part in (asked.query, urlencode({k: v for k, v in given.items() if v})) if part)
    return reverse("notebook_inbox", args=(request.place.project.slug,)) + (f"?{query}" if query else "")


def after_decision(request: DeskRequest, entry: Entry) -> HttpResponse:
    """The inbox with the entry that came after the one that was decided; elsewhere the entry's own page."""
    if not is_from_inbox(request):
        return back_to(request, "entry", entry.id)
    found = inbox_as_asked(request)
    project_id = request.place.project.pk
    following = page_of_entries(project_id, found.wanted, limit=1, after=entry.id).entries
    first = following or found.page.entries or page_of_entries(project_id, found.wanted, limit=1).entries
    return show_in_inbox(request, found, first[0] if first else None)


def after_change(request: DeskRequest, entry: Entry) -> HttpResponse:
    """The entry again, as it is now, on the page where it was changed."""
    if not is_from_inbox(request):
        return back_to(request, "entry", entry.id)
    return show_in_inbox(request, inbox_as_asked(request), entry)


def not_changed(request: DeskRequest, entry: Entry, refusal: Refusal) -> HttpResponse:
    """The entry as it is now, why nothing was changed, and what was typed."""
    now = get_entry_for(request.place.project, entry.id)
    if is_from_inbox(request):
        return show_in_inbox(request, inbox_as_asked(request), now, refusal=refusal)
    return render_entry(request, now, refusal=refusal, status=refusal.status)


def show_in_inbox(
    request: DeskRequest, found: Inbox, entry: Entry | None, *, refusal: Refusal | None = None
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


# Deciding on an entry and labelling it: each an ordinary form, with the version that was on the screen.

NOTHING_NEW = 204
# What is done, and how the page says it afterwards; the first three decide, and lead to the next entry.
ACTS: dict[str, tuple[Callable[..., Entry], str | Promise]] = {
    "approve": (approve_entry, gettext_lazy("Approved:")),
    "reject": (reject_entry, gettext_lazy("Rejected:")),
    "retire": (retire_entry, gettext_lazy("Retired:")),
    "reopen": (reopen_entry, gettext_lazy("Reopened:")),
    "clear": (clear_flags, gettext_lazy("Cleared:")),
}
DECIDE = ("approve", "reject", "retire")


@project_page(Permission.CURATE)
@post_only(page="entry")
def curate(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Approves, rejects, retires, reopens or clears, as the button that was pressed says."""
    act = request.POST.get("act", "")
    if act not in ACTS:
        raise InvalidInput(_("Unknown action."))
    do, said = ACTS[act]
    reason = request.POST.get("reason", "").strip()
    given: dict[str, Any] = {"reason": reason}
    if act == "approve":
        given["contradictions"] = request.POST.get("contradictions") or None
    kind = ApprovalInput if act == "approve" else CurationInput
    return _change(request, entry_id, do, kind, given, act=act, typed=reason, said=str(said))


@project_page(Permission.CURATE)
@post_only(page="entry")
def tag(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry exactly the tags that were typed, with commas between them."""
    typed, said = request.POST.get("tags", ""), _("Tags changed:")
    return _change(request, entry_id, tag_entry, TagsInput, {"tags": tags_in(typed)}, act="tag", typed=typed, said=said)


@project_page(Permission.CURATE)
@post_only(page="entry")
def own(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry to a member to look after, or to nobody."""
    typed, said = request.POST.get("owner", ""), _("Owner changed:")
    return _change(
        request, entry_id, own_entry, OwnerInput, {"owner": typed or None}, act="own", typed=typed, said=said
    )


@project_page(Permission.CURATE)
@post_only(page="entry")
def restore(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry the words of an earlier version."""
    given, said = {"version": request.POST.get("number", "")}, _("Restored an earlier version of:")
    return _change(request, entry_id, restore_entry, RestoreInput, given, act="restore", said=said)


def _change(
    request: DeskRequest,
    entry_id: UUID,
    do: Callable[..., Entry],
    kind: type[Guarded],
    given: dict[str, Any],
    *,
    act: str,
    said: str,
    typed: str = "",
) -> HttpResponse:
    """What the page shows after the change, or the entry with why it was not made."""
    entry = get_entry_for(request.place.project, entry_id)
    try:
        asked = kind.model_validate(given | {"expected_version": version_seen(request)}, strict=False)
        changed = do(request.place.project, entry.id, asked, actor=request.place.actor)
    except (ValidationError, ActionError) as error:
        return not_changed(request, entry, refusal_of(error, act=act, reason=typed))
    remember_change(request, changed, words=said)
    return after_decision(request, changed) if act in DECIDE else after_change(request, changed)


@project_page(Permission.READ_NOTEBOOK)
@require_safe
@fragment(page="entry")
def news(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """For an open page: who changed the entry since the version that it shows, once somebody has."""
    entry = get_entry_for(request.place.project, entry_id)
    shown = request.GET.get("version", "")
    if not (shown.isascii() and shown.isdigit() and len(shown) < 10):
        raise Http404("no such version")
    change = last_version_of(entry)
    if int(shown) >= entry.version or change is None:
        return HttpResponse(status=NOTHING_NEW)
    if is_from_inbox(request):
        place, address = INBOX, inbox_address(request, carried(request), entry)
    else:
        place, address = "entry", reverse("entry", args=(request.place.project.slug, entry.id))
    return render(request, "notebook/_changed.html", {"change": change, "address": address, "place": place})
