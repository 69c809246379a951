"""Record of a supplement's tools: how often they completed a task in the project, and at what cost. Pure."""

from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from reflection_app.loops.values import Value


class SupplementRecord(Value):
    """Runs that carried out a supplement with the same tool. `tokens` and `cost_usd` are means.

    Both are per supplement. `cost_usd` is None if a call had no price.
    """

    runs: int = Field(ge=1)
    completed: int = Field(ge=0)
    tokens: float
    cost_usd: Decimal | None = None

    @property
    def share(self) -> float:
        """The share of runs completed, shrunk toward one half for few runs: (completed + 1) / (runs + 2)."""
        return (self.completed + 1) / (self.runs + 2)


class Records(Value):
    """One record per supplement, in the same order; None for tools without a record."""

    supplements: tuple[SupplementRecord | None, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def read_estimates(cls, value: Any) -> Any:
        """Read the estimates of older journals as no records. Their recorded check is ordered already."""
        listed = value.get("supplements", ()) if isinstance(value, dict) else ()
        return {} if any(isinstance(one, dict) and "costs" in one for one in listed) else value
