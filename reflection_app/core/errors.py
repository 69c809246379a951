"""What can go wrong with a change of state. Each class maps to one HTTP status (api/problems.py, web/access.py)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

MOST_ERRORS = 50
# Fields are named by the sender, at any length.
LONGEST_FIELD = 200
LONGEST_MESSAGE = 500


class ActionError(Exception):
    """The change was not made."""

    status = 400
    title = gettext_noop("Bad request")
    # The end of the problem's `type`, a contract with programs. Without one it is made from the title.
    slug = ""


class InvalidInput(ActionError):
    """What was sent cannot be used; `errors` names each field and what is wrong with it."""

    status = 400
    title = gettext_noop("Invalid input")

    def __init__(self, message: str, *, errors: Sequence[dict[str, Any]] | None = None, more: int = 0) -> None:
        """`more` is how many there are besides, which nobody wrote down."""
        super().__init__(message)
        self.errors: list[dict[str, Any]] = capped(errors or [], more=more)


def wrong(field: str, why: str, *, said: str = "") -> InvalidInput:
    """What was sent cannot be used, for this one field; `said` is the refusal as a whole, where that is another."""
    return InvalidInput(said or why, errors=[{"field": field, "message": why}])


def capped(errors: Sequence[dict[str, Any]], *, more: int = 0) -> list[dict[str, Any]]:
    """The first errors with names and messages of a bearable length, and how many more there are."""
    told = [
        error
        | {"field": shortened(error["field"], LONGEST_FIELD), "message": shortened(error["message"], LONGEST_MESSAGE)}
        for error in errors[:MOST_ERRORS]
    ]
    more += max(0, len(errors) - MOST_ERRORS)
    return [*told, {"field": "", "message": _("and %(more)s more") % {"more": more}}] if more > 0 else told


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


class NotFound(ActionError):
    """There is no such thing, or not for you."""

    status = 404
    title = gettext_noop("Not found")


class NotTheAuthor(ActionError):
    """Somebody else wrote this, and only they may change it."""

    status = 403
    title = gettext_noop("Not the author")
    slug = "not-yours"


class Conflict(ActionError):
    """The request conflicts with the current state; nothing was changed."""

    status = 409
    title = gettext_noop("Conflict")


class AlreadyDecided(Conflict):
    """Somebody has decided this review already."""

    title = gettext_noop("Already decided")


class AlreadyAnswered(Conflict):
    """Somebody has answered this question already, or it is no longer asked."""

    title = gettext_noop("Already answered")


class ReviewHeld(Conflict):
    """Somebody else holds this review."""

    title = gettext_noop("Locked by another reviewer")
    slug = "held-by-somebody-else"


class ReviewLeaseLost(Conflict):
    """Your hold on this review ran out or was taken over."""

    title = gettext_noop("Lock expired")
    slug = "lease-lost"


class RunFinished(Conflict):
    """The run has ended already."""

    title = gettext_noop("Run finished")


class MakesItsOwn(Conflict):
    """The run makes its own attempts; nobody can hand one in."""

    title = gettext_noop("Managed run")


class HeldByAgent(Conflict):
    """Another agent holds this run and makes its next attempt."""

    title = gettext_noop("Claimed by another agent")
    slug = "held-by-another-agent"


class AgentLeaseLost(Conflict):
    """An agent's hold on a run ran out and was taken over, or was given back."""

    title = gettext_noop("Lock expired")
    slug = "lease-lost"


class AttemptConflict(Conflict):
    """Another attempt has this number, or the run asks for another number."""

    title = gettext_noop("Attempt number conflict")
    slug = "another-attempt"


class NotItsTurn(Conflict):
    """The run does not ask for an attempt now. `retry_after_s` says when it may, where that is foreseeable."""

    title = gettext_noop("No attempt requested")
    slug = "not-your-turn"

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TurnsConflict(Conflict):
    """The session has other turns than the sender believes, or takes no more."""

    title = gettext_noop("Session changed")
    slug = "session-moved-on"


class OutcomeKnown(Conflict):
    """How the fix of this failure went was told before, otherwise."""

    title = gettext_noop("Outcome already reported")
    slug = "outcome-known"


class TicketMovedOn(Conflict):
    """Somebody took the ticket up, or it has ended."""

    title = gettext_noop("Ticket changed")
    slug = "ticket-moved-on"


class ExternalIdTaken(Conflict):
    """Another task of the project has this external id, and the project wants each once."""

    title = gettext_noop("External id in use")
    slug = "external-id-taken"

    def __init__(self, message: str, *, task_id: UUID, run_id: UUID | None) -> None:
        super().__init__(message)
        self.task_id, self.run_id = task_id, run_id
        self.errors: list[dict[str, Any]] = [{"field": "external_id", "message": message}]


class TaskInUse(Conflict):
    """The task cannot be deleted, or not yet."""

    title = gettext_noop("Task in use")


class CannotRedo(Conflict):
    """The run has nothing that could be done again, or not yet."""

    title = gettext_noop("Cannot redo")
    slug = "cannot-be-done-again"


class CannotFork(Conflict):
    """The run cannot be forked there, or not at all."""

    title = gettext_noop("Cannot fork")
    slug = "cannot-be-forked"


class ClassMovedOn(Conflict):
    """The error has another class by now."""

    title = gettext_noop("Error class changed")
    slug = "another-class-by-now"


class PolicyMovedOn(Conflict):
    """The review policy is another one by now."""

    title = gettext_noop("Policy changed")
    slug = "another-policy-by-now"


class VersionMovedOn(Conflict):
    """The rubric, or the guidelines, have another version by now."""

    title = gettext_noop("Version changed")
    slug = "another-version-by-now"


class EntryMovedOn(Conflict):
    """The entry of the notebook is another one by now. `version` is the one that it is at, `by` who made it."""

    title = gettext_noop("Entry changed")
    slug = "entry-moved-on"

    def __init__(self, message: str, *, version: int, by: str) -> None:
        super().__init__(message)
        self.version, self.by = version, by
        now = _("now at version %(version)s, by %(by)s") % {"version": version, "by": by}
        self.errors = [{"field": "expected_version", "message": now}]


class Contradicts(Conflict):
    """The entry is one side of open contradictions of the notebook; `conflicts` are their ids."""

    title = gettext_noop("Contradicts another entry")

    def __init__(self, message: str, *, conflicts: Sequence[UUID]) -> None:
        super().__init__(message)
        self.conflicts = list(conflicts)
        self.errors = [{"field": "contradictions", "message": message}]


class ConflictSettled(Conflict):
    """The conflict of two entries is settled by now, or was not."""

    title = gettext_noop("Conflict changed")
    slug = "conflict-moved-on"


class StillStands(Conflict):
    """The decision cannot be taken back. `from_step` is where a fork begins that decides otherwise, if anywhere."""

    title = gettext_noop("Cannot be undone")

    def __init__(self, message: str, *, from_step: int | None = None) -> None:
        super().__init__(message)
        self.from_step = from_step


class AskedAlready(Conflict):
    """A review of this verdict is open already."""

    title = gettext_noop("Review already requested")
    slug = "asked-already"


class NotYours(ActionError):
    """Only who decided, and admins of the project, can take a decision back."""

    status = 403
    title = gettext_noop("Not allowed to undo")
    slug = "not-yours-to-undo"
