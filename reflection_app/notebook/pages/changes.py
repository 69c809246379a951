"""Changing entries: writing, merging, splitting, many together, and taking back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_http_methods, require_POST
from pydantic import ValidationError

from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import HOLDING, Change, EntryKind, may
from notebook_app.listing import EntryOrder, Listing, page_of_entries
from notebook_app.public import Entry, similar
from notebook_app.reading import entries_by_id, entry_of
from reflection_app.core.errors import ActionError, EntryMovedOn, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.notebook.bulk import (
    MOST_ENTRIES,
    BulkCuration,
    BulkDeed,
    BulkItemResult,
    curate_together,
    undo_together,
)
from reflection_app.notebook.curating import edit_entry, merge_entries, split_entry, supersede_entry, undo_curation
from reflection_app.notebook.input import EntryEdit, EntryInput, MergeInput, SplitInput, SupersedeInput, UndoInput
from reflection_app.notebook.pages.browse import render_stale
from reflection_app.notebook.pages.entry import (
    Refusal,
    after_change,
    inbox_address,
    inbox_as_asked,
    is_from_inbox,
    not_changed,
    refusal_of,
    show_in_inbox,
    version_seen,
)
from reflection_app.notebook.proposing import get_entry_for, propose_entry
from reflection_app.notebook.views.entry import EntryView, sides_of, views_of
from reflection_app.notebook.views.filter import LONGEST_SEARCH, carried, forget_last, remember_bulk, remember_change
from reflection_app.notebook.views.words import EntryForm, form_of, given_by, typed_in
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import problems_of, problems_of_entry
from reflection_app.web.list_pages import text_of, wants_part
from reflection_app.web.middleware import post_only

# Writing entries: a new proposal, and other words for one that is there.


@project_page(Permission.PROPOSE_ENTRIES)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: DeskRequest) -> HttpResponse:
    """Asks for the kind first, since each has fields of its own; then proposes what was typed."""
    named = request.POST.get("kind") or request.GET.get("kind", "")
    if named not in set(EntryKind):
        return render(request, "notebook/choose_kind.html", {"kinds": EntryKind.choices})
    kind = EntryKind(named)
    if request.method != "POST":
        return render(request, "notebook/new.html", {"form": EntryForm(kind, {}, errors={}, messages=[])})
    typed = typed_in(request.POST, kind)
    try:
        told = EntryInput.model_validate({"kind": kind} | given_by(typed, kind))
        kept = propose_entry(request.place.project, told, actor=request.place.actor)
    except (ValidationError, InvalidInput) as error:
        return render(request, "notebook/new.html", {"form": _refused(kind, typed, error)}, status=400)
    known = _("The notebook already has this entry. Its occurrences were increased by one.")
    return back_to(request, "entry", kept.entry.id, message="" if kept.is_new else known, level=messages.INFO)


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """The form with the entry's words; asked by htmx, the form alone, to be edited in its place."""
    entry = get_entry_for(request.place.project, entry_id)
    if not may(Change.EDITED, entry.state):
        return back_to(request, "entry", entry.id)
    if request.method != "POST":
        return _edit_form(request, entry, form_of(entry))
    typed = typed_in(request.POST, entry.kind)
    reason = request.POST.get("reason", "").strip()
    given = given_by(typed, entry.kind) | {"reason": reason, "expected_version": version_seen(request)}
    try:
        changed = edit_entry(
            request.place.project, entry.id, EntryEdit.model_validate(given), actor=request.place.actor
        )
    except (ValidationError, ActionError) as error:
        now = get_entry_for(request.place.project, entry.id)
        form = _refused(entry.kind, typed, error, reason=reason, version=now.version)
        return _edit_form(request, now, form, status=409 if form.moved else 400)
    if changed.version != entry.version:
        remember_change(request, changed, words=_("Edited:"))
    return after_change(request, changed)


def _edit_form(request: DeskRequest, entry: Entry, form: EntryForm, *, status: int = 200) -> HttpResponse:
    from_inbox = is_from_inbox(request)
    asked = carried(request)
    context = {
        "entry": entry,
        "view": EntryView(entry),
        "form": form,
        "asked": asked,
        "after": request.POST.get("after", ""),
        "place": "inbox" if from_inbox else "entry",
        "back": inbox_address(request, asked, entry) if from_inbox else "",
    }
    template = "notebook/_edit_form.html" if wants_part(request) else "notebook/edit.html"
    return render(request, template, context, status=status)


