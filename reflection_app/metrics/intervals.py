"""95 % intervals of shares and of differences between them. Pure.

Counts need not be whole: weighted data come as a share and the number of plain cases that would say as much.

Sources: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
Statistical Association 22, 1927; R. G. Newcombe, "Interval Estimation for the Difference Between Independent
Proportions: Comparison of Eleven Methods", Statistics in Medicine 17, 1998, method 10.
"""

from dataclasses import dataclass
from math import hypot, sqrt
from statistics import NormalDist

Z_95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, around what was observed."""

    estimate: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


def wilson(successes: float, total: float, *, z: float = Z_95) -> Interval | None:
    """The score interval of the share `successes / total` (Wilson 1927); None where `total` is 0.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n).
    """
    if total <= 0:
        return None
    share = min(1.0, max(0.0, successes / total))
    middle = (2 * total * share + z * z) / (2 * (total + z * z))
    half = z * sqrt(z * z + 4 * total * share * (1 - share)) / (2 * (total + z * z))
    # The ends are 0 and 1 exactly where nothing, or everything, succeeded.
    low = 0.0 if share == 0 else middle - half
    high = 1.0 if share == 1 else middle + half
    return Interval(estimate=share, low=low, high=high)


def difference(first: Interval, second: Interval) -> Interval:
    """First minus second, two independent figures with intervals of their own (Newcombe 1998, method 10).

    d − √((p₁ − l₁)² + (u₂ − p₂)²) to d + √((u₁ − p₁)² + (p₂ − l₂)²), l and u being the bounds of the two.
    """
    between = first.estimate - second.estimate
    return Interval(
        estimate=between,
        low=between - hypot(first.estimate - first.low, second.high - second.estimate),
        high=between + hypot(first.high - first.estimate, second.estimate - second.low),
    )
