"""What a lesson does to first attempts: success with it and without it, and the difference with its interval. Pure.

Sources: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
Statistical Association 22, 1927; R. G. Newcombe, "Interval Estimation for the Difference Between Independent
Proportions: Comparison of Eleven Methods", Statistics in Medicine 17, 1998, method 10.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import ceil, exp, hypot, lgamma, log10, sqrt
from statistics import NormalDist

Z_95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Interval:
    """Interval from `low` to `high` around the observed value."""

    estimate: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


@dataclass(frozen=True)
class Arm:
    """Runs that were given a lesson, or from which it was withheld, and how many first attempts succeeded."""

    outcomes: int = 0
    successes: int = 0

    @property
    def rate(self) -> float | None:
        """The share of successes; None without outcomes."""
        return self.successes / self.outcomes if self.outcomes else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.successes, self.outcomes)


def wilson(successes: float, total: float) -> Interval | None:
    """The score interval of the share `successes / total` (Wilson 1927); None where `total` is 0.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n). Counts need not be whole: weighted data come as a share and
    the number of plain cases that would say as much.
    """
    if total <= 0:
        return None
    z, share = Z_95, min(1.0, max(0.0, successes / total))
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


# When it may be said that a lesson helps or harms, though the page is open all the time. Pure.
#
# Whoever looks after every outcome and stops at the first interval without zero finds an effect in nearly every
# lesson that has none. So nothing is said between looks, and looks are set before anything is known: when the smaller
# arm has 10, 20, 40, 80 … outcomes. Each may be wrong with a part of 5 %, and the parts of all looks, however many
# there will be, sum to 5 % (the union bound: it holds whatever the looks have in common). Most is spent from 40 to
# 80, which withholding a tenth reaches within some hundred runs and where 20 or 30 points show; at 10, where only the
# greatest harm shows, little. Boundaries after Pocock or O'Brien and Fleming would find somewhat more, but need to
# know the last look, and a notebook has none.
#
# A look tests by Fisher's exact test: the draw itself makes its level hold, however small or unequal the arms are.
#
# Source: P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated Significance Tests on Accumulating Data", Journal of the
# Royal Statistical Society A 132, 1969; Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", Journal of
# the Royal Statistical Society B 57, 1995.

LEVEL = 0.05
FIRST_SIZE = 10
# The parts of the level that the first looks spend; what is left is halved from each look to the next.
SPENT = (0.10, 0.15, 0.20, 0.20, 0.15)


class Verdict(StrEnum):
    HELPS = "helps"
    HARMS = "harms"
    OPEN = "open"


@dataclass(frozen=True)
class Look:
    """What stood there when the smaller arm had `size` outcomes. `p_value` is two-sided, of this look alone."""

    number: int
    given: Arm
    withheld: Arm
    p_value: float

    @property
    def size(self) -> int:
        return size_of(self.number)

    @property
    def says(self) -> Verdict:
        if self.p_value > level_of(self.number):
            return Verdict.OPEN
        more = (self.given.rate or 0.0) > (self.withheld.rate or 0.0)
        return Verdict.HELPS if more else Verdict.HARMS


@dataclass(frozen=True)
class Judged:
    """All looks that have passed. `p_value` holds over all of them together; 1 where none has."""

    looks: tuple[Look, ...] = ()

    @property
    def decisive(self) -> Look | None:
        """The last look that told something."""
        return next((look for look in reversed(self.looks) if look.says is not Verdict.OPEN), None)

    @property
    def verdict(self) -> Verdict:
        return self.decisive.says if self.decisive else Verdict.OPEN

    @property
    def p_value(self) -> float:
        """Each look's, as the part of the level that the look may use; at most α of null lessons ever fall below α."""
        return min((min(1.0, look.p_value * LEVEL / level_of(look.number)) for look in self.looks), default=1.0)

    @property
    def next_size(self) -> int:
        return size_of(len(self.looks) + 1)


def size_of(number: int) -> int:
    """How many outcomes the smaller arm has at look `number`, counted from 1."""
    return FIRST_SIZE << (number - 1)


def level_of(number: int) -> float:
    """How likely look `number` may be wrong."""
    if number <= len(SPENT):
        return LEVEL * SPENT[number - 1]
    return LEVEL * (1 - sum(SPENT)) * 0.5 ** (number - len(SPENT))


def judged(states: Iterable[tuple[Arm, Arm]]) -> Judged:
    """What the looks say, from given and withheld as they stood at look 1, 2, 3 …"""
    return Judged(
        tuple(
            Look(number=number, given=given, withheld=withheld, p_value=fisher(given, withheld))
            for number, (given, withheld) in enumerate(states, start=1)
        )
    )


def looks_at(outcomes: str) -> list[tuple[Arm, Arm]]:
    """The arms at each look that has passed, from outcomes in the order in which they came in.

    `G` and `g` are a success and a failure of a run that was given the lesson, `W` and `w` of one that was not.
    """
    states: list[tuple[Arm, Arm]] = []
    position, size = 0, FIRST_SIZE
    counts = dict.fromkeys("GgWw", 0)
    while True:
        # No shorter beginning can hold enough, so the search jumps instead of going outcome by outcome.
        short = size - min(counts["G"] + counts["g"], counts["W"] + counts["w"])
        if short <= 0:
            states.append((Arm(counts["G"] + counts["g"], counts["G"]), Arm(counts["W"] + counts["w"], counts["W"])))
            size *= 2
            continue
        if position >= len(outcomes):
            return states
        part = outcomes[position : position + short]
        position += short
        for letter in counts:
            counts[letter] += part.count(letter)


