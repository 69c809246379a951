"""Whether there is a model that can be expected to look back at work."""

from collections.abc import Mapping

from reflection_app.adapters.llm.errors import NoModelConfigured, ScriptInvalid
from reflection_app.adapters.llm.roles import LOCAL_PREFIX, model_for
from reflection_app.adapters.llm.scripted import PREFIX, load_script


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
        return _has_answers(model.removeprefix(PREFIX), key=key)
    return is_asked_for or not model.startswith(LOCAL_PREFIX)


def _has_answers(script: str, *, key: str) -> bool:
    try:
        return any(answered.startswith(f"{key}-") for answered in load_script(script).answers)
    except ScriptInvalid:
        return False
