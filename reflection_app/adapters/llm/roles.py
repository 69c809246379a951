"""Which model plays which role. The one file of this package that reads Django's settings."""

from collections.abc import Mapping

from django.conf import settings

from reflection_app.adapters.llm.errors import NoModelConfigured, ScriptInvalid
from reflection_app.adapters.llm.scripted import PREFIX, load_script
from reflection_app.loops.task_spec import ModelRole

LOCAL_PREFIX = "local/"
LOCAL_MODEL = f"{LOCAL_PREFIX}smollm2-135m-instruct"
# The word that says, in the place of the critic's model, that there is to be no critic.
NO_MODEL = "none"
# Who looks at pictures has to see: no other model takes this place.
ONLY_NAMED = frozenset({ModelRole.VISION.value})
# A model that looks back at work is the one that did it, unless another is named.
SAME_AS = {
    "self": ("actor",),
    "reflector": ("actor",),
    "merger": ("reflector", "actor"),
    "error_reflector": ("reflector", "actor"),
    "memory_reflector": ("reflector", "actor"),
}


def model_for(role: str, overrides: Mapping[str, str]) -> str:
    """The name of the model for `role`.

    The first of: the override of the role, the override `default`, LLM_<ROLE>_MODEL, LLM_MODEL, the local model where
    one runs. What looks back at the actor's work comes after the actor in each of these places, yet no override of the
    actor goes before a model that is configured for who looks back. Who looks at pictures has its own override and
    variable alone. Raises NoModelConfigured where there is none.
    """
    chosen = _named(role, overrides)
    variable = _variable(role)
    if not chosen:
        which = variable if role in ONLY_NAMED else f"LLM_MODEL (or {variable})"
        raise NoModelConfigured(
            f"No model is configured for the role {role!r}. Set {which} to a litellm name such as "
            "openai/gpt-4o-mini, with the provider's key in its variable (OPENAI_API_KEY, …)."
        )
    return chosen


def offered_models() -> list[str]:
    """The names that projects may let their tasks choose from: those that the desk is configured with, sorted.

    Never another: a name of litellm's also says which provider, and which host, is asked.
    """
    roles = ("", *(f"{role.upper()}_" for role in (*ModelRole, *SAME_AS)))
    configured = (str(getattr(settings, f"LLM_{role}MODEL", "")) for role in roles)
    return sorted({name for name in (*settings.LLM_OFFERED_MODELS, *configured) if name and name.lower() != NO_MODEL})


def has_critic(overrides: Mapping[str, str]) -> bool:
    """Whether a critic can be asked: not where its model is the word "none"."""
    return _named("critic", overrides).strip().lower() != NO_MODEL


def has_escalation(overrides: Mapping[str, str]) -> bool:
    """Whether there is a stronger model for what the usual one gets wrong again and again."""
    return bool(overrides.get("escalation") or settings.LLM_ESCALATION_MODEL)


def has_vision(overrides: Mapping[str, str]) -> bool:
    """Whether there is a model that looks at pictures. The local model sees nothing, whoever named it."""
    name = _named(ModelRole.VISION, overrides).strip()
    return bool(name) and name.lower() != NO_MODEL and not name.startswith(LOCAL_PREFIX)


def _named(role: str, overrides: Mapping[str, str]) -> str:
    """The name that is configured for the role, or nothing."""
    if role in ONLY_NAMED:
        return overrides.get(role) or str(getattr(settings, _variable(role), ""))
    roles = [role, *SAME_AS.get(role, ())]
    configured = [str(getattr(settings, _variable(one), "")) for one in roles]
    # Whose model is configured does not go along with what was chosen for those whose model it would else have.
    nearest = next((place for place, name in enumerate(configured) if name), len(roles))
    names = [overrides.get(one) for one in roles[: nearest + 1]]
    names += [overrides.get("default"), *configured]
    names += [str(settings.LLM_MODEL), LOCAL_MODEL if settings.LOCAL_MODEL_URL else ""]
    return next((name for name in names if name), "")


def _variable(role: str) -> str:
    return f"LLM_{role.upper()}_MODEL"


def local_model_address() -> str:
    """The OpenAI-style address of the local model, ending in /v1. Raises NoModelConfigured where none runs."""
    url = str(settings.LOCAL_MODEL_URL).rstrip("/")
    if not url:
        raise NoModelConfigured("The local model is not running here. Set LLM_MODEL, or start it by `manage.py up`.")
    return url if url.endswith("/v1") else f"{url}/v1"


# Whether there is a model that can be expected to look back at work.


def can_look_back(role: str, overrides: Mapping[str, str], *, key: str, is_asked_for: bool) -> bool:
    """Whether the model of `role` is to look back; `key` is how the steps are named for which a script has answers.

    The desk's own small model says little of worth, and no model nothing at all: they are not asked unless somebody
    wants it for this work or this project.
    """
    try:
        model = model_for(role, overrides)
    except NoModelConfigured:
        return is_asked_for
    if model.startswith(PREFIX):
        try:
            script = load_script(model.removeprefix(PREFIX))
        except ScriptInvalid:
            return False
        return any(answered.startswith(f"{key}-") for answered in script.answers)
    return is_asked_for or not model.startswith(LOCAL_PREFIX)