def _refused(
    kind: str, typed: Mapping[str, str], error: Exception, *, reason: str = "", version: int | None = None
) -> EntryForm:
    """The form with what was typed and what is wrong with it."""
    if isinstance(error, ValidationError):
        error = InvalidInput(_("Check the fields below."), errors=problems_of_entry(error))
    assert isinstance(error, ActionError)
    refusal = refusal_of(error, act="edit")
    fields = {name: said for name, said in refusal.fields.items() if name in typed}
    general = [said for name, saids in refusal.fields.items() if name not in typed for said in saids]
    moved = isinstance(error, EntryMovedOn)
    said = [str(error)] if moved else general
    return EntryForm(kind, typed, errors=fields, messages=said, reason=reason, version=version, moved=moved)


# Merging one entry into another, letting another hold instead, and making two of one.

OFFERED = 20
# What is compared to find those that are alike.
LONGEST_READ = 4_000


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Looks for the other entry, shows both side by side, and then makes one of them."""
    entry = get_entry_for(request.place.project, entry_id)
    if not may(Change.MERGED, entry.state):
        return back_to(request, "entry", entry.id)
    named = id_from(request.POST.get("into") or request.GET.get("into", ""))
    other = entry_of(request.place.project.pk, named) if named and named != entry.id else None
    if request.method != "POST" or other is None:
        return _merge_page(request, entry, other)
    project, actor = request.place.project, request.place.actor
    reason, act = request.POST.get("reason", "").strip(), request.POST.get("act", "merge")
    seen, other_seen = version_seen(request), version_seen(request, "into_version")
    try:
        # The entry that stays: with the words of either, or instead of the other.
        if act == "supersede":
            replaced = SupersedeInput(by=other.id, reason=reason, expected_version=seen, by_expected_version=other_seen)
            stays = supersede_entry(project, entry.id, replaced, actor=actor)
        else:
            told: dict[str, Any] = {
                "into": other.id,
                "reason": reason,
                "expected_version": seen,
                "into_expected_version": other_seen,
            }
            if act == "merge_mine":
                told["words"] = {"name": entry.name, "description": entry.description, "content": entry.content}
                told["words"] |= {"details": entry.details} if entry.kind == other.kind else {}
            stays = merge_entries(project, entry.id, MergeInput.model_validate(told), actor=actor)
    except (ValidationError, ActionError) as error:
        refusal = refusal_of(error, act=request.POST.get("act", ""), reason=request.POST.get("reason", ""))
        return _merge_page(request, get_entry_for(request.place.project, entry.id), other, refusal=refusal)
    return back_to(request, "entry", stays.id)


def _merge_page(
    request: DeskRequest, entry: Entry, other: Entry | None, *, refusal: Refusal | None = None
) -> HttpResponse:
    q = text_of(LONGEST_SEARCH)(request.GET.get("q", ""))
    now = entry_of(entry.project_id, other.id) if other else None
    context: dict[str, Any] = {"entry": entry, "view": EntryView(entry), "q": q, "refusal": refusal}
    if now is not None:
        # Each field of either but the names, which stand above, with what differs marked.
        context |= {"other": now, "other_view": EntryView(now), "compared": sides_of(entry, now)[1:]}
    else:
        if q:
            wanted = Listing(among=EntryFilter(states=HOLDING), order=EntryOrder.FREQUENT, words=q)
            offered = page_of_entries(entry.project_id, wanted, limit=OFFERED).entries
        else:
            # Those that share most words with the entry.
            text = f"{entry.name}\n{entry.description}\n{entry.content}"[:LONGEST_READ]
            offered = [one.entry for one in similar(entry.project_id, text, limit=OFFERED)]
        context["offered"] = views_of([one for one in offered if one.id != entry.id])
    return render(request, "notebook/merge.html", context, status=refusal.status if refusal else 200)


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def split(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """A form with the entry's words for the part that becomes an entry of its own; this one stays, to be edited."""
    entry = get_entry_for(request.place.project, entry_id)
    if not may(Change.SPLIT, entry.state):
        return back_to(request, "entry", entry.id)
    if request.method != "POST":
        return _split_page(request, entry, form_of(entry))
    typed = typed_in(request.POST, entry.kind)
    reason = request.POST.get("reason", "").strip()
    try:
        into = EntryInput.model_validate({"kind": entry.kind} | given_by(typed, entry.kind))
        told = SplitInput(into=into, reason=reason, expected_version=version_seen(request))
        made = split_entry(request.place.project, entry.id, told, actor=request.place.actor)
    except (ValidationError, ActionError) as error:
        now, status = get_entry_for(request.place.project, entry.id), getattr(error, "status", 400)
        form = _refused(entry.kind, typed, error, reason=reason, version=now.version)
        return _split_page(request, now, replace(form, moved=False), status=status)
    return back_to(request, "entry", made.id)


