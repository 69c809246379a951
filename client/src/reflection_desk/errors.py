"""Exceptions of the client. Those with a status contain the server's problem details (RFC 9457)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflection_desk.answers import Run


class DeskError(Exception):
    """Base class of all exceptions of this package, except for invalid arguments and LibraryMissing."""


class DeskUnreachable(DeskError):
    """No response after all tries. The server may have executed the request."""


class StillGoing(DeskError):
    """The run has not ended within the timeout. It continues on the server."""


class NothingKept(DeskError):
    """The run ended without an attempt to return. `run` has its outcome and error."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        super().__init__(
            f"run {run.id} ended as {run.outcome} without an attempt" + (f": {run.error}" if run.error else "")
        )


class Refused(DeskError):
    """The server returned an error.

    `status` is the HTTP status. `title` and `detail` describe the error. `errors` has a `field` and a `message` for
    each invalid field. `retry_after_s` is the server's Retry-After in seconds, or None.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        self.status = status
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or "")
        self.errors: Sequence[Mapping[str, str]] = problem.get("errors") or ()
        self.retry_after_s = retry_after_s
        fields = "; ".join(f"{error.get('field')}: {error.get('message')}" for error in self.errors)
        reason = self.detail or self.title or "no reason given"
        super().__init__(f"{status}: {reason}" + (f" ({fields})" if fields else ""))


class Invalid(Refused):
    """400, 413, 415 or 422: the request is malformed, too large or has an invalid value."""


class NotAllowed(Refused):
    """401 or 403: the API key is unknown, revoked or expired, or lacks a scope."""


class NotFound(Refused):
    """404: the resource does not exist in the API key's project."""


class Conflict(Refused):
    """409: the state of the resource does not allow the request, such as a review that is already decided."""


class ExternalIdTaken(Conflict):
    """409: another task has this external id, and the project requires unique ones.

    `task_id` and `run_id` identify that task and its run.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        super().__init__(status, problem, retry_after_s=retry_after_s)
        self.task_id = str(problem.get("task_id") or "")
        self.run_id = str(problem.get("run_id") or "")


class RateLimited(Refused):
    """429 after all tries: the rate limit is exceeded. Retry after `retry_after_s` seconds."""


# By the last part of the problem's `type`; more specific than the status.
BY_TYPE: Mapping[str, type[Refused]] = {"external-id-taken": ExternalIdTaken}
KINDS: Mapping[int, type[Refused]] = {
    400: Invalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: RateLimited,
}
