"""What a supplement will cost and what it is worth, as the history of its project tells it. Pure values."""

from decimal import Decimal
from enum import StrEnum

from pydantic import Field

from reflection_app.loops.values import Value


class Basis(StrEnum):
    """Which of the project's work an estimate rests on, from the nearest to the farthest.

    SAME: this very supplement in tasks of this kind; KIND: supplements by the same tools in tasks of this kind; TOOL:
    by the same tools in any; CALLS: calls of these tools in plans; ANY_OF_KIND: any supplement in tasks of this kind;
    PROJECT: any of the project.
    """

    SAME = "same"
    KIND = "kind"
    TOOL = "tool"
    CALLS = "calls"
    ANY_OF_KIND = "any_of_kind"
    PROJECT = "project"
    NOTHING = "nothing"


class Spread[Number: (float, Decimal)](Value):
    """The median of what there was, and the quartiles around it."""

    low: Number
    middle: Number
    high: Number


class CostsBefore(Value):
    """What `count` pieces of work came to. `cost_usd` is None where the price of most of them is not known.

    `seconds` is None where nobody kept them.
    """

    basis: Basis
    count: int = Field(ge=1)
    tokens: Spread[float]
    cost_usd: Spread[Decimal] | None = None
    seconds: Spread[float] | None = None


class CompletedBefore(Value):
    """In how many runs such a supplement was carried out, and how many of them it turned complete.

    `low` and `high` are Wilson's interval of that share.
    """

    basis: Basis
    runs: int = Field(ge=1)
    completed: int = Field(ge=0)
    low: float
    high: float


class SupplementHistory(Value):
    """What is known of one supplement, from the nearest basis to the farthest; bases without anything are left out."""

    costs: tuple[CostsBefore, ...] = ()
    completed: tuple[CompletedBefore, ...] = ()


class Histories(Value):
    """What is known of each supplement, in their order; empty where nobody looked."""

    supplements: tuple[SupplementHistory, ...] = ()


class Estimate(Value):
    """What a supplement will cost and is worth. The costs are None where nothing is known of them.

    `by_tokens`: the history knows no price, so the money is its tokens at the price of this run so far. `worth` is the
    share of runs that it turns complete, drawn to a half where there were few, with Wilson's interval of what was seen.
    """

    tokens: Spread[float] | None = None
    cost_usd: Spread[Decimal] | None = None
    seconds: Spread[float] | None = None
    cost_basis: Basis = Basis.NOTHING
    cost_count: int = 0
    by_tokens: bool = False
    worth: float = Field(default=0.5, ge=0, le=1)
    worth_low: float = 0.0
    worth_high: float = 1.0
    worth_basis: Basis = Basis.NOTHING
    worth_runs: int = 0
    worth_completed: int = 0

    @property
    def cost_per_completed_usd(self) -> Decimal | None:
        """What a run that it turns complete comes to."""
        if self.cost_usd is None or not self.worth:
            return None
        return (self.cost_usd.middle / Decimal(str(self.worth))).quantize(Decimal("1e-8"))


class Measure(StrEnum):
    """What supplements were put in order by: their worth for their price in money or in tokens, or their worth alone.

    Tokens decide where the price of some is not known, or is nothing; worth alone where nothing is known of any cost.
    """

    USD = "usd"
    TOKENS = "tokens"
    WORTH = "worth"
