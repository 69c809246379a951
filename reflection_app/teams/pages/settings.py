"""A project's settings: limits, thresholds, completeness, and which model plays which role."""

from dataclasses import dataclass
from typing import cast

from django.conf import settings as django_settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.adapters.llm.roles import has_escalation
from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.project_settings import LONGEST_DAYS, RetentionSettings
from reflection_app.loops.task_spec import Thresholds, UsualLimits
from reflection_app.loops.values import Value
from reflection_app.teams.archive.writing import Pieces, PiecesOffTheLoop, headers_of, whole_file
from reflection_app.teams.models import RetentionRun, Tool
from reflection_app.teams.projects import (
    MayNotCreate,
    _model_or_none,
    change_settings,
    create_project,
    may_create_projects,
    models_by_role,
)
from reflection_app.teams.retention import Kept, change_retention, delete_project, order_retention, preview_retention
from reflection_app.web.access import DeskRequest, project_page, refused
from reflection_app.web.forms import Typed, TypedField, blame, complaints, in_plain_words, read_typed
from reflection_app.web.layout import stand_in_project
from reflection_app.web.middleware import post_only

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
THRESHOLDS = ("pass_from", "revise_from")
CHECK_ENABLED = "completeness_enabled"
CHECK = ("max_supplements", "temperature", "top_p", "max_retries")
KNOWLEDGE = "knowledge_tool"


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: DeskRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    typed = read_typed(request.POST, (*LIMITS, *THRESHOLDS, CHECK_ENABLED, *CHECK, KNOWLEDGE))
    limits = _read(UsualLimits, typed, {name: typed.values[name] or None for name in LIMITS})
    thresholds = _read(Thresholds, typed, typed.given(*THRESHOLDS))
    completeness = _read(CompletenessSettings, typed, _check_given(typed))
    if limits is None or thresholds is None or completeness is None:
        return _page(request, typed=typed, status=400)
    try:
        change_settings(
            request.place.project,
            limits=limits,
            thresholds=thresholds,
            completeness=completeness,
            knowledge_tool=typed.values[KNOWLEDGE],
            actor=request.place.actor,
        )
    except InvalidInput as error:
        blame(typed, in_plain_words(error.errors))
        return _page(request, typed=typed, status=400)
    messages.success(request, _("Saved. Runs that are under way keep the settings they began with."))
    return redirect("settings", slug=request.place.project.slug)


def _check_given(typed: Typed) -> dict[str, object]:
    """The settings of the completeness check; a number that was left out is the desk's own."""
    usual: dict[str, object] = dict(django_settings.COMPLETENESS)
    return usual | typed.given(*CHECK) | {"enabled": bool(typed.values[CHECK_ENABLED])}


def _read[V: Value](kind: type[V], typed: Typed, given: object) -> V | None:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        blame(typed, complaints(error))
        return None


def _typed_of(project: Project) -> Typed:
    values = project.get_limits().model_dump() | project.get_thresholds().model_dump()
    check = project.get_completeness()
    values |= {KNOWLEDGE: project.knowledge_tool, CHECK_ENABLED: check.enabled} | {
        name: getattr(check, name) for name in CHECK
    }
    texts = {name: "" if value is None else str(value).removesuffix(".0") for name, value in values.items()}
    return Typed(texts | {CHECK_ENABLED: "on" if check.enabled else ""})


def _page(request: DeskRequest, *, typed: Typed | None = None, status: int = 200) -> HttpResponse:
    project = request.place.project
    form = typed or _typed_of(project)
    context = {
        "form": form,
        "fields": form.fields,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
        "role_models": models_by_role(project),
        "tools": Tool.objects.filter(project=project, is_enabled=True).values_list("name", flat=True).order_by("name"),
        "escalation_model": _model_or_none("escalation", project.models_by_role)
        if has_escalation(project.models_by_role)
        else "",
    }
    return render(request, "teams/settings/page.html", context, status=status)


# How long a project keeps things: the rules, what they would delete and have deleted; and deleting the project.

FIELDS = tuple(RetentionSettings.model_fields)
# Pressed under what the new rules would delete.
CONFIRMED = "confirmed"
PASSES_SHOWN = 10
KINDS: dict[str, Promise] = {
    "runs": gettext_lazy("Runs"),
    "sessions": gettext_lazy("Sessions"),
    "tool_failures": gettext_lazy("Reported tool failures"),
    "deliveries": gettext_lazy("Deliveries of webhooks"),
    "traces": gettext_lazy("Traces of agents"),
    "notifications": gettext_lazy("Notifications"),
}
LABELS: dict[str, Promise] = {
    "runs_days": gettext_lazy("Runs (days)"),
    "transcripts_days": gettext_lazy("Sessions (days)"),
    "tool_failures_days": gettext_lazy("Reported tool failures (days)"),
    "deliveries_days": gettext_lazy("Deliveries of webhooks (days)"),
    "traces_days": gettext_lazy("Traces of agents (days)"),
    "notifications_days": gettext_lazy("Notifications (days)"),
}


@dataclass(frozen=True)
class KeptLine:
    words: str
    kept: Kept


@dataclass(frozen=True)
class PassLine:
    """A pass over the project; `deleted` is what it took, in words."""

    run: RetentionRun
    deleted: str


