"""Which model plays which role. The one file of this package that reads Django's settings."""

from collections.abc import Mapping

from django.conf import settings

from reflection_app.llm.errors import NoModelConfigured

LOCAL_PREFIX = "local/"
LOCAL_MODEL = f"{LOCAL_PREFIX}smollm2-135m-instruct"


def model_for(role: str, overrides: Mapping[str, str]) -> str:
    """The name of the model for `role`.

    The first of: the override of the role, the override `default`, LLM_<ROLE>_MODEL, LLM_MODEL, the local model where
    one runs. Raises NoModelConfigured where there is none of them.
    """
    variable = f"LLM_{role.upper()}_MODEL"
    chosen = (
        overrides.get(role)
        or overrides.get("default")
        or str(getattr(settings, variable, ""))
        or str(settings.LLM_MODEL)
        or (LOCAL_MODEL if settings.LOCAL_MODEL_URL else "")
    )
    if not chosen:
        raise NoModelConfigured(
            f"No model is configured for the role {role!r}. Set LLM_MODEL (or {variable}) to a litellm name such as "
            "openai/gpt-4o-mini, with the provider's key in its variable (OPENAI_API_KEY, …)."
        )
    return chosen


def local_model_address() -> str:
    """The OpenAI-style address of the local model, ending in /v1. Raises NoModelConfigured where none runs."""
    url = str(settings.LOCAL_MODEL_URL).rstrip("/")
    if not url:
        raise NoModelConfigured("The local model is not running here. Set LLM_MODEL, or start it by `manage.py up`.")
    return url if url.endswith("/v1") else f"{url}/v1"
