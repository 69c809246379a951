"""Settings of the completeness check."""

from typing import Any

from reflection_desk.answers import CompletenessSettings
from reflection_desk.call import Call, get, patch


def get_completeness_settings() -> Call[CompletenessSettings]:
    """Return the project's effective settings of the completeness check."""
    return get("completeness-settings", CompletenessSettings)


def change_completeness_settings(**settings: Any) -> Call[CompletenessSettings]:
    """Change settings of the completeness check and return all of them. None restores the server's value.

    The fields of CompletenessSettings except `chosen` can be changed. Runs in progress are not affected. Needs the
    scope `admin`.
    """
    return patch("completeness-settings", CompletenessSettings, settings)
