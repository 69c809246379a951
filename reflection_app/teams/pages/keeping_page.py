"""How long a project keeps things: the rules, what they would delete and have deleted; and deleting the project."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.retention_settings import LONGEST_DAYS, RetentionSettings
from reflection_app.teams.delete_project import delete_project
from reflection_app.teams.models.retention import RetentionRun
from reflection_app.teams.retention import Kept, change_retention, order_retention, preview_retention
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.forms import Typed, TypedField, blame, read_typed

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
        return _page(request, _typed_of(project.get_retention()), project.get_retention())
    typed = read_typed(request.POST, FIELDS)
    settings = _read(typed)
    if settings is None:
        return _page(request, typed, project.get_retention(), status=400)
    would = preview_retention(project, settings, now=timezone.now())
    is_new = settings != project.get_retention()
    if is_new and any(kept.due for kept in would) and CONFIRMED not in request.POST:
        return _page(request, typed, settings, asks=True)
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
    return render(request, "settings/delete_project.html", {"field": typed.fields["typed_name"]}, status=status)


def _read(typed: Typed) -> RetentionSettings | None:
    """The rules as they were typed, None where something is wrong with them, which `typed` then tells."""
    try:
        return RetentionSettings.model_validate({name: text or None for name, text in typed.values.items()})
    except ValidationError as error:
        message = _("A whole number from 1 to %(most)s, or nothing for ever.") % {"most": f"{LONGEST_DAYS:,}"}
        blame(typed, [{"field": str(problem["loc"][0]), "message": message} for problem in error.errors()])
        return None


def _typed_of(settings: RetentionSettings) -> Typed:
    values = settings.model_dump()
    return Typed({name: "" if values[name] is None else str(values[name]) for name in FIELDS})


def _page(
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
    return render(request, "settings/keeping.html", context, status=status)


def _told(run: RetentionRun) -> str:
    """What a pass took, in words; runs are told, and the tasks that they were of are not."""
    parts = [f"{KINDS[kind]}: {many:,}" for kind, many in run.deleted.items() if kind in KINDS]
    return " · ".join(parts)
