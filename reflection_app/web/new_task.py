"""Handing in a task by hand."""

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.actions.submit_task import submit_task
from reflection_app.actions.task_submission import TaskSubmission
from reflection_app.loops.task_spec import Mode
from reflection_app.models import Role
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.complaints import complaints
from reflection_app.web.forms import Typed, blame, read_typed

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
FIELDS = ("objective", "mode", "tests", "external_id", *LIMITS)


@project_page(role=Role.REVIEWER)
@require_http_methods(["GET", "HEAD", "POST"])
def new_task(request: DeskRequest) -> HttpResponse:
    typed = read_typed(request.POST, FIELDS)
    if request.method == "POST":
        try:
            submission = TaskSubmission.model_validate(_body(typed))
            if not typed.errors:
                run = submit_task(request.place.project, submission, actor=request.place.actor)
                return redirect("run", slug=request.place.project.slug, run_id=run.pk)
        except ValidationError as error:
            blame(typed, complaints(error))
    context = {
        "form": typed,
        "fields": typed.fields,
        "mode": typed.values["mode"] or Mode.ADAPTIVE.value,
        "modes": list(Mode),
        "defaults": request.place.project.get_limits(),
    }
    return render(request, "tasks/new.html", context, status=400 if typed.errors else 200)


def _body(typed: Typed) -> dict[str, Any]:
    """The task as the REST interface would get it, without the tests where they are not even JSON."""
    body: dict[str, Any] = {"objective": typed.values["objective"], **typed.given("mode", "external_id")}
    if limits := typed.given(*LIMITS):
        body["limits"] = limits
    if typed.values["tests"]:
        try:
            body["tests"] = json.loads(typed.values["tests"])
        except json.JSONDecodeError as error:
            typed.add_error("tests", f"Not JSON: {error.msg}, line {error.lineno}, column {error.colno}.")
        except (ValueError, RecursionError):
            typed.add_error("tests", "Not JSON that can be read: a number is too long, or it is nested too deeply.")
    return body
