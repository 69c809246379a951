"""Writing entries: a new proposal, and other words for one that is there."""

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from notebook_app.public import Change, EntryKind, KeptEntry, may
from reflection_app.core.errors import ActionError, EntryMovedOn, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.notebook.notebook_curation import edit_entry
from reflection_app.notebook.notebook_input import EntryEdit, EntryInput
from reflection_app.notebook.notebook_proposing import propose_entry
from reflection_app.notebook.pages.entry_answer import (
    after_change,
    inbox_address,
    is_from_inbox,
    refusal_of,
    version_seen,
)
from reflection_app.notebook.pages.entry_page import get_entry_for
from reflection_app.notebook.views.entry_form import EntryForm, form_of, given_by, typed_in
from reflection_app.notebook.views.entry_view import EntryView
from reflection_app.notebook.views.last_curation import remember_change
from reflection_app.notebook.views.notebook_filter import carried
from reflection_app.notebook.views.notebook_words import KINDS
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.complaints import complaints_of_entry


@project_page(Permission.PROPOSE_ENTRIES)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: DeskRequest) -> HttpResponse:
    """Asks for the kind first, since each has fields of its own; then proposes what was typed."""
    kind = _kind(request.POST.get("kind") or request.GET.get("kind", ""))
    if kind is None:
        return render(request, "notebook/choose_kind.html", {"kinds": [(one, KINDS[one]) for one in EntryKind]})
    if request.method != "POST":
        return _new_form(request, EntryForm(kind, {}, errors={}, messages=[]))
    typed = typed_in(request.POST, kind)
    try:
        told = EntryInput.model_validate({"kind": kind} | given_by(typed, kind))
        kept = propose_entry(request.place.project, told, actor=request.place.actor)
    except (ValidationError, InvalidInput) as error:
        return _new_form(request, _refused(kind, typed, error), status=400)
    if not kept.is_new:
        messages.info(request, _("The notebook has an entry with these words already. It was counted once more."))
    return redirect("entry", request.place.project.slug, kept.entry.id)


@project_page(Permission.CURATE)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """The form with the entry's words; asked by htmx, the form alone, to be edited in its place."""
    entry = get_entry_for(request.place, entry_id)
    if not may(Change.EDITED, entry.state):
        return redirect("entry", request.place.project.slug, entry.id)
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
        now = get_entry_for(request.place, entry.id)
        form = _refused(entry.kind, typed, error, reason=reason, version=now.version)
        return _edit_form(request, now, form, status=409 if form.moved else 400)
    if changed.version != entry.version:
        remember_change(request, changed, words=_("Edited:"))
    return after_change(request, changed)


def _edit_form(request: DeskRequest, entry: KeptEntry, form: EntryForm, *, status: int = 200) -> HttpResponse:
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
    template = "notebook/_edit_form.html" if request.headers.get("HX-Request") else "notebook/edit.html"
    return render(request, template, context, status=status)


def _new_form(request: DeskRequest, form: EntryForm, *, status: int = 200) -> HttpResponse:
    return render(request, "notebook/new.html", {"form": form}, status=status)


def _refused(
    kind: EntryKind, typed: Mapping[str, str], error: Exception, *, reason: str = "", version: int | None = None
) -> EntryForm:
    """The form with what was typed and what is wrong with it."""
    if isinstance(error, ValidationError):
        problems = complaints_of_entry(error)
        error = InvalidInput(_("Look at the fields below."), errors=problems)
    assert isinstance(error, ActionError)
    refusal = refusal_of(error, act="edit")
    fields = {name: said for name, said in refusal.fields.items() if name in typed}
    general = [said for name, saids in refusal.fields.items() if name not in typed for said in saids]
    moved = isinstance(error, EntryMovedOn)
    said = [str(error)] if moved else general
    return EntryForm(kind, typed, errors=fields, messages=said, reason=reason, version=version, moved=moved)


def _kind(text: str) -> EntryKind | None:
    return EntryKind(text) if text in set(EntryKind) else None
