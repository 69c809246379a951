"""The choice of models in the forms that hand in a task and fork a run."""

from typing import Any

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import ModelRole
from reflection_app.tasks.submitting import choosable_models
from reflection_app.web.forms import Form

# Of all roles those that people tell apart; the others are chosen over REST.
MODEL_FIELDS = {
    "model_actor": ModelRole.ACTOR,
    "model_critic": ModelRole.CRITIC,
    "model_reflector": ModelRole.REFLECTOR,
}


def models_typed(form: Form) -> dict[str, str]:
    """What was chosen, by role, as the REST interface would get it."""
    return {MODEL_FIELDS[name].value: model for name, model in form.given(*MODEL_FIELDS).items()}


def model_field_of(path: str) -> str:
    """The form's field for the place of an error, such as `models.critic`; other places stay as they are."""
    first, _dot, role = path.partition(".")
    return f"model_{role}" if first == "models" and role else path


def models_in_form(project: Project, form: Form) -> dict[str, Any]:
    """What `tasks/_models.html` shows: nothing where the project lets its tasks choose none, unless one was chosen."""
    choosable, fields = choosable_models(project), form.fields
    is_shown = choosable or any(fields[name].errors for name in MODEL_FIELDS)
    shown = MODEL_FIELDS if is_shown else {}
    return {"choosable": choosable, "model_fields": [(role.value, fields[name]) for name, role in shown.items()]}
