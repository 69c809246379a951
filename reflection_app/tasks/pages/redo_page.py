"""Ordering a finished run again, with instructions."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.adapters.watching import UNTIL_ITS_PAGE_IS_OPEN_S, mark_watched
from reflection_app.core.errors import CannotRedo, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.runs.models.run import Run
from reflection_app.tasks.redo_run import RedoInput, redo_run, why_no_redo
from reflection_app.web.access import DeskRequest, get_run_for, project_page
from reflection_app.web.complaints import complaints
from reflection_app.web.forms import Typed, blame, read_typed

FIELDS = ("instructions", "attempt")


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def redo_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form; the POST orders, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    if request.method != "POST":
        return _show(request, run, Typed(dict.fromkeys(FIELDS, "")))
    typed = read_typed(request.POST, FIELDS)
    try:
        wanted = RedoInput.model_validate(typed.given(*FIELDS))
        redone = redo_run(run, wanted, actor=request.place.actor)
    except ValidationError as error:
        blame(typed, complaints(error))
    except InvalidInput as error:
        blame(typed, [{"field": error.errors[0]["field"], "message": _sentence(error)}])
    except CannotRedo as error:
        return _show(request, run, typed, status=error.status)
    else:
        mark_watched(redone.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
        messages.success(request, _("Ordered again. This is the new run."))
        return redirect("run", slug=request.place.project.slug, run_id=redone.pk)
    return _show(request, run, typed, status=400)


def _sentence(error: InvalidInput) -> str:
    """What is wrong, by the field where that says more."""
    first = error.errors[0]
    return f"{first['message'].capitalize()}." if first["field"] == "attempt" else str(error)


def redo_form_of(run: Run, typed: Typed | None = None) -> dict[str, object]:
    """What the form needs, on its own page and on the run's."""
    typed = typed or Typed(dict.fromkeys(FIELDS, ""))
    numbers = list(run.attempts.order_by("number").values_list("number", flat=True))
    return {"fields": typed.fields, "general": typed.general, "numbers": numbers}


def _show(request: DeskRequest, run: Run, typed: Typed, *, status: int = 200) -> HttpResponse:
    context = {
        "run": run,
        "project": request.place.project,
        "redo": redo_form_of(run, typed),
        "why_not": why_no_redo(run),
    }
    return render(request, "runs/redo.html", context, status=status)
