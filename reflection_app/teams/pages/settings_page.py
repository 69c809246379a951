"""A project's settings: limits, thresholds, completeness, and which model plays which role."""

from dataclasses import dataclass

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.adapters.llm.errors import ModelError
from reflection_app.adapters.llm.roles import has_escalation, model_for
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.task_spec import Thresholds, UsualLimits
from reflection_app.loops.values import Value
from reflection_app.teams.change_settings import change_settings
from reflection_app.teams.models.tool import Tool
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.complaints import complaints, in_plain_words
from reflection_app.web.forms import Typed, blame, read_typed

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
THRESHOLDS = ("pass_from", "revise_from")
CHECK_ENABLED = "completeness_enabled"
CHECK = ("max_supplements", "temperature", "top_p", "max_retries")
KNOWLEDGE = "knowledge_tool"
ROLES = ("actor", "critic", "self", "reflector", "classifier", "tester", "planner", "diagnoser", "completeness")


@dataclass(frozen=True)
class RoleModel:
    role: str
    model: str


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
    return render(request, "settings/page.html", context, status=status)


def models_by_role(project: Project, *, roles: tuple[str, ...] = ROLES) -> list[RoleModel]:
    """The model of each role as a run that began now would get it; no name where none is configured."""
    return [RoleModel(role, _model_or_none(role, project.models_by_role)) for role in roles]


def _model_or_none(role: str, overrides: dict[str, str]) -> str:
    try:
        return model_for(role, overrides)
    except ModelError:
        return ""
