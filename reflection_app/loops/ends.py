"""How a run can end."""

from enum import StrEnum

from reflection_app.loops.values import Value


class Outcome(StrEnum):
    """The named end of a run. Only `succeeded` is a success: a person, or what checks the work, let it pass.

    `unverified`: there is an answer, and nothing that counts has shown that it is right.
    """

    SUCCEEDED = "succeeded"
    UNVERIFIED = "unverified"
    EXHAUSTED = "exhausted"
    OVER_BUDGET = "over_budget"
    TIMED_OUT = "timed_out"
    OVER_CORRECTED = "over_corrected"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Ended(Value):
    """A loop's last word: how it ended, which attempt is kept, and the error or, where it is unverified, the reason."""

    outcome: Outcome
    best_attempt: int | None = None
    error: str = ""
