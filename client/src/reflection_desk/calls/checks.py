"""The settings of the completeness check."""

from typing import Any

from reflection_desk.answers import CompletenessSettings
from reflection_desk.call import Call, get, patch


def get_completeness_settings() -> Call[CompletenessSettings]:
    """Return how work is checked for what it still lacks."""
    return get("completeness-settings", CompletenessSettings)


def change_completeness_settings(**settings: Any) -> Call[CompletenessSettings]:
    """Change what is given; None follows the server's own setting."""
    return patch("completeness-settings", CompletenessSettings, settings)
