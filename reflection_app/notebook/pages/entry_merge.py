"""Merging one entry into another, letting another hold instead, and making two of one."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from notebook_app.public import (
    HOLDING,
    Change,
    EntryFilter,
    EntryOrder,
    KeptEntry,
    Listing,
    entry_of,
    may,
    page_of_entries,
    similar,
)
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.notebook.notebook_input import EntryInput, MergeInput, SplitInput, SupersedeInput
from reflection_app.notebook.notebook_merging import merge_entries, split_entry, supersede_entry
from reflection_app.notebook.pages.entry_answer import Refusal, refusal_of, version_seen
from reflection_app.notebook.pages.entry_page import get_entry_for
from reflection_app.notebook.views.entry_form import EntryForm, form_of, given_by, typed_in
from reflection_app.notebook.views.entry_view import EntryView, views_of
from reflection_app.notebook.views.notebook_filter import LONGEST_SEARCH
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.complaints import complaints_of_entry
from reflection_app.web.text_diff import marked

OFFERED = 20
# What is compared to find those that are alike.
LONGEST_READ = 4_000


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Looks for the other entry, shows both side by side, and then makes one of them."""
    entry = get_entry_for(request.place, entry_id)
    if not may(Change.MERGED, entry.state):
        return redirect("entry", request.place.project.slug, entry.id)
    named = id_from(request.POST.get("into") or request.GET.get("into", ""))
    other = entry_of(request.place.project.pk, named) if named and named != entry.id else None
    if request.method != "POST" or other is None:
        return _merge_page(request, entry, other)
    try:
        stays = _settled(request, entry, other)
    except (ValidationError, ActionError) as error:
        return _merge_page(request, get_entry_for(request.place, entry.id), other, refusal=_refusal(request, error))
    return redirect("entry", request.place.project.slug, stays.id)


def _settled(request: DeskRequest, entry: KeptEntry, other: KeptEntry) -> KeptEntry:
    """The entry that stays: with the words of either, or instead of the other."""
    project, actor = request.place.project, request.place.actor
    reason, act = request.POST.get("reason", "").strip(), request.POST.get("act", "merge")
    seen, other_seen = version_seen(request), version_seen(request, "into_version")
    if act == "supersede":
        replaced = SupersedeInput(by=other.id, reason=reason, expected_version=seen, by_expected_version=other_seen)
        return supersede_entry(project, entry.id, replaced, actor=actor)
    told: dict[str, Any] = {
        "into": other.id,
        "reason": reason,
        "expected_version": seen,
        "into_expected_version": other_seen,
    }
    if act == "merge_mine":
        words: dict[str, Any] = {"name": entry.name, "description": entry.description, "content": entry.content}
        words |= {"details": entry.details} if entry.kind is other.kind else {}
        told["words"] = words
    return merge_entries(project, entry.id, MergeInput.model_validate(told), actor=actor)


def _merge_page(
    request: DeskRequest, entry: KeptEntry, other: KeptEntry | None, *, refusal: Refusal | None = None
) -> HttpResponse:
    q = storable(request.GET.get("q", "")).strip()[:LONGEST_SEARCH]
    now = entry_of(entry.project_id, other.id) if other else None
    context: dict[str, Any] = {"entry": entry, "view": EntryView(entry), "q": q, "refusal": refusal}
    if now is None:
        context["offered"] = views_of([one for one in _offered(entry, q) if one.id != entry.id])
    else:
        context |= {"other": now, "other_view": EntryView(now), "compared": _compared(entry, now)}
    return render(request, "notebook/merge.html", context, status=refusal.status if refusal else 200)


def _offered(entry: KeptEntry, q: str) -> list[KeptEntry]:
    """Those that a search finds; without one, those that share most words with the entry."""
    if q:
        wanted = Listing(among=EntryFilter(states=HOLDING), order=EntryOrder.FREQUENT, words=q)
        return page_of_entries(entry.project_id, wanted, limit=OFFERED).entries
    text = f"{entry.name}\n{entry.description}\n{entry.content}"[:LONGEST_READ]
    return [one.entry for one in similar(entry.project_id, text, limit=OFFERED)]


def _compared(entry: KeptEntry, other: KeptEntry) -> list[tuple[str, Any, Any]]:
    """Each field of either with what differs marked."""
    mine, theirs = EntryView(entry), EntryView(other)
    labels = {field.name: field.label for field in [*mine.fields, *theirs.fields]}
    left = {field.name: "\n".join(field.items) or field.text for field in mine.fields}
    right = {field.name: "\n".join(field.items) or field.text for field in theirs.fields}
    return [(label, *marked(left.get(name, ""), right.get(name, ""))) for name, label in labels.items()]


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def split(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """A form with the entry's words for the part that becomes an entry of its own; this one stays, to be edited."""
    entry = get_entry_for(request.place, entry_id)
    if not may(Change.SPLIT, entry.state):
        return redirect("entry", request.place.project.slug, entry.id)
    if request.method != "POST":
        return _split_page(request, entry, form_of(entry))
    typed = typed_in(request.POST, entry.kind)
    reason = request.POST.get("reason", "").strip()
    try:
        into = EntryInput.model_validate({"kind": entry.kind} | given_by(typed, entry.kind))
        told = SplitInput(into=into, reason=reason, expected_version=version_seen(request))
        made = split_entry(request.place.project, entry.id, told, actor=request.place.actor)
    except (ValidationError, ActionError) as error:
        refusal = _refusal(request, error)
        now = get_entry_for(request.place, entry.id)
        shown = [said for name, saids in refusal.fields.items() if name not in typed for said in saids]
        form = EntryForm(
            entry.kind,
            typed,
            errors=refusal.fields,
            messages=shown or refusal.messages,
            reason=reason,
            version=now.version,
        )
        return _split_page(request, now, form, status=refusal.status)
    return redirect("entry", request.place.project.slug, made.id)


def _split_page(request: DeskRequest, entry: KeptEntry, form: EntryForm, *, status: int = 200) -> HttpResponse:
    context = {"entry": entry, "view": EntryView(entry), "form": form}
    return render(request, "notebook/split.html", context, status=status)


def _refusal(request: DeskRequest, error: ValidationError | ActionError) -> Refusal:
    reason = request.POST.get("reason", "")
    if isinstance(error, ValidationError):
        problems = complaints_of_entry(error)
        error = InvalidInput("; ".join(one["message"] for one in problems), errors=problems)
    return refusal_of(error, act=request.POST.get("act", ""), reason=reason)
