"""How often kinds of tasks are checked for completeness, and what the desk suggests of it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from reflection_desk.answers import CheckPolicies, CheckSuggestion, Page
from reflection_desk.call import Call, get, post


def get_check_policies() -> Call[CheckPolicies]:
    """How often each kind of task is checked, what that found, and what it is worth."""
    return get("check-policies", CheckPolicies)


def set_check_policy(
    settings: Mapping[str, Any], *, kind: str | None = None, idempotency_key: str | None = None
) -> Call[CheckPolicies]:
    """Sets how tasks of the kind are checked, in place of what was set for it; without one, all tasks of the project.

    No settings: the kind follows the project again.
    """
    body = {"settings": settings, "kind": kind}
    return post("check-policies", CheckPolicies, body, idempotency_key=idempotency_key)


def list_check_suggestions(*, state: str = "", kind: str = "", limit: int | None = None) -> Call[Page[CheckSuggestion]]:
    """The suggested policies, the newest first."""
    return get("check-suggestions", Page[CheckSuggestion], state=state, kind=kind, limit=limit)


def decide_check_suggestion(
    suggestion_id: UUID | str, *, decision: str, idempotency_key: str | None = None
) -> Call[CheckSuggestion]:
    """`accept` puts it into the kind's settings, `decline` leaves them. Raises Conflict where somebody was first."""
    body = {"decision": decision}
    return post(f"check-suggestions/{suggestion_id}/decision", CheckSuggestion, body, idempotency_key=idempotency_key)
