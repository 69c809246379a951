"""A project's settings, its retention, and making a project."""

from contextlib import suppress
from typing import cast

from django.conf import settings as django_settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.adapters.llm.roles import has_escalation, has_vision, offered_models
from reflection_app.core.audit import Actor, client_address
from reflection_app.core.permissions import Permission
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.project_settings import LONGEST_DAYS, RetentionSettings
from reflection_app.loops.task_spec import Thresholds, UsualLimits
from reflection_app.loops.values import Value
from reflection_app.teams.archive.writing import file_response
from reflection_app.teams.demo.loading import demo_there
from reflection_app.teams.models import RetentionRun, Tool
from reflection_app.teams.projects import (
    HandingIn,
    MayNotCreate,
    change_settings,
    create_project,
    may_create_projects,
    models_by_role,
)
from reflection_app.teams.retention import change_retention, delete_project, order_retention, preview_retention
from reflection_app.web.access import DeskRequest, back_to, lead_to, project_page, refused
from reflection_app.web.forms import Form, Problems, Refused, plain_problems_of, problems_of, read_form
from reflection_app.web.layout import stand_in_project
from reflection_app.web.middleware import post_only

# A project's settings: limits, thresholds, completeness, and which model plays which role.


LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
THRESHOLDS = ("pass_from", "revise_from")
LOOK_AGAIN = "look_again"
# Stored as a share of one; typed and shown in per cent.
SHARE = "share"
CHECK = ("when", SHARE, "max_supplements", "temperature", "top_p", "max_retries", "max_cost_usd")
KNOWLEDGE = "knowledge_tool"
ONCE = "unique_external_ids"
MODELS = "allowed_models"


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    saved_check = project.get_completeness()
    saved = project.get_limits().model_dump() | project.get_thresholds().model_dump() | saved_check.model_dump()
    saved[SHARE] = round(saved_check.share * 100, 6)
    texts = {name: _as_typed(value) for name, value in saved.items()}
    texts |= {KNOWLEDGE: project.knowledge_tool, LOOK_AGAIN: "on" if saved_check.look_again else ""}
    texts |= {ONCE: "on" if project.unique_external_ids else ""}
    form = read_form(request, (*LIMITS, *THRESHOLDS, LOOK_AGAIN, *CHECK, KNOWLEDGE, ONCE, MODELS), texts)
    allowed = request.POST.getlist(MODELS) if request.method == "POST" else project.allowed_models
    if request.method == "POST":
        # Of all three parts is told what is wrong with them; saved are all or none.
        limits = _read(UsualLimits, form, {name: form.values[name] or None for name in LIMITS})
        thresholds = _read(Thresholds, form, form.given(*THRESHOLDS))
        # A number that was left out is the desk's own.
        check: dict[str, object] = dict(form.given(*CHECK)) | {LOOK_AGAIN: bool(form.values[LOOK_AGAIN])}
        with suppress(KeyError, ValueError):
            check[SHARE] = float(form.given(SHARE)[SHARE]) / 100
        completeness = None
        with form.collect_errors(_problems_in_percent):
            completeness = CompletenessSettings.model_validate({**django_settings.COMPLETENESS, **check})
        with form.collect_errors(plain_problems_of):
            if limits and thresholds and completeness and not form.errors:
                change_settings(
                    project,
                    limits=limits,
                    thresholds=thresholds,
                    completeness=completeness,
                    knowledge_tool=form.values[KNOWLEDGE],
                    handing_in=HandingIn(unique_external_ids=bool(form.values[ONCE]), allowed_models=tuple(allowed)),
                    actor=request.place.actor,
                )
                message = _("Saved. Runs in progress keep their previous settings.")
                return back_to(request, "settings", message=message)
    context = {
        "form": form,
        "fields": form.fields,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
        "role_models": models_by_role(project),
        # What is no longer offered is shown as long as it is ticked, so that it can be taken away.
        "offered": sorted({*offered_models(), *project.allowed_models}),
        "allowed": allowed,
        "tools": Tool.objects.filter(project=project, is_enabled=True).values_list("name", flat=True).order_by("name"),
        "escalation_model": models_by_role(project, roles=("escalation",))[0].model
        if has_escalation(project.models_by_role)
        else "",
        "vision_model": models_by_role(project, roles=("vision",))[0].model
        if has_vision(project.models_by_role)
        else "",
    }
    return render(request, "teams/settings/page.html", context, status=form.status)


def _as_typed(value: object) -> str:
    text = "" if value is None else str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _problems_in_percent(error: Refused) -> Problems:
    of_share = {"message": _("Enter a number from 0 to 100.")}
    return [problem | of_share if problem["field"] == SHARE else problem for problem in problems_of(error)]


def _read[V: Value](kind: type[V], form: Form, given: object) -> V | None:
    with form.collect_errors():
        return kind.model_validate(given)
    return None


# How long a project keeps things: the rules, what they would delete and have deleted; and deleting the project.

