"""How often kinds of tasks are checked for completeness, and what the desk suggests of it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from reflection_desk.answers import CheckPolicies, CheckSuggestion, CompletenessSettings, Page
from reflection_desk.call import Call, get, patch, post


def get_check_policies() -> Call[CheckPolicies]:
    """How often each kind of task is checked, what that found, and what it is worth."""
    return get("check-policies", CheckPolicies)


def get_completeness_settings() -> Call[CompletenessSettings]:
    """How work is checked for what it still lacks: for the project, and for kinds of tasks."""
    return get("completeness-settings", CompletenessSettings)


def change_completeness_settings(
    *, kinds: Mapping[str, Mapping[str, Any] | None] | None = None, **settings: Any
) -> Call[CompletenessSettings]:
    """What is given changes, None follows the desk; of a kind, None removes all that was set for it."""
    body = settings | ({"kinds": kinds} if kinds is not None else {})
    return patch("completeness-settings", CompletenessSettings, body)


def list_check_suggestions(*, state: str = "", kind: str = "", limit: int | None = None) -> Call[Page[CheckSuggestion]]:
    """The suggested policies, the newest first."""
    return get("check-suggestions", Page[CheckSuggestion], state=state, kind=kind, limit=limit)


def decide_check_suggestion(
    suggestion_id: UUID | str, *, decision: str, idempotency_key: str | None = None
) -> Call[CheckSuggestion]:
    """`accept` puts it into the kind's settings, `decline` leaves them. Raises Conflict where somebody was first."""
    body = {"decision": decision}
    return post(f"check-suggestions/{suggestion_id}/decision", CheckSuggestion, body, idempotency_key=idempotency_key)