@project_page(Permission.DELETE_DATA)
@require_http_methods(["GET", "HEAD", "POST"])
def keeping(request: DeskRequest) -> HttpResponse:
    """The rules; a POST shows first what new ones would delete, and saves them once that was seen."""
    project = request.place.project
    if request.method != "POST":
        return _retention_page(request, _typed_retention(project.get_retention()), project.get_retention())
    typed = read_typed(request.POST, FIELDS)
    settings = _read_retention(typed)
    if settings is None:
        return _retention_page(request, typed, project.get_retention(), status=400)
    would = preview_retention(project, settings, now=timezone.now())
    is_new = settings != project.get_retention()
    if is_new and any(kept.due for kept in would) and CONFIRMED not in request.POST:
        return _retention_page(request, typed, settings, asks=True)
    change_retention(project, settings, actor=request.place.actor)
    messages.success(request, _("Saved. What is older is deleted within the hour, or now if you press the button."))
    return redirect("keeping", slug=project.slug)


@project_page(Permission.DELETE_DATA)
@post_only(page="keeping")
def delete_old(request: DeskRequest) -> HttpResponse:
    """Orders a pass by the rules that are saved."""
    order_retention(request.place.project, actor=request.place.actor)
    messages.success(request, _("The worker has begun to delete. What it took is told below when it is done."))
    return redirect("keeping", slug=request.place.project.slug)


@project_page(Permission.DELETE_DATA)
@require_http_methods(["GET", "HEAD", "POST"])
def delete_project_page(request: DeskRequest) -> HttpResponse:
    """Asks for the project's name first."""
    typed = read_typed(request.POST, ("typed_name",))
    if request.method == "POST":
        try:
            delete_project(request.place.project, typed_name=typed.values["typed_name"], actor=request.place.actor)
        except InvalidInput as error:
            blame(typed, error.errors)
            return _deletion_page(request, typed, status=400)
        messages.success(request, _("The project “%(name)s” is deleted.") % {"name": request.place.project.name})
        return redirect("overview")
    return _deletion_page(request, typed)


def _deletion_page(request: DeskRequest, typed: Typed, *, status: int = 200) -> HttpResponse:
    return render(request, "teams/settings/delete_project.html", {"field": typed.fields["typed_name"]}, status=status)


def _read_retention(typed: Typed) -> RetentionSettings | None:
    """The rules as they were typed, None where something is wrong with them, which `typed` then tells."""
    try:
        return RetentionSettings.model_validate({name: text or None for name, text in typed.values.items()})
    except ValidationError as error:
        message = _("A whole number from 1 to %(most)s, or nothing for ever.") % {"most": f"{LONGEST_DAYS:,}"}
        blame(typed, [{"field": str(problem["loc"][0]), "message": message} for problem in error.errors()])
        return None


def _typed_retention(settings: RetentionSettings) -> Typed:
    values = settings.model_dump()
    return Typed({name: "" if values[name] is None else str(values[name]) for name in FIELDS})


def _retention_page(
    request: DeskRequest, typed: Typed, settings: RetentionSettings, *, asks: bool = False, status: int = 200
) -> HttpResponse:
    project = request.place.project
    would = preview_retention(project, settings, now=timezone.now())
    fields: list[tuple[TypedField, Promise]] = [(typed.fields[name], LABELS[name]) for name in FIELDS]
    context = {
        "form": typed,
        "fields": fields,
        "lines": [KeptLine(str(KINDS[kept.kind]), kept) for kept in would],
        "asks": asks,
        "is_due": any(kept.due for kept in would),
        "under_way": RetentionRun.objects.filter(project=project, finished_at__isnull=True).exists(),
        "passes": [PassLine(run, _told(run)) for run in project.retention_runs.all()[:PASSES_SHOWN]],
    }
    return render(request, "teams/settings/keeping.html", context, status=status)


def _told(run: RetentionRun) -> str:
    """What a pass took, in words; runs are told, and the tasks that they were of are not."""
    parts = [f"{KINDS[kind]}: {many:,}" for kind, many in run.deleted.items() if kind in KINDS]
    return " · ".join(parts)


# The page on which people who may make projects make one.

NEW_PROJECT_FIELDS = ("name", "slug")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_project(request: HttpRequest) -> HttpResponse:
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    if not may_create_projects(desk_request.user):
        return refused(request, MayNotCreate(_("Only staff may make projects on this desk.")))
    if request.method != "POST":
        return _new_project_page(request, Typed(dict.fromkeys(NEW_PROJECT_FIELDS, "")))
    return _create(desk_request)


def _create(request: DeskRequest) -> HttpResponse:
    typed = read_typed(request.POST, NEW_PROJECT_FIELDS)
    actor = Actor(user=request.user, address=client_address(request.META))
    try:
        project = create_project(request.user, name=typed.values["name"], slug=typed.values["slug"], actor=actor)
    except InvalidInput as error:
        blame(typed, error.errors)
        return _new_project_page(request, typed, status=400)
    messages.success(request, _("The project is there. Invite those who work on it."))
    return redirect("members", slug=project.slug)


def _new_project_page(request: HttpRequest, typed: Typed, *, status: int = 200) -> HttpResponse:
    return render(request, "teams/new_project.html", {"form": typed, "fields": typed.fields}, status=status)


# The whole project as a file, for an admin to keep or to take to another desk.


@project_page(Permission.EXPORT_PROJECT)
@require_safe
def project_export(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    file = whole_file(project, actor=request.place.actor)
    body = PiecesOffTheLoop(file) if isinstance(request, ASGIRequest) else Pieces(file)
    answer = StreamingHttpResponse(body, content_type="application/zip", headers=headers_of(project))
    # Django's types make no one class of both kinds of answers, but serves either.
    return cast("HttpResponse", answer)
