"""Forking a run in the browser."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.adapters.watching import UNTIL_ITS_PAGE_IS_OPEN_S, mark_watched
from reflection_app.core.errors import CannotFork, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.verdicts import IssueCategory, Severity, Verdict
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.fork_run import fork_run
from reflection_app.runs.models.run import Run, Step
from reflection_app.runs.views.fork_form import ForkForm, as_input, prefilled, read_fork
from reflection_app.runs.views.step_lines import StepLine
from reflection_app.web.access import DeskRequest, get_run_for, project_page
from reflection_app.web.complaints import complaints


@project_page(Permission.HAND_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def fork_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form for the step named by `?step=`; the POST forks, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    from_step, step = _step_of(run, request.GET.get("step", "1"))
    if request.method != "POST":
        return _show(request, prefilled(run, step, from_step=from_step))
    form = read_fork(request.POST, run, step, from_step=from_step)
    try:
        asked = as_input(form)
        if not form.errors:
            fork = fork_run(run, ForkInput.model_validate(asked), actor=request.place.actor)
            mark_watched(fork.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
            _tell(request, fork, asked_for=from_step)
            return redirect("run", slug=request.place.project.slug, run_id=fork.pk)
    except ValidationError as error:
        form.blame(complaints(error))
    except InvalidInput as error:
        form.blame(error.errors or [{"field": "", "message": str(error)}])
    except CannotFork as error:
        form.blame([{"field": "", "message": str(error)}])
        return _show(request, form, status=error.status)
    return _show(request, form, status=400)


def _step_of(run: Run, typed: str) -> tuple[int, Step | None]:
    """The number and the step that it is of; no step where it is the one after the last. Raises Http404."""
    if not typed.isascii() or not typed.isdigit() or len(typed) > 6:
        raise Http404("no such step")
    from_step = int(typed)
    step = Step.objects.filter(run=run, seq=from_step).first()
    if step is None and from_step != Step.objects.filter(run=run).count() + 1:
        raise Http404("no such step")
    return from_step, step


def _tell(request: DeskRequest, fork: Run, *, asked_for: int) -> None:
    if fork.forked_from_step == asked_for:
        messages.success(
            request, _("Forked from step %(forked_from_step)s.") % {"forked_from_step": fork.forked_from_step}
        )
    else:
        messages.warning(request, fork.fork_note.rpartition("\n\n")[2])


def _show(request: DeskRequest, form: ForkForm, *, status: int = 200) -> HttpResponse:
    context = {
        "run": form.run,
        "project": request.place.project,
        "form": form,
        "fields": form.fields,
        "change": form.values["change"],
        "line": StepLine(form.step) if form.step else None,
        "limits": form.run.get_spec().limits,
        "verdict_names": list(Verdict),
        "severities": list(Severity),
        "categories": list(IssueCategory),
    }
    return render(request, "forks/form.html", context, status=status)
