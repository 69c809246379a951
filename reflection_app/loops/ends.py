"""How a run can end."""

from enum import StrEnum

from reflection_app.loops.values import Value


class Outcome(StrEnum):
    """The named end of a run. Only `succeeded` is a success."""

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
    """A loop's last word: how it ended and which attempt is kept."""

    outcome: Outcome
    best_attempt: int | None = None
    error: str = ""