def _split_page(request: DeskRequest, entry: Entry, form: EntryForm, *, status: int = 200) -> HttpResponse:
    context = {"entry": entry, "view": EntryView(entry), "form": form}
    return render(request, "notebook/split.html", context, status=status)


# Many entries curated with one press, and taking back: of one entry its last change, of many all of it.

DEEDS = {
    BulkDeed.APPROVE: ngettext_lazy("Approved %(count)s entry.", "Approved %(count)s entries.", "count"),
    BulkDeed.REJECT: ngettext_lazy("Rejected %(count)s entry.", "Rejected %(count)s entries.", "count"),
    BulkDeed.RETIRE: ngettext_lazy("Retired %(count)s entry.", "Retired %(count)s entries.", "count"),
}


@project_page(Permission.CURATE)
@post_only(page="notebook_inbox")
def curate_many(request: DeskRequest) -> HttpResponse:
    """Approves, rejects or retires all that are selected; each that is refused is told with why."""
    act, reason = request.POST.get("act", ""), request.POST.get("reason", "").strip()
    if act not in set(DEEDS):
        raise InvalidInput(_("Unknown bulk action."))
    chosen = [found for text in request.POST.getlist("entry")[: MOST_ENTRIES + 1] if (found := id_from(text))]
    try:
        told = BulkCuration(entries=tuple(dict.fromkeys(chosen)), do=BulkDeed(act), reason=reason)
        result = curate_together(request.place.project, told, actor=request.place.actor)
    except ValidationError as error:
        said = [one["message"] for one in problems_of(error)] if chosen else [_("Select at least one entry.")]
        return _list_again(request, refusal=Refusal(act, said, reason, status=400))
    except ActionError as error:
        return _list_again(request, refusal=refusal_of(error, act=act, reason=reason))
    failed = [item for item in result.items if not item.is_done]
    words = str(DEEDS[BulkDeed(act)] % {"count": result.done})
    if result.done:
        remember_bulk(request, result.id, words=words, failed=_named(request, failed))
    else:
        forget_last(request)
        messages.warning(request, "\n".join(why for _name, why in _named(request, failed)))
    return _list_again(request)


@project_page(Permission.CURATE)
@require_POST
def undo_many(request: DeskRequest, bulk_id: UUID) -> HttpResponse:
    """Takes back what was done to many together, as far as nobody changed them since."""
    result = undo_together(request.place.project, bulk_id, actor=request.place.actor)
    forget_last(request)
    failed = [item for item in result.items if not item.is_done]
    messages.success(request, _("Undone: %(count)s.") % {"count": result.done})
    for name, why in _named(request, failed):
        messages.warning(request, f"{name}: {why}")
    return _list_again(request)


@project_page(Permission.CURATE)
@post_only(page="entry")
def undo(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Takes the entry's last change back, and shows it again."""
    entry = get_entry_for(request.place.project, entry_id)
    told = UndoInput(expected_version=version_seen(request))
    try:
        undone = undo_curation(request.place.project, entry.id, told, actor=request.place.actor)
    except ActionError as error:
        return not_changed(request, entry, refusal_of(error, act="undo"))
    forget_last(request)
    said = _("Undone: “%(name)s” was restored.") % {"name": undone.entry.name}
    if undone.recalled:
        said += " " + _("It was injected into %(runs)s runs in the meantime; this is not undone.") % {
            "runs": undone.recalled
        }
    messages.success(request, said)
    return after_change(request, undone.entry)


def _list_again(request: DeskRequest, *, refusal: Refusal | None = None) -> HttpResponse:
    """The list that the entries were chosen from, without those that are gone from it; with a refusal, as it was."""
    if is_from_inbox(request):
        found = inbox_as_asked(request)
        return show_in_inbox(request, found, next(iter(found.page.entries), None), refusal=refusal)
    return render_stale(request, refusal=refusal) if refusal else back_to(request, "stale_entries")


def _named(request: DeskRequest, items: Sequence[BulkItemResult]) -> list[tuple[str, str]]:
    names = entries_by_id(request.place.project.pk, [item.entry_id for item in items])
    return [(names[one.entry_id].name if one.entry_id in names else str(one.entry_id), one.why) for one in items]