@lru_cache(maxsize=16_384)
def fisher(given: Arm, withheld: Arm) -> float:
    """The two-sided p-value of Fisher's exact test, as twice the smaller tail: each direction has half of the level."""
    small, large = sorted((given, withheld), key=lambda arm: arm.outcomes)
    successes = small.successes + large.successes
    lowest = max(0, successes - large.outcomes)
    highest = min(small.outcomes, successes)
    # How likely each number of the successes falls to the small arm by chance alone: the hypergeometric distribution.
    log_all = _log_choose(small.outcomes + large.outcomes, successes)
    weights = [
        exp(_log_choose(small.outcomes, number) + _log_choose(large.outcomes, successes - number) - log_all)
        for number in range(lowest, highest + 1)
    ]
    at = small.successes - lowest
    return min(1.0, 2 * min(sum(weights[: at + 1]), sum(weights[at:])))


def _log_choose(total: int, chosen: int) -> float:
    return lgamma(total + 1) - lgamma(chosen + 1) - lgamma(total - chosen + 1)


def discoveries(p_values: Sequence[float]) -> list[bool]:
    """Which of many claims may be made together, so that at most LEVEL of those made are expected to be false.

    The largest k with p₍ₖ₎ ≤ k · LEVEL / m, and all that are as small (Benjamini and Hochberg 1995).
    """
    ranked = sorted(p_values)
    allowed = [p for k, p in enumerate(ranked, start=1) if p <= k * LEVEL / len(ranked)]
    bound = allowed[-1] if allowed else -1.0
    return [p <= bound for p in p_values]


# How many more runs it takes until a look can be expected to tell. Pure.
#
# The sample size for Fisher's exact test with unequal arms: J. L. Fleiss, A. Tytun, H. K. Ury, "A Simple Approximation
# for Calculating Sample Sizes for Comparing Independent Proportions", Biometrics 36, 1980.

POWER = 0.8
# The least difference that is taken to be worth knowing of.
LEAST_DIFFERENCE = 0.1
# Beyond this nobody waits for it.
MOST_RUNS = 100_000
# Below this an arm's size is chance, and the share of the draws says better what the ratio will be.
FEWEST_FOR_RATIO = 10
RARE = 0.01


@dataclass(frozen=True)
class Needed:
    """`more_runs` until a look finds a true `difference` four times out of five; None where that is out of reach.

    Out of reach it is as well where nothing is withheld.
    """

    difference: float
    is_observed: bool
    more_runs: int | None


def needed(given: Arm, withheld: Arm, *, share: float, looks_passed: int) -> Needed:
    """What it takes from here on: for the difference that is seen, or for the least that is worth knowing of.

    Early on what is seen is mostly chance, so a small one is never promised to be found.
    """
    seen = (given.rate or 0.0) - (withheld.rate or 0.0) if given.outcomes and withheld.outcomes else 0.0
    is_observed = abs(seen) >= LEAST_DIFFERENCE
    difference = seen if is_observed else LEAST_DIFFERENCE
    total = given.outcomes + withheld.outcomes
    rate = (given.successes + withheld.successes + 1) / (total + 2)
    smaller = min(given.outcomes, withheld.outcomes)
    part = smaller / total if smaller >= FEWEST_FOR_RATIO else min(share, 1 - share)
    runs = runs_needed(difference, rate=rate, smaller_part=part, looks_passed=looks_passed) if part else None
    return Needed(difference, is_observed, None if runs is None else rounded(max(runs - total, 1)))


def runs_needed(difference: float, *, rate: float, smaller_part: float, looks_passed: int = 0) -> int | None:
    """Runs in all, until a look that has not passed yet finds this difference with a power of 80 %; None beyond bounds.

    `rate` is the success over both arms, `smaller_part` what share of the runs falls to the smaller arm.
    """
    number = looks_passed + 1
    while (runs := ceil(size_of(number) / smaller_part)) <= MOST_RUNS:
        if power_at(number, difference, rate=rate, smaller_part=smaller_part) >= POWER:
            return runs
        number += 1
    return None


def power_at(number: int, difference: float, *, rate: float, smaller_part: float) -> float:
    """How likely look `number` by itself tells of a true `difference`."""
    ratio, size = (1 - smaller_part) / smaller_part, size_of(number)
    without = _inside(rate - difference * (1 - smaller_part))
    with_it = _inside(without + difference)
    apart = abs(with_it - without)
    # Fleiss and others, solved for the size without the correction for continuity.
    correction = (ratio + 1) / (2 * ratio * apart)
    if size <= correction:
        return 0.0
    uncorrected = (size - correction) ** 2 / size
    mean = (without + ratio * with_it) / (1 + ratio)
    bound = NormalDist().inv_cdf(1 - level_of(number) / 2) * sqrt((1 + 1 / ratio) * mean * (1 - mean))
    spread = sqrt(without * (1 - without) + with_it * (1 - with_it) / ratio)
    return NormalDist().cdf((apart * sqrt(uncorrected) - bound) / spread)


def rounded(runs: int) -> int:
    """The number to two digits, upwards: more would say more than is known."""
    unit = int(10 ** max(0, int(log10(runs)) - 1))
    return ceil(runs / unit) * unit


def _inside(rate: float) -> float:
    return min(max(rate, RARE), 1 - RARE)
