"""What a lesson does to first attempts: success with it and without it, and the difference with its interval. Pure.

Sources: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
Statistical Association 22, 1927; R. G. Newcombe, "Interval Estimation for the Difference Between Independent
Proportions: Comparison of Eleven Methods", Statistics in Medicine 17, 1998, method 10.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

Z_95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Arm:
    """Runs that were given a lesson, or from which it was withheld, and how many first attempts succeeded."""

    outcomes: int = 0
    successes: int = 0

    @property
    def rate(self) -> float | None:
        """The share of successes; None without outcomes."""
        return self.successes / self.outcomes if self.outcomes else None


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, around what was observed."""

    estimate: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


def wilson(arm: Arm, *, z: float = Z_95) -> Interval | None:
    """The score interval of the arm's success rate (Wilson 1927); None without outcomes."""
    rate, total = arm.rate, arm.outcomes
    if rate is None:
        return None
    middle = (2 * total * rate + z * z) / (2 * (total + z * z))
    half = z * sqrt(z * z + 4 * total * rate * (1 - rate)) / (2 * (total + z * z))
    # The ends are 0 and 1 exactly where nothing, or everything, succeeded.
    low = 0.0 if arm.successes == 0 else middle - half
    high = 1.0 if arm.successes == total else middle + half
    return Interval(estimate=rate, low=low, high=high)


def newcombe(given: Arm, withheld: Arm, *, z: float = Z_95) -> Interval | None:
    """Given minus withheld, with the hybrid score interval (Newcombe 1998, method 10); None where an arm is empty.

    d − √((p₁ − l₁)² + (u₂ − p₂)²) to d + √((u₁ − p₁)² + (p₂ − l₂)²), l and u being Wilson's bounds of the two rates.
    """
    first, second = wilson(given, z=z), wilson(withheld, z=z)
    if first is None or second is None:
        return None
    difference = first.estimate - second.estimate
    return Interval(
        estimate=difference,
        low=difference - sqrt((first.estimate - first.low) ** 2 + (second.high - second.estimate) ** 2),
        high=difference + sqrt((first.high - first.estimate) ** 2 + (second.estimate - second.low) ** 2),
    )
