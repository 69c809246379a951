"""The record of a supplement's tools: how often they completed a task in its project, and what that cost. Pure."""

from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from reflection_app.loops.values import Value


class SupplementRecord(Value):
    """Runs that carried out a supplement with the same tool. `tokens` and `cost_usd` are means per supplement.

    `cost_usd` is None where some call had no price.
    """

    runs: int = Field(ge=1)
    completed: int = Field(ge=0)
    tokens: float
    cost_usd: Decimal | None = None

    @property
    def share(self) -> float:
        """Return the share of runs completed, shrunk toward one half where there are few runs."""
        return (self.completed + 1) / (self.runs + 2)


class Records(Value):
    """One record per supplement, in their order; None where its tools have none."""

    supplements: tuple[SupplementRecord | None, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def read_estimates(cls, value: Any) -> Any:
        """Read what older journals hold in its place as no records: their recorded check is in order already."""
        listed = value.get("supplements", ()) if isinstance(value, dict) else ()
        return {} if any(isinstance(one, dict) and "costs" in one for one in listed) else value
