"""What can go wrong with a change of state. Each class maps to one HTTP status (api/problems.py, web/refusals.py)."""


class ActionError(Exception):
    """The change was not made."""

    status = 400
    title = "Bad request"


class InvalidInput(ActionError):
    """What was sent cannot be used; `errors` names each field and what is wrong with it."""

    status = 400
    title = "Invalid input"

    def __init__(self, message: str, *, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.errors = errors or []


class NotFound(ActionError):
    """There is no such thing, or not for you."""

    status = 404
    title = "Not found"


class Conflict(ActionError):
    """The state has moved on; nothing was changed."""

    status = 409
    title = "Conflict"


class AlreadyDecided(Conflict):
    """Somebody has decided this review already."""

    title = "Already decided"


class ReviewHeld(Conflict):
    """Somebody else holds this review."""

    title = "Held by somebody else"


class ReviewLeaseLost(Conflict):
    """Your hold on this review ran out or was taken over."""

    title = "Lease lost"


class RunFinished(Conflict):
    """The run has ended already."""

    title = "Run finished"
