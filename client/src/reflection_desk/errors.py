"""What can go wrong. Refusals carry the desk's own words (problem details, RFC 9457)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflection_desk.answers import Run


class DeskError(Exception):
    """Anything that this client raises."""


class DeskUnreachable(DeskError):
    """No answer came, however often it was tried. What was sent may have been carried out all the same."""


class StillGoing(DeskError):
    """The run was waited for as long as was asked, and goes on."""


class NothingKept(DeskError):
    """The run ended without any attempt to keep; `run` says how."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        super().__init__(
            f"run {run.id} ended as {run.outcome} with no attempt" + (f": {run.error}" if run.error else "")
        )


class Refused(DeskError):
    """The desk answered no: `status`, `title` and `detail` say why, `errors` name the fields."""

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        self.status = status
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or "")
        self.errors: Sequence[Mapping[str, str]] = problem.get("errors") or ()
        self.retry_after_s = retry_after_s
        fields = "; ".join(f"{error.get('field')}: {error.get('message')}" for error in self.errors)
        words = self.detail or self.title or "no reason was given"
        super().__init__(f"{status}: {words}" + (f" ({fields})" if fields else ""))


class Invalid(Refused):
    """400, 413, 415 or 422: what was sent cannot be read or is not allowed to be so."""


class NotAllowed(Refused):
    """401 or 403: the key is unknown, revoked, expired, or lacks a scope."""


class NotFound(Refused):
    """404: the key's project has no such thing."""


class Conflict(Refused):
    """409: somebody else was first, or the thing is no longer in the state that this needs."""


class ExternalIdTaken(Conflict):
    """409: the project wants each external id once, and has this one. `task_id` and `run_id` are whose it is."""

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        super().__init__(status, problem, retry_after_s=retry_after_s)
        self.task_id = str(problem.get("task_id") or "")
        self.run_id = str(problem.get("run_id") or "")


class RateLimited(Refused):
    """429, after all tries: come back in `retry_after_s`."""


# Of several refusals with one status, those that carry more, by how the problem's type ends.
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
