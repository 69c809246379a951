"""Deciding on an entry and labelling it: each an ordinary form, with the version that was on the screen."""

from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from notebook_app.public import KeptEntry, last_version_of
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.notebook.notebook_curation import (
    approve_entry,
    clear_flags,
    own_entry,
    reject_entry,
    reopen_entry,
    restore_entry,
    retire_entry,
    tag_entry,
)
from reflection_app.notebook.notebook_input import CurationInput, OwnerInput, RestoreInput, TagsInput
from reflection_app.notebook.pages.entry_answer import (
    INBOX,
    after_change,
    after_decision,
    inbox_address,
    is_from_inbox,
    not_changed,
    refusal_of,
    version_seen,
)
from reflection_app.notebook.pages.entry_page import get_entry_for
from reflection_app.notebook.views.entry_form import tags_in
from reflection_app.notebook.views.last_curation import remember_change
from reflection_app.notebook.views.notebook_filter import carried
from reflection_app.notebook.views.notebook_words import change_words
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints_of_entry

NOTHING_NEW = 204
# What is done, and how the page says it afterwards; the first three decide, and lead to the next entry.
ACTS: dict[str, tuple[Callable[..., KeptEntry], str | Promise]] = {
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
        raise InvalidInput(_("There is no such thing to do with an entry."))
    do, said = ACTS[act]
    reason = request.POST.get("reason", "").strip()

    def change(entry: KeptEntry) -> KeptEntry:
        told = CurationInput(reason=reason, expected_version=version_seen(request))
        return do(request.place.project, entry.id, told, actor=request.place.actor)

    return _changed(request, entry_id, change, act=act, typed=reason, said=str(said), decides=act in DECIDE)


@project_page(Permission.CURATE)
@post_only(page="entry")
def tag(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry exactly the tags that were typed, with commas between them."""
    typed = request.POST.get("tags", "")

    def change(entry: KeptEntry) -> KeptEntry:
        told = TagsInput(tags=tags_in(typed), expected_version=version_seen(request))
        return tag_entry(request.place.project, entry.id, told, actor=request.place.actor)

    return _changed(request, entry_id, change, act="tag", typed=typed, said=_("Tags changed:"))


@project_page(Permission.CURATE)
@post_only(page="entry")
def own(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry to a member to look after, or to nobody."""
    typed = request.POST.get("owner", "")

    def change(entry: KeptEntry) -> KeptEntry:
        told = OwnerInput(owner=typed or None, expected_version=version_seen(request))
        return own_entry(request.place.project, entry.id, told, actor=request.place.actor)

    return _changed(request, entry_id, change, act="own", typed=typed, said=_("Owner changed:"))


@project_page(Permission.CURATE)
@post_only(page="entry")
def restore(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Gives the entry the words of an earlier version."""
    typed = request.POST.get("number", "")

    def change(entry: KeptEntry) -> KeptEntry:
        told = RestoreInput.model_validate({"version": typed, "expected_version": version_seen(request)}, strict=False)
        return restore_entry(request.place.project, entry.id, told, actor=request.place.actor)

    return _changed(request, entry_id, change, act="restore", said=_("Restored an earlier version of:"))


def _changed(
    request: DeskRequest,
    entry_id: UUID,
    change: Callable[[KeptEntry], KeptEntry],
    *,
    act: str,
    said: str,
    typed: str = "",
    decides: bool = False,
) -> HttpResponse:
    """What the page shows after the change, or the entry with why it was not made."""
    entry = get_entry_for(request.place, entry_id)
    try:
        changed = change(entry)
    except ValidationError as error:
        problems = complaints_of_entry(error)
        refused = InvalidInput("; ".join(one["message"] for one in problems), errors=problems)
        return not_changed(request, entry, refusal_of(refused, act=act, reason=typed))
    except ActionError as error:
        return not_changed(request, entry, refusal_of(error, act=act, reason=typed))
    remember_change(request, changed, words=said)
    return after_decision(request, changed) if decides else after_change(request, changed)


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def news(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """For an open page: who changed the entry since the version that it shows, once somebody has."""
    entry = get_entry_for(request.place, entry_id)
    shown = request.GET.get("version", "")
    if not (shown.isascii() and shown.isdigit() and len(shown) < 10):
        raise Http404("no such version")
    change = last_version_of(entry)
    if int(shown) >= entry.version or change is None:
        return HttpResponse(status=NOTHING_NEW)
    slug = request.place.project.slug
    address = (
        inbox_address(request, carried(request), entry)
        if is_from_inbox(request)
        else reverse("entry", args=(slug, entry.id))
    )
    context = {"change": change, "words": change_words(change.change), "address": address}
    return render(request, "notebook/_changed.html", context | {"place": INBOX if is_from_inbox(request) else "entry"})
