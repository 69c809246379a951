"""The conflict inbox of the notebook, and the page on which a conflict is settled."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from pydantic import ValidationError

from notebook_app.conflicts import beside, list_conflicts
from notebook_app.kinds import EntryState
from notebook_app.public import Conflict, ConflictKind, ConflictState, Entry
from notebook_app.reading import occurrences_of
from reflection_app.core.errors import ActionError
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.loops.hidden_characters import revealed
from reflection_app.notebook.conflicts import (
    SettleInput,
    UnsettleInput,
    conflict_for,
    run_asked,
    settle,
    suggest_merge,
    unsettle,
)
from reflection_app.notebook.views.entry import EntryView, lines_of, sides_of
from reflection_app.runs.models import RunState
from reflection_app.tasks.submission import invalid_input
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import read_text
from reflection_app.web.list_pages import PAGE
from reflection_app.web.middleware import fragment

EVIDENCE_SHOWN = 5
# The most urgent first.
KINDS = (ConflictKind.CONTRADICTION, ConflictKind.DUPLICATE, ConflictKind.REFINEMENT)
WORDS = ("name", "description", "content")
OPTIONAL = ("stays", "first_expected_version", "second_expected_version")


@dataclass
class ConflictForm:
    """What was typed into the forms, kept where it was refused."""

    stays: UUID
    words: dict[str, str]
    reason: str = ""
    problem: ActionError | None = None
    opened: str = ""


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def conflict_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    asked_state, asked_kind = request.GET.get("state", ""), request.GET.get("kind", "")
    state = ConflictState(asked_state) if asked_state in ConflictState.values else ConflictState.OPEN
    kind = ConflictKind(asked_kind) if asked_kind in ConflictKind.values else None
    after = id_from(request.GET.get("after", ""))
    found = list_conflicts(project.pk, states=(state,), kind=kind, limit=PAGE + 1, after=after)
    context = {
        "rows": [(one, *map(EntryView, one.entries)) for one in found[:PAGE]],
        "next_page": found[PAGE - 1].id if len(found) > PAGE else None,
        "after": after,
        "state": state,
        "kind": kind,
        "states": ConflictState.choices,
        "kinds": [(one, one.label) for one in KINDS],
    }
    return render(request, "notebook/conflicts.html", context)


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def conflict_page(request: DeskRequest, conflict_id: UUID) -> HttpResponse:
    """The page. With `?words=suggestion` the form holds what a model suggested, with `?stays=` that entry's words."""
    conflict = conflict_for(request.place.project, conflict_id)
    stays = id_from(request.GET.get("stays", "")) or _likely_stays(conflict)
    typed = ConflictForm(stays=stays, words=_words_of(conflict, stays))
    if request.GET.get("words") == "suggestion" and conflict.suggestion:
        typed.words = {name: str(conflict.suggestion.get(name, "")) for name in WORDS}
        typed.opened = "merge"
    return _show(request, conflict, typed)


@project_page(Permission.CURATE)
@require_POST
def settle_page(request: DeskRequest, conflict_id: UUID) -> HttpResponse:
    """Settles it and leads to the next one; what was refused is told beside what was typed."""
    conflict = conflict_for(request.place.project, conflict_id)
    newer, older = beside(conflict)
    typed: dict[str, Any] = {
        "settlement": request.POST.get("act", ""),
        "reason": read_text(request, "reason"),
        **{name: request.POST[name] for name in OPTIONAL if request.POST.get(name)},
    }
    if "name" in request.POST:
        typed["words"] = {name: read_text(request, name) for name in WORDS}
    try:
        settlement = SettleInput.model_validate(typed)
        settled = settle(request.place.project, conflict_id, settlement, actor=request.place.actor)
    except (ActionError, ValidationError) as error:
        problem = invalid_input(error, what="settlement") if isinstance(error, ValidationError) else error
        return _refused(request, conflict, problem)
    message = _("Resolved: you %(what)s.") % {"what": settled.get_settlement_display()}
    if following := older or newer:
        return back_to(request, "conflict", following, message=message)
    return back_to(request, "conflicts", message=message)


