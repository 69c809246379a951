"""Handing in a task by hand."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.adapters.live import UNTIL_ITS_PAGE_IS_OPEN_S, mark_watched
from reflection_app.core.errors import CannotRedo, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import Mode, TaskKind
from reflection_app.runs.models import Run
from reflection_app.tasks.redo import RedoInput, redo_run, why_no_redo
from reflection_app.tasks.submission import TaskSubmission
from reflection_app.tasks.submitting import submit_task
from reflection_app.tasks.views import REDO_FIELDS, redo_form_of
from reflection_app.teams.models import Tool
from reflection_app.web.access import DeskRequest, get_run_for, project_page
from reflection_app.web.forms import NotJson, Typed, blame, complaints, read_typed, read_typed_json

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
JSON_FIELDS = ("tests", "output_schema", "requirements")
MORE = ("kind", "output_schema", "requirements", "tools", "chain_of_thought", "reflection")
FIELDS = ("objective", "mode", *JSON_FIELDS, "kind", "chain_of_thought", "tools", "external_id", "reflection", *LIMITS)
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
    typed = read_typed(request.POST, FIELDS)
    chosen = request.POST.getlist("tools")
    if request.method == "POST":
        try:
            submission = TaskSubmission.model_validate(_body(typed, tools=chosen))
            if not typed.errors:
                run = submit_task(request.place.project, submission, actor=request.place.actor)
                # The first answer begins before the page is open, and is to be seen being written all the same.
                mark_watched(run.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
                return redirect("run", slug=request.place.project.slug, run_id=run.pk)
        except ValidationError as error:
            blame(typed, map(_of_the_choice, complaints(error)))
        except InvalidInput as error:
            blame(typed, [problem | {"message": _in_words_of_the_form(problem)} for problem in error.errors])
    context = {
        "form": typed,
        "fields": typed.fields,
        "mode": typed.values["mode"] or Mode.ADAPTIVE.value,
        "kinds": list(TaskKind),
        "tools": Tool.objects.filter(project=request.place.project, is_enabled=True),
        "chosen_tools": chosen,
        "more_is_open": "mode" in typed.errors or any(typed.values[name] or name in typed.errors for name in MORE),
        "defaults": request.place.project.get_limits(),
    }
    return render(request, "tasks/new.html", context, status=400 if typed.errors else 200)


def _body(typed: Typed, *, tools: list[str]) -> dict[str, Any]:
    """The task as the REST interface would get it, without what is to be JSON and is not."""
    body: dict[str, Any] = {
        "objective": typed.values["objective"],
        **typed.given("mode", "external_id", "kind", "reflection"),
    }
    if limits := typed.given(*LIMITS):
        body["limits"] = limits
    if tools:
        body["tools"] = tools
    if typed.values["chain_of_thought"]:
        body["chain_of_thought"] = True
    for name, text in typed.given(*JSON_FIELDS).items():
        try:
            body[name] = read_typed_json(text)
        except NotJson as error:
            typed.add_error(name, str(error))
    return body


def _of_the_choice(problem: Mapping[str, str]) -> Mapping[str, str]:
    """The form has one choice where REST has a part with several fields."""
    if problem["field"] != "reflection.mode":
        return problem
    return {"field": "reflection", "message": _("Choose one of these.")}


def _in_words_of_the_form(problem: Mapping[str, str]) -> str:
    message = problem["message"]
    if problem["field"] not in {"mode", "tests", "output_schema", "requirements", "tools"}:
        return message
    # A tool is called by its own name.
    for name, words in WORDS.items() if " named " not in message else ():
        message = message.replace(name, words)
    return f"{message[:1].upper()}{message[1:].rstrip('.')}."


# Ordering a finished run again, with instructions.


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def redo_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form; the POST orders, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    if request.method != "POST":
        return _show(request, run, Typed(dict.fromkeys(REDO_FIELDS, "")))
    typed = read_typed(request.POST, REDO_FIELDS)
    try:
        wanted = RedoInput.model_validate(typed.given(*REDO_FIELDS))
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


def _show(request: DeskRequest, run: Run, typed: Typed, *, status: int = 200) -> HttpResponse:
    context = {
        "run": run,
        "project": request.place.project,
        "redo": redo_form_of(run, typed),
        "why_not": why_no_redo(run),
    }
    return render(request, "runs/redo.html", context, status=status)
