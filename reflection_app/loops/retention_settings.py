"""How long a project keeps what it was handed in and what came of it. Pure."""

from pydantic import Field

from reflection_app.loops.values import Value

LONGEST_DAYS = 3650


class RetentionSettings(Value):
    """Days after which things are deleted; None keeps them for ever.

    Counted from their end: what has not ended is never deleted, nor is a run that a person or an agent is still waited
    for in, or that waits for a review. The notebook, the metrics and the audit trail stay.
    """

    runs_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    transcripts_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    tool_failures_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    deliveries_days: int | None = Field(default=30, ge=1, le=LONGEST_DAYS)
    traces_days: int | None = Field(default=30, ge=1, le=LONGEST_DAYS)
    notifications_days: int | None = Field(default=90, ge=1, le=LONGEST_DAYS)
