"""Every regular expression takes linear time, or reads a text whose length has a bound (docs/design/bounds.md)."""

import re
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings

from tests.house.attacks import Attack, cpu_s, worst
from tests.house.patterns import Found, patterns
from tests.pace import paces

BOUNDS = Path(settings.BASE_DIR, "docs/design/bounds.md")
# Twice the text may take so much longer: linear time doubles, and machines are busy.
MOST_GROWTH = 2.5
# What takes less at the longer length is not looked at twice: clocks and caches blur it.
FLOOR_S = 0.02
LENGTHS = (1_000, 4_000, 8_000)
# What takes so long and grows too fast needs no longer attack.
ENOUGH_S = 0.5
BOUNDED = re.compile(r"`([^`]+)` ≤ ([\d,]+)")
# Some 0.3 seconds.
MOST_PACES = 30


def rows() -> dict[str, str]:
    """Module to its row in the list of bounds."""
    patterns_part = BOUNDS.read_text().partition("## Patterns")[2].partition("## ")[0]
    return {line.split("`")[1]: line for line in patterns_part.splitlines() if line.startswith("| `")}


def bounds() -> dict[str, int]:
    """`module name` of a pattern that is not linear to the longest text that it is applied to."""
    return {
        f"{module} {name}": int(most.replace(",", ""))
        for module, row in rows().items()
        for name, most in BOUNDED.findall(row)
    }


def growth(found: Found, way: str, attack: Attack) -> float:
    """How many times as long twice the text takes; 0 where that is too little to be told."""
    times = 0.0
    for length in LENGTHS:
        shorter, longer = (cpu_s(found, way, attack.text(one), times=2) for one in (length, 2 * length))
        times = longer / max(shorter, 1e-6)
        if longer > ENOUGH_S and times > MOST_GROWTH:
            return times
    return times if longer > FLOOR_S and times > MOST_GROWTH else 0.0


def superlinear(*, length: int, worth_a_look_s: float) -> list[str]:
    known, slow = bounds(), []
    for found in patterns():
        if str(found) in known:
            continue
        slowest = worst(found, length=length, enough_s=10 * worth_a_look_s)
        if slowest and slowest[0] > worth_a_look_s and (times := growth(found, *slowest[1:])):
            slow.append(f"{found}: ×{times:.1f} by {slowest[1]} of {slowest[2]}")
    return slow


def test_twice_the_text_takes_no_pattern_more_than_two_and_a_half_times_as_long() -> None:
    assert superlinear(length=1_000, worth_a_look_s=0.001) == []


@pytest.mark.exhaustive("attacks of four times the length on every pattern, for a minute")
def test_longer_attacks_find_no_pattern_that_is_not_linear() -> None:
    assert superlinear(length=4_000, worth_a_look_s=0.004) == []


def test_patterns_that_are_not_linear_are_quick_at_the_longest_text_that_they_read() -> None:
    known = bounds()
    found = {str(one): one for one in patterns() if str(one) in known}
    assert found.keys() == known.keys()
    for name, one in found.items():
        slowest = worst(one, length=known[name], enough_s=1.0)
        assert slowest is not None
        _, way, attack = slowest
        assert paces(partial(cpu_s, one, way, attack.text(known[name]))) < MOST_PACES, name


def test_every_module_with_patterns_is_in_the_list_of_bounds() -> None:
    there = {found.module for found in patterns()}
    unlisted = {one for one in there if not any(is_within(one, row) for row in rows())}
    assert sorted(unlisted) == [], "add a row with the bound of what they read"
    stale = {row for row in rows() if not any(is_within(one, row) for one in there)}
    assert sorted(stale) == [], "these have no pattern any more"


def is_within(module: str, row: str) -> bool:
    return module == row or module.startswith(f"{row}.")
