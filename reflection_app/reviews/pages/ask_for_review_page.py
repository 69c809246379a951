"""Asking for a review of an attempt."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.core.errors import ActionError, AskedAlready, InvalidInput
from reflection_app.core.models import Membership, Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.review_rules import MOST_REVIEWERS
from reflection_app.reviews.ask_for_review import AskInput, ask_for_review
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models import Run
from reflection_app.teams.notifications import MAY_REVIEW
from reflection_app.web.access import DeskRequest, get_run_for, project_page
from reflection_app.web.complaints import complaints
from reflection_app.web.forms import Typed, blame, read_typed

FIELDS = ("attempt", "note", "reviewers", "assignee")


@project_page(Permission.ASK_FOR_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def ask_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form; the POST asks, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    if request.method != "POST":
        asked_about = request.GET.get("attempt", "")
        return _show(request, run, Typed(dict.fromkeys(FIELDS, "") | {"attempt": asked_about[:10]}))
    typed = read_typed(request.POST, FIELDS)
    try:
        wanted = AskInput.model_validate(typed.given(*FIELDS))
        opened = ask_for_review(run, wanted, actor=request.place.actor)
    except ValidationError as error:
        blame(typed, complaints(error))
    except InvalidInput as error:
        blame(typed, error.errors)
    except AskedAlready as problem:
        return _show(request, run, typed, problem=problem, status=problem.status)
    else:
        messages.success(request, _said(request, opened))
        return redirect("run", slug=request.place.project.slug, run_id=run.pk)
    return _show(request, run, typed, status=400)


def _said(request: DeskRequest, opened: list[Review]) -> str:
    address = reverse("review", args=(request.place.project.slug, opened[0].pk))
    return format_html('{} <a href="{}">{}</a>', _("It waits in the queue."), address, _("Open the review"))


def _show(
    request: DeskRequest, run: Run, typed: Typed, *, problem: ActionError | None = None, status: int = 200
) -> HttpResponse:
    judged = run.attempts.filter(verdicts__isnull=False).distinct().order_by("number")
    context: dict[str, Any] = {
        "run": run,
        "fields": typed.fields,
        "general": typed.general,
        "problem": problem,
        "numbers": list(judged.values_list("number", flat=True)),
        "kept": run.best_attempt.number if run.best_attempt else None,
        "people": _people(request.place.project),
        "most": range(1, MOST_REVIEWERS + 1),
    }
    return render(request, "runs/ask_for_review.html", context, status=status)


def _people(project: Project) -> list[str]:
    """The names of those who may review."""
    members = Membership.objects.filter(project=project, role__in=MAY_REVIEW, user__is_active=True)
    return list(members.order_by("user__username").values_list("user__username", flat=True))
