"""How a project learns: when its work is looked back at, what its runs are told, and what is withheld for the lift."""

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from notebook_app.public import count_unread, embedding_status
from reflection_app.adapters.llm import screening_model
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.notebook_settings import LessonSettings, NotebookSettings, ReflectionMode
from reflection_app.notebook.change_notebook_settings import change_notebook_settings
from reflection_app.teams.pages.settings import RoleModel, models_by_role
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.complaints import complaints
from reflection_app.web.forms import Typed, blame, read_typed

LESSONS = ("most", "holdout_share")
RULES = ("rules_most", "rules_least_occurrences")
# Not the name of the part of the settings: what is wrong inside of that has a field of its own.
ON = "tells_lessons"
FIELDS = ("reflection", ON, *LESSONS, *RULES)
REFLECTORS = ("error_reflector", "memory_reflector", "merger")
MODES = {
    ReflectionMode.OFF: gettext_noop("Never"),
    ReflectionMode.POST_HOC: gettext_noop("After the work has ended"),
    ReflectionMode.INLINE: gettext_noop("While a session goes on"),
    ReflectionMode.BOTH: gettext_noop("While it goes on and after"),
}


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def notebook_settings(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    if request.method != "POST":
        return _page(request, _typed_of(project))
    typed = read_typed(request.POST, FIELDS)
    settings = _read(typed)
    if settings is None:
        return _page(request, typed, status=400)
    change_notebook_settings(project, settings, actor=request.place.actor)
    messages.success(request, _("Saved. Runs that are under way keep the settings they began with."))
    return redirect("notebook_settings", slug=project.slug)


def _read(typed: Typed) -> NotebookSettings | None:
    """The settings as they were typed, None where something is wrong with them, which `typed` then tells."""
    given = {name: typed.values[name] for name in RULES} | {"reflection": typed.values["reflection"] or None}
    lessons = {name: typed.values[name] for name in LESSONS} if typed.values[ON] else None
    try:
        return NotebookSettings.model_validate({**given, "lessons": lessons})
    except ValidationError as error:
        blame(typed, complaints(error))
        return None


def _typed_of(project: Project) -> Typed:
    saved = project.get_notebook()
    lessons = saved.lessons or LessonSettings()
    texts = {name: str(getattr(lessons, name)) for name in LESSONS} | {
        name: str(getattr(saved, name)) for name in RULES
    }
    return Typed(texts | {"reflection": saved.reflection or "", ON: "on" if saved.lessons else ""})


def _page(request: DeskRequest, typed: Typed, *, status: int = 200) -> HttpResponse:
    embeddings = embedding_status()
    roles: list[RoleModel] = models_by_role(request.place.project, roles=REFLECTORS)
    context = {
        "form": typed,
        "fields": typed.fields,
        "modes": [(mode.value, _(words)) for mode, words in MODES.items()],
        "usual_mode": _(MODES[ReflectionMode(django_settings.REFLECTION_MODE)]),
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
        "role_models": roles,
        "embeddings": embeddings,
        "screened_by": screening_model(),
        "screened": 1 - count_unread() / embeddings.entries if embeddings.entries else 1.0,
        # A share alone: how many entries other projects have is none of this one's business.
        "embedded": embeddings.embedded / embeddings.entries if embeddings.entries else 1.0,
    }
    return render(request, "settings/notebook.html", context, status=status)
