"""How often the attempt that is kept is right, beside what else could have been kept. Pure.

Measured on recorded runs whose right answers are known (metrics/trace_replay.py); ordinary work has no such answers.
"""

from pydantic import BaseModel, ConfigDict, Field

from reflection_app.metrics.intervals import Interval, wilson
from reflection_app.metrics.pick_kinds import PickKind

# What is kept, from the simplest rule to what nobody can do better than.
RULES = ("first", "last", "best_self_score", "kept", "any")


class RefereeQuality(BaseModel):
    """Counts of runs that are right in the end, by the attempt that is kept.

    `first` and `last` are the attempts so recorded, `best_self_score` the one that passes most of the tests that the
    model wrote, `kept` the referee's, `any` a right one wherever there is one. `review_curve` is the share that is
    right once a person has looked at that share (%) of the runs, the least settled first. `gained` are the runs that
    are right with what is kept and not with the first attempt, `lost` those the other way round. `succeeded` are those
    that ended so without a person, `succeeded_right` the right ones of them. Older measurements have None there.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    runs: int = Field(ge=0)
    first: int = Field(ge=0)
    last: int = Field(ge=0)
    best_self_score: int = Field(ge=0)
    kept: int = Field(ge=0)
    any: int = Field(ge=0)
    gained: int | None = Field(default=None, ge=0)
    lost: int | None = Field(default=None, ge=0)
    succeeded: int | None = Field(default=None, ge=0)
    succeeded_right: int | None = Field(default=None, ge=0)
    attempts_recorded: int = Field(ge=0)
    attempts_used: int = Field(ge=0)
    review_curve: dict[str, float] = Field(default_factory=dict)
    kinds: tuple[PickKind, ...] = ()

    def share(self, rule: str) -> Interval | None:
        """The share right by this rule, with its 95 % interval; None without runs. Raises KeyError for no rule."""
        return wilson({name: getattr(self, name) for name in RULES}[rule], self.runs)
