"""Whether a supplement that recurs is worth what it costs. Pure: counts and sums in, a word out.

The runs in which it was carried out are set against the other checked runs of the same kind of task. Nobody chose by
lot which runs got it, so the difference is a hint and no proof; and of few runs it is not even that.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

# On each side of the comparison: with fewer, one run more or less would turn the word round.
FEWEST_RUNS = 5
# In shares of runs that succeeded. Less than this is as good as nothing.
LEAST_GAIN = 0.05
# What a success more may cost, in whole runs of that kind.
MOST_RUNS_PER_SUCCESS = 3.0


class Worth(StrEnum):
    WORTH_IT = "worth it"
    COSTS_MORE = "costs more than it brings"
    TOO_FEW = "too few to say"


@dataclass(frozen=True)
class Side:
    """Runs that ended, and how many of them succeeded."""

    runs: int = 0
    succeeded: int = 0

    @property
    def share(self) -> float | None:
        return self.succeeded / self.runs if self.runs else None


@dataclass(frozen=True)
class SupplementValue:
    """What a supplement brought and cost. Tokens decide, since the price of a model may not be known."""

    done: Side
    others: Side
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    tokens_per_run: float = 0.0

    @property
    def gain(self) -> float | None:
        """How many runs more succeeded with it, as a share."""
        if self.done.share is None or self.others.share is None:
            return None
        # Rounded, so that 0.6 - 0.5 is the tenth that it is.
        return round(self.done.share - self.others.share, 9)

    @property
    def tokens_each(self) -> float:
        """What it cost in one run."""
        return self.tokens / self.done.runs if self.done.runs else 0.0

    @property
    def worth(self) -> Worth:
        """The rule: enough runs on both sides, more successes, and each of those for at most a few runs' tokens."""
        if min(self.done.runs, self.others.runs) < FEWEST_RUNS or self.gain is None:
            return Worth.TOO_FEW
        if self.gain < LEAST_GAIN:
            return Worth.COSTS_MORE
        is_cheap = self.tokens_each / self.gain <= MOST_RUNS_PER_SUCCESS * self.tokens_per_run
        return Worth.WORTH_IT if is_cheap else Worth.COSTS_MORE
