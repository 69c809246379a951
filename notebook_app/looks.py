"""When it may be said that a lesson helps or harms, though the page is open all the time. Pure.

Whoever looks after every outcome and stops at the first interval without zero finds an effect in nearly every lesson
that has none. So nothing is said between looks, and looks are set before anything is known: when the smaller arm has
10, 20, 40, 80 … outcomes. Each may be wrong with a part of 5 %, and the parts of all looks, however many there will be,
sum to 5 % (the union bound: it holds whatever the looks have in common). Most is spent from 40 to 80, which withholding
a tenth reaches within some hundred runs and where 20 or 30 points show; at 10, where only the greatest harm shows,
little. Boundaries after Pocock or O'Brien and Fleming would find somewhat more, but need to know the last look, and a
notebook has none.

A look tests by Fisher's exact test: the draw itself makes its level hold, however small or unequal the arms are.

Source: P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated Significance Tests on Accumulating Data", Journal of the
Royal Statistical Society A 132, 1969; Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", Journal of
the Royal Statistical Society B 57, 1995.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import exp, lgamma

from notebook_app.lift import Arm

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
    weights = _hypergeometric(small.outcomes, large.outcomes, successes, lowest=lowest, highest=highest)
    at = small.successes - lowest
    return min(1.0, 2 * min(sum(weights[: at + 1]), sum(weights[at:])))


def _hypergeometric(small: int, large: int, successes: int, *, lowest: int, highest: int) -> list[float]:
    """How likely each number of the successes, from `lowest` to `highest`, falls to the small arm by chance alone."""
    log_all = _log_choose(small + large, successes)
    return [
        exp(_log_choose(small, number) + _log_choose(large, successes - number) - log_all)
        for number in range(lowest, highest + 1)
    ]


def _log_choose(total: int, chosen: int) -> float:
    return lgamma(total + 1) - lgamma(chosen + 1) - lgamma(total - chosen + 1)


def discoveries(p_values: Sequence[float], *, level: float = LEVEL) -> list[bool]:
    """Which of many claims may be made together, so that at most `level` of those made are expected to be false.

    The largest k with p₍ₖ₎ ≤ k · level / m, and all that are as small (Benjamini and Hochberg 1995).
    """
    ranked = sorted(p_values)
    allowed = [p for k, p in enumerate(ranked, start=1) if p <= k * level / len(ranked)]
    bound = allowed[-1] if allowed else -1.0
    return [p <= bound for p in p_values]
