"""The pages of one run: its story, one step in full, and cancelling."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.permissions import Permission
from reflection_app.notebook.views.learned import learned_from_run
from reflection_app.repairs.views.completeness_view import checks_of
from reflection_app.repairs.views.failure_view import failures_by_place
from reflection_app.reviews.models.comment import About
from reflection_app.reviews.views.comments import opened_thread
from reflection_app.runs.cancel_run import cancel_run
from reflection_app.runs.pages.run_undo import undo_on_run
from reflection_app.runs.views.plan_view import has_plans, plans_of
from reflection_app.runs.views.protocol_view import has_protocol, rounds_of
from reflection_app.runs.views.run_graph import draw
from reflection_app.runs.views.run_lineage import lineage_of
from reflection_app.runs.views.run_story import tell
from reflection_app.runs.views.step_lines import StepLine
from reflection_app.runs.views.told_view import told_to
from reflection_app.sessions.views.looking_back import looked_back_at, looking_back_context
from reflection_app.tasks.pages import redo_form_of
from reflection_app.tasks.redo import why_no_redo
from reflection_app.web.access import DeskRequest, get_run_for, get_step_for, project_page


@project_page()
@require_safe
def run_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    run = get_run_for(request.place, run_id)
    may_redo = request.place.may(Permission.REVIEW) and not why_no_redo(run)
    context = {
        "run": run,
        "project": request.place.project,
        "story": tell(run),
        "has_plans": has_plans(run),
        "plans": plans_of(run),
        "completeness": checks_of(run),
        "has_protocol": has_protocol(run),
        "rounds": rounds_of(run),
        "redo": redo_form_of(run) if may_redo else None,
        "told": told_to(run),
        "graph": draw(run),
        "learned": learned_from_run(run),
        "undo": undo_on_run(request, run),
        "may_cancel": request.place.may(Permission.HAND_IN),
        "may_fork": request.place.may(Permission.HAND_IN),
        "lineage": lineage_of(run),
        "thread": opened_thread(request, About.RUN, run.pk),
        "looks_back": looked_back_at(run),
        **looking_back_context(run=run),
    }
    return render(request, "runs/page.html", context)


@project_page()
@require_safe
def goes_on(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """For the open page of a run that had ended, and has no socket any more: that it goes on again, once it does."""
    run = get_run_for(request.place, run_id)
    return HttpResponse(status=204) if run.is_finished else render(request, "runs/_goes_on.html", {"run": run})


@project_page()
@require_safe
def step_page(request: DeskRequest, run_id: UUID, seq: int) -> HttpResponse:
    step = get_step_for(request.place, run_id, seq)
    context = {
        "run": step.run,
        "project": request.place.project,
        "line": StepLine(step, failure=failures_by_place(step.run).get(step.key)),
        "in_full": True,
        "may_fork": request.place.may(Permission.HAND_IN),
    }
    return render(request, "runs/step.html", context)


@project_page(Permission.HAND_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """Asks first; the POST cancels."""
    run = get_run_for(request.place, run_id)
    if request.method == "POST":
        cancel_run(run, actor=request.place.actor)
        messages.success(request, _("The run was cancelled."))
    elif not run.is_finished:
        return render(request, "runs/cancel.html", {"run": run})
    return redirect("run", slug=request.place.project.slug, run_id=run.pk)