FIELDS = tuple(RetentionSettings.model_fields)
# Pressed under what the new rules would delete.
CONFIRMED = "confirmed"
PASSES_SHOWN = 10
KINDS: dict[str, Promise] = {
    "runs": gettext_lazy("Runs"),
    "sessions": gettext_lazy("Sessions"),
    "tool_failures": gettext_lazy("Reported tool failures"),
    "deliveries": gettext_lazy("Webhook deliveries"),
    "pairs": gettext_lazy("Submitted comparison pairs"),
    "channel_messages": gettext_lazy("Channel messages"),
    "traces": gettext_lazy("Agent traces"),
    "notifications": gettext_lazy("Notifications"),
}
LABELS: dict[str, Promise] = {
    "runs_days": gettext_lazy("Runs (days)"),
    "transcripts_days": gettext_lazy("Sessions (days)"),
    "tool_failures_days": gettext_lazy("Reported tool failures (days)"),
    "deliveries_days": gettext_lazy("Webhook deliveries and channel messages (days)"),
    "traces_days": gettext_lazy("Agent traces (days)"),
    "notifications_days": gettext_lazy("Notifications (days)"),
}


@project_page(Permission.DELETE_DATA)
@require_http_methods(["GET", "HEAD", "POST"])
def keeping(request: DeskRequest) -> HttpResponse:
    """The rules; a POST shows first what new ones would delete, and saves them once that was seen."""
    project, saved = request.place.project, request.place.project.get_retention()
    form = read_form(request, FIELDS, {name: str(days or "") for name, days in saved.model_dump().items()})
    asked, asks = saved, False
    if request.method == "POST":
        with form.collect_errors(_days_problems):
            asked = RetentionSettings.model_validate({name: text or None for name, text in form.values.items()})
            asks = asked != saved and CONFIRMED not in request.POST
    would = preview_retention(project, asked, now=timezone.now())
    asks = asks and any(kept.due for kept in would)
    if request.method == "POST" and not form.errors and not asks:
        change_retention(project, asked, actor=request.place.actor)
        message = _("Saved. Expired data is deleted within an hour. To delete it at once, choose “Delete now”.")
        return back_to(request, "keeping", message=message)
    context = {
        "form": form,
        "fields": [(form.fields[name], LABELS[name]) for name in FIELDS],
        "lines": [(KINDS[kept.kind], kept) for kept in would],
        "asks": asks,
        "is_due": any(kept.due for kept in would),
        "under_way": RetentionRun.objects.filter(project=project, finished_at__isnull=True).exists(),
        "passes": [(run, _deleted_by(run)) for run in project.retention_runs.all()[:PASSES_SHOWN]],
    }
    return render(request, "teams/settings/keeping.html", context, status=form.status)


def _deleted_by(run: RetentionRun) -> str:
    """What the pass deleted, in words; runs are named, and their tasks are not."""
    return " · ".join(f"{KINDS[kind]}: {many:,}" for kind, many in run.deleted.items() if kind in KINDS)


def _days_problems(error: Refused) -> Problems:
    message = _("Enter a whole number from 1 to %(most)s, or leave empty to retain data forever.") % {
        "most": f"{LONGEST_DAYS:,}"
    }
    return [one | {"message": message} for one in problems_of(error)]


@project_page(Permission.DELETE_DATA)
@post_only(page="keeping")
def delete_old(request: DeskRequest) -> HttpResponse:
    """Orders a pass by the rules that are saved."""
    order_retention(request.place.project, actor=request.place.actor)
    message = _("Deletion started. The result appears below when it is done.")
    return back_to(request, "keeping", message=message)


@project_page(Permission.DELETE_DATA)
@require_http_methods(["GET", "HEAD", "POST"])
def delete_project_page(request: DeskRequest) -> HttpResponse:
    """Asks for the project's name first."""
    project, form = request.place.project, read_form(request, ("typed_name",))
    if request.method == "POST":
        with form.collect_errors():
            delete_project(project, typed_name=form.values["typed_name"], actor=request.place.actor)
            message = _("Project “%(name)s” deleted.") % {"name": project.name}
            return lead_to(request, "overview", message=message)
    context = {"field": form.fields["typed_name"]}
    return render(request, "teams/settings/delete_project.html", context, status=form.status)


# The page on which people who may make projects make one.


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_project(request: HttpRequest) -> HttpResponse:
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    if not may_create_projects(desk_request.user):
        return refused(request, MayNotCreate(_("Only staff can create projects on this server.")))
    form = read_form(request, ("name", "slug"))
    if request.method == "POST":
        actor = Actor(user=desk_request.user, address=client_address(request.META))
        with form.collect_errors():
            project = create_project(desk_request.user, **form.values, actor=actor)
            message = _("Project created. Invite your team.")
            return lead_to(request, "members", project.slug, message=message)
    context = {"form": form, "fields": form.fields, "may_load_demo": demo_there() is None}
    return render(request, "teams/new_project.html", context, status=form.status)


# The whole project as a file, for an admin to keep or to take to another desk.


@project_page(Permission.EXPORT_PROJECT)
@require_safe
def project_export(request: DeskRequest) -> HttpResponse:
    # Django's types make no one class of both kinds of answers, but serves either.
    return cast("HttpResponse", file_response(request, request.place.project, actor=request.place.actor))
