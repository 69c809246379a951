"""A project's settings: limits, thresholds, completeness, API keys, and which model plays which role."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.actions.api_keys import USUAL_SCOPES, create_api_key, revoke_api_key
from reflection_app.actions.change_settings import change_settings
from reflection_app.actions.errors import InvalidInput
from reflection_app.llm.errors import ModelError
from reflection_app.llm.roles import has_escalation, model_for
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.task_spec import Thresholds, UsualLimits
from reflection_app.loops.values import Value
from reflection_app.models import Project, Role, Scope, Tool
from reflection_app.web.access import DeskRequest, get_api_key_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints, in_plain_words
from reflection_app.web.forms import Typed, blame, read_typed

LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
THRESHOLDS = ("pass_from", "revise_from")
CHECK_ENABLED = "completeness_enabled"
CHECK = ("max_supplements", "temperature", "top_p", "max_retries")
KNOWLEDGE = "knowledge_tool"
KEY_FIELDS = ("name", "days")
ROLES = ("actor", "critic", "self", "reflector", "classifier", "tester", "planner", "diagnoser", "completeness")
NEW_KEY = "new_api_key"

# Those that let a key do something today.
SCOPES = {
    Scope.TASKS_WRITE: gettext_noop("hand in tasks, attempts and failures, cancel runs"),
    Scope.RUNS_READ: gettext_noop("read tasks, runs, reviews, tickets and reports"),
    Scope.REVIEWS_WRITE: gettext_noop("decide reviews and instructions, answer questions, order a redo"),
    Scope.NOTEBOOK_READ: gettext_noop("be told lessons of the notebook"),
    Scope.NOTEBOOK_WRITE: gettext_noop("propose entries to the notebook"),
    Scope.ADMIN: gettext_noop("all of these"),
}


@dataclass(frozen=True)
class OfferedScope:
    value: str
    words: str


@dataclass(frozen=True)
class RoleModel:
    role: str
    model: str


@project_page()
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: DeskRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, secret=_new_secret(request))
    if not request.place.may(Role.ADMIN):
        return _page(request, status=403)
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


def _page(
    request: DeskRequest,
    *,
    typed: Typed | None = None,
    key_form: Typed | None = None,
    scopes: list[str] | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    project = request.place.project
    form = typed or _typed_of(project)
    keys = key_form or Typed(dict.fromkeys(KEY_FIELDS, ""))
    context = {
        "form": form,
        "fields": form.fields,
        "may_change": request.place.may(Role.ADMIN),
        "keys": project.api_keys.select_related("created_by"),
        "key_form": keys,
        "key_fields": keys.fields,
        "scopes_offered": [OfferedScope(scope.value, _(words)) for scope, words in SCOPES.items()],
        "chosen_scopes": [scope.value for scope in USUAL_SCOPES] if scopes is None else scopes,
        "secret": secret,
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


@never_cache
@project_page(role=Role.ADMIN)
@post_only(page="settings")
def create_key(request: DeskRequest) -> HttpResponse:
    """Makes the key and goes back to the settings, which show its secret once: reloading them makes no second key."""
    typed = read_typed(request.POST, KEY_FIELDS)
    scopes = request.POST.getlist("scopes")
    try:
        expires_at = timezone.now() + timedelta(days=_days(typed)) if typed.values["days"] else None
        key, secret = create_api_key(
            request.place.project,
            name=typed.values["name"],
            scopes=scopes,
            actor=request.place.actor,
            expires_at=expires_at,
        )
    except InvalidInput as error:
        blame(typed, in_plain_words(error.errors))
        return _page(request, key_form=typed, scopes=scopes, status=400)
    request.session[NEW_KEY] = {"project": str(key.project_id), "secret": secret}
    return redirect("settings", slug=request.place.project.slug)


def _new_secret(request: DeskRequest) -> str:
    """The secret of a key that was made just now, taken out of the session; else nothing."""
    made: dict[str, str] = request.session.get(NEW_KEY) or {}
    if request.method != "GET" or made.get("project") != str(request.place.project.pk):
        return ""
    del request.session[NEW_KEY]
    return made["secret"]


def _days(typed: Typed) -> int:
    text = typed.values["days"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 3650 and len(text) <= 4):
        raise InvalidInput(_("When should the key expire?"), errors=[{"field": "days", "message": _("1 to 3650 days")}])
    return int(text)


@project_page(role=Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_key(request: DeskRequest, key_id: UUID) -> HttpResponse:
    """Asks first; the POST revokes."""
    key = get_api_key_for(request.place, key_id)
    if request.method != "POST":
        return render(request, "settings/revoke.html", {"key": key})
    revoke_api_key(key, actor=request.place.actor)
    messages.success(request, _("The key “%(name)s” no longer works.") % {"name": key.name})
    return redirect("settings", slug=request.place.project.slug)
