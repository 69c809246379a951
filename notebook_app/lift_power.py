"""How many more runs it takes until a look can be expected to tell. Pure.

The sample size for Fisher's exact test with unequal arms: J. L. Fleiss, A. Tytun, H. K. Ury, "A Simple Approximation
for Calculating Sample Sizes for Comparing Independent Proportions", Biometrics 36, 1980.
"""

from dataclasses import dataclass
from math import ceil, log10, sqrt
from statistics import NormalDist

from notebook_app.lift import Arm
from notebook_app.looks import level_of, size_of

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
    part = _smaller_part(given, withheld, share=share)
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


def _smaller_part(given: Arm, withheld: Arm, *, share: float) -> float:
    smaller = min(given.outcomes, withheld.outcomes)
    if smaller >= FEWEST_FOR_RATIO:
        return smaller / (given.outcomes + withheld.outcomes)
    return min(share, 1 - share)


def _inside(rate: float) -> float:
    return min(max(rate, RARE), 1 - RARE)