@project_page(Permission.CURATE)
@require_POST
def unsettle_page(request: DeskRequest, conflict_id: UUID) -> HttpResponse:
    """Takes the settlement back, where nothing was built on it."""
    conflict = conflict_for(request.place.project, conflict_id)
    try:
        unsettle(request.place.project, conflict_id, UnsettleInput(), actor=request.place.actor)
    except ActionError as problem:
        return _refused(request, conflict, problem)
    return back_to(request, "conflict", conflict_id, message=_("Reopened. Both entries were restored."))


@project_page(Permission.CURATE)
@require_POST
def suggest_page(request: DeskRequest, conflict_id: UUID) -> HttpResponse:
    """Asks a model; what it says comes to the page by itself."""
    conflict = conflict_for(request.place.project, conflict_id)
    try:
        suggest_merge(request.place.project, conflict_id, actor=request.place.actor)
    except ActionError as problem:
        return _refused(request, conflict, problem)
    message = _("Suggestion requested. It will appear on this page; nothing else changes.")
    return back_to(request, "conflict", conflict_id, message=message)


def _refused(request: DeskRequest, conflict: Conflict, problem: ActionError) -> HttpResponse:
    """The conflict as it is now, why nothing was done, and what was typed."""
    stays = id_from(request.POST.get("stays", "")) or _likely_stays(conflict)
    has_words = "name" in request.POST
    words = {name: read_text(request, name) for name in WORDS} if has_words else _words_of(conflict, stays)
    opened = {"merge": "merge" if has_words else "", "keep_both": "keep_both"}.get(request.POST.get("act", ""), "")
    typed = ConflictForm(stays=stays, words=words, reason=read_text(request, "reason"), problem=problem, opened=opened)
    return _show(request, conflict_for(request.place.project, conflict.id), typed)


@project_page(Permission.READ_NOTEBOOK)
@require_safe
@fragment(page="conflict")
def suggestion_part(request: DeskRequest, conflict_id: UUID) -> HttpResponse:
    """The suggestion alone, for its own refresh."""
    conflict = conflict_for(request.place.project, conflict_id)
    return render(request, "notebook/_conflict_suggestion.html", _suggested(request, conflict))


def _show(request: DeskRequest, conflict: Conflict, typed: ConflictForm) -> HttpResponse:
    project = request.place.project
    newer, older = beside(conflict)
    evidence = [lines_of(project, occurrences_of(entry, most=EVIDENCE_SHOWN)) for entry in conflict.entries]
    context = _suggested(request, conflict) | {
        # The number, view and newest evidence of each entry.
        "sides": list(zip((1, 2), map(EntryView, conflict.entries), evidence, strict=True)),
        "fields": sides_of(*conflict.entries),
        "typed": typed,
        "newer": newer,
        "older": older,
        "project": project,
    }
    return render(request, "notebook/conflict.html", context, status=typed.problem.status if typed.problem else 200)


def _suggested(request: DeskRequest, conflict: Conflict) -> dict[str, Any]:
    """Return the context of a suggestion: its run, and its texts with hidden characters written out."""
    run = run_asked(conflict)
    is_under_way = run is not None and run.state != RunState.FINISHED
    why_none = (run.error or _("The run ended without a usable suggestion.")) if run and not is_under_way else ""
    return {
        "conflict": conflict,
        "may_curate": request.place.may(Permission.CURATE),
        "asked_run": run,
        "is_under_way": is_under_way,
        "suggestion": {name: revealed(str(text)) for name, text in (conflict.suggestion or {}).items()},
        "why_none": why_none,
    }


def _likely_stays(conflict: Conflict) -> UUID:
    """Return the entry that a curator is likely to keep: the approved one, else the one that was found oftener."""

    def weight(entry: Entry) -> tuple[bool, int]:
        return entry.state == EntryState.APPROVED, entry.occurrences

    return max(conflict.entries, key=weight).pk


def _words_of(conflict: Conflict, stays: UUID) -> dict[str, str]:
    entry = conflict.second if conflict.second.id == stays else conflict.first
    return {name: getattr(entry, name) for name in WORDS}
