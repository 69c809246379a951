"""Many entries curated with one press, and taking back: of one entry its last change, of many all of it."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from notebook_app.public import KeptEntry, entries_by_id
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.notebook.notebook_bulk import (
    MOST_ENTRIES,
    BulkCuration,
    BulkDeed,
    BulkItemResult,
    curate_together,
    undo_together,
)
from reflection_app.notebook.notebook_input import UndoInput
from reflection_app.notebook.notebook_undo import undo_curation
from reflection_app.notebook.pages.entry_answer import (
    Refusal,
    after_change,
    inbox_as_asked,
    is_from_inbox,
    not_changed,
    refusal_of,
    show_in_inbox,
    version_seen,
)
from reflection_app.notebook.pages.entry_page import get_entry_for
from reflection_app.notebook.pages.notebook_browse import render_stale
from reflection_app.notebook.views.last_curation import forget_last, remember_bulk
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints

DEEDS: dict[BulkDeed, str | Promise] = {
    BulkDeed.APPROVE: ngettext_lazy("Approved %(count)s entry.", "Approved %(count)s entries.", "count"),
    BulkDeed.REJECT: ngettext_lazy("Rejected %(count)s entry.", "Rejected %(count)s entries.", "count"),
    BulkDeed.RETIRE: ngettext_lazy("Retired %(count)s entry.", "Retired %(count)s entries.", "count"),
}
NONE_CHOSEN = gettext_lazy("Select one entry at least.")


@project_page(Permission.CURATE)
@post_only(page="notebook_inbox")
def curate_many(request: DeskRequest) -> HttpResponse:
    """Approves, rejects or retires all that are selected; each that is refused is told with why."""
    act, reason = request.POST.get("act", ""), request.POST.get("reason", "").strip()
    if act not in set(DEEDS):
        raise InvalidInput(_("There is no such thing to do with many entries."))
    chosen = [found for text in request.POST.getlist("entry")[: MOST_ENTRIES + 1] if (found := id_from(text))]
    try:
        told = BulkCuration(entries=tuple(dict.fromkeys(chosen)), do=BulkDeed(act), reason=reason)
        result = curate_together(request.place.project, told, actor=request.place.actor)
    except ValidationError as error:
        said = [str(NONE_CHOSEN)] if not chosen else [one["message"] for one in complaints(error)]
        return _not_done(request, Refusal(act, said, reason, status=400))
    except ActionError as error:
        return _not_done(request, refusal_of(error, act=act, reason=reason))
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
    messages.success(request, _("Taken back: %(count)s.") % {"count": result.done})
    for name, why in _named(request, failed):
        messages.warning(request, f"{name}: {why}")
    return _list_again(request)


@project_page(Permission.CURATE)
@post_only(page="entry")
def undo(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    """Takes the entry's last change back, and shows it again."""
    entry = get_entry_for(request.place, entry_id)
    told = UndoInput(expected_version=version_seen(request))
    try:
        undone = undo_curation(request.place.project, entry.id, told, actor=request.place.actor)
    except ActionError as error:
        return not_changed(request, entry, refusal_of(error, act="undo"))
    forget_last(request)
    messages.success(request, _undone_words(undone.entry, recalled=undone.recalled))
    return after_change(request, undone.entry)


def _undone_words(entry: KeptEntry, *, recalled: int) -> str:
    words = _("Taken back: “%(name)s” is as it was before.") % {"name": entry.name}
    if recalled:
        words += " " + _("%(runs)s runs were told it meanwhile, and stay told.") % {"runs": recalled}
    return words


def _list_again(request: DeskRequest) -> HttpResponse:
    """The list that the entries were chosen from, without those that are gone from it."""
    if is_from_inbox(request):
        found = inbox_as_asked(request)
        return show_in_inbox(request, found, next(iter(found.page.entries), None))
    return redirect("stale_entries", request.place.project.slug)


def _not_done(request: DeskRequest, refusal: Refusal) -> HttpResponse:
    if is_from_inbox(request):
        found = inbox_as_asked(request)
        return show_in_inbox(request, found, next(iter(found.page.entries), None), refusal=refusal)
    return render_stale(request, refusal=refusal, status=refusal.status)


def _named(request: DeskRequest, items: Sequence[BulkItemResult]) -> list[tuple[str, str]]:
    names = entries_by_id(request.place.project.pk, [item.entry_id for item in items])
    return [(names[one.entry_id].name if one.entry_id in names else str(one.entry_id), one.why) for one in items]
