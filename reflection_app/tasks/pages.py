"""Handing in a task by hand."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.adapters.live import UNTIL_ITS_PAGE_IS_OPEN_S, mark_watched
from reflection_app.core.errors import CannotRedo, ExternalIdTaken, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import Mode, ReviewDemand, TaskKind
from reflection_app.tasks.redo import REDO_FIELDS, RedoInput, redo_form_of, redo_run, why_no_redo
from reflection_app.tasks.submission import TaskSubmission
from reflection_app.tasks.submitting import submit_task
from reflection_app.tasks.views import MODEL_FIELDS, model_field_of, models_in_form, models_typed
from reflection_app.teams.models import Tool
from reflection_app.web.access import DeskRequest, back_to, get_run_for, project_page
from reflection_app.web.forms import NotJson, Problems, Refused, problems_of, read_form, read_typed_json

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
JSON_FIELDS = ("tests", "output_schema", "requirements")
MORE = (*MODEL_FIELDS, "kind", "output_schema", "requirements", "tools", "chain_of_thought", "review", "reflection")
FIELDS = (
    *("objective", "mode", *JSON_FIELDS, "kind", "chain_of_thought", "review", "tools", "external_id", "reflection"),
    *LIMITS,
)


# What the rules of tasks/submission.py call by the names of the interface, and the form by others.
WORDS = {
    "an output_schema, a tool_call, tools": "a schema of the answer, tools",
    "output_schema": "a schema of the answer",
    "external_loop": "External check",
    "actor_critic": "Actor and critic",
    "reflexion": "Reflexion",
    "planning": "Planning",
    "adaptive": "Adaptive",
    "reflection_protocol": "Reflection protocol",
}


@project_page(Permission.HAND_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def new_task(request: DeskRequest) -> HttpResponse:
    project, form = request.place.project, read_form(request, (*FIELDS, *MODEL_FIELDS))
    chosen, taken_by = request.POST.getlist("tools"), None
    if request.method == "POST":
        with form.collect_errors(_problems_of_task):
            # The task as the REST interface would get it, without what is to be JSON and is not.
            body: dict[str, Any] = {
                "objective": form.values["objective"],
                **form.given("mode", "external_id", "kind", "reflection"),
            }
            more = {"limits": form.given(*LIMITS), "tools": chosen, "models": models_typed(form)} | {
                "chain_of_thought": bool(form.values["chain_of_thought"]),
                "review": form.values["review"] and ReviewDemand.REQUIRED.value,
            }
            body |= {name: value for name, value in more.items() if value}
            for name, text in form.given(*JSON_FIELDS).items():
                try:
                    body[name] = read_typed_json(text)
                except NotJson as error:
                    form.add_error(name, str(error))
            submission = TaskSubmission.model_validate(body)
            if not form.errors:
                try:
                    run = submit_task(project, submission, actor=request.place.actor)
                except ExternalIdTaken as error:
                    taken_by = error.run_id
                    raise InvalidInput(str(error), errors=error.errors) from None
                # The first answer begins before the page is open, and is to be seen being written all the same.
                mark_watched(run.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
                return back_to(request, "run", run.pk)
    context = {
        "form": form,
        "fields": form.fields,
        "mode": form.values["mode"] or Mode.ADAPTIVE.value,
        "kinds": list(TaskKind),
        "tools": Tool.objects.filter(project=project, is_enabled=True),
        "chosen_tools": chosen,
        "more_is_open": "mode" in form.errors or any(form.values[name] or name in form.errors for name in MORE),
        "defaults": project.get_limits(),
        "taken_by": taken_by,
        **models_in_form(project, form),
    }
    return render(request, "tasks/new.html", context, status=form.status)


def _problems_of_task(error: Refused) -> Problems:
    problems = [dict(problem) for problem in problems_of(error)]
    for problem in problems:
        if not isinstance(error, InvalidInput):
            # The form has one choice where REST has a part with several fields.
            if problem["field"] == "reflection.mode":
                problem |= {"field": "reflection", "message": _("Choose one of these.")}
        elif problem["field"].startswith("models."):
            problem["field"] = model_field_of(problem["field"])
        elif problem["field"] in {"mode", "tests", "output_schema", "requirements", "tools"}:
            message = problem["message"]
            # A tool is called by its own name.
            for name, words in WORDS.items() if " named " not in message else ():
                message = message.replace(name, words)
            problem["message"] = f"{message[:1].upper()}{message[1:].rstrip('.')}."
    return problems


# Ordering a finished run again, with instructions.


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def redo_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form; the POST orders, or brings the form back with all that was typed."""
    run, form = get_run_for(request.place, run_id), read_form(request, REDO_FIELDS)
    status = None
    if request.method == "POST":
        try:
            with form.collect_errors(_problems_of_redo):
                wanted = RedoInput.model_validate(form.given(*REDO_FIELDS))
                redone = redo_run(run, wanted, actor=request.place.actor)
                mark_watched(redone.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
                return back_to(request, "run", redone.pk, message=_("Redo created. This is the new run."))
        except CannotRedo as error:
            # The page says by itself why not.
            status = error.status
    context = {
        "run": run,
        "project": request.place.project,
        "redo": redo_form_of(run.attempts.only("number"), form),
        "why_not": why_no_redo(run),
    }
    return render(request, "runs/redo.html", context, status=status or form.status)


def _problems_of_redo(error: Refused) -> Problems:
    """What is wrong, by the field where that says more."""
    if not isinstance(error, InvalidInput):
        return problems_of(error)
    first = error.errors[0]
    message = f"{first['message'].capitalize()}." if first["field"] == "attempt" else str(error)
    return [{"field": first["field"], "message": message}]
