"""Prints how often lessons with a known effect are found, and lessons without one accused, if every outcome is watched.

The looks say nothing between them, so watching each outcome sees what they say. Beside them stands what somebody would
find who took the plain 95 % interval's word at any time.

.venv/bin/python -m tests.load.simulate_lift [LESSONS]
"""

import sys
from random import Random

from notebook_app.lift import Arm, Verdict, judged, looks_at, newcombe, power_at, runs_needed, size_of
from tests.notebook.lessons import outcomes

SHARES = (0.1, 0.3, 0.5)
# Success without the lesson, and with it.
NULLS = ((0.05, 0.05), (0.3, 0.3), (0.5, 0.5), (0.9, 0.9))
EFFECTS = ((0.4, 0.6), (0.6, 0.45), (0.3, 0.6), (0.8, 0.5))
RUNS = 1_000
SEED = 42


def main() -> None:
    lessons = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print(f"{lessons:,} lessons each, seed {SEED}")
    print(f"\nNo effect, {RUNS:,} runs, every outcome watched: share of lessons ever accused or praised")
    print("withheld  success   by the looks   by the plain interval")
    for share in SHARES:
        for rate, _ in NULLS:
            looks, plain = false_alarms(lessons, share=share, rate=rate)
            print(f"{share:7.0%}  {rate:8.0%}   {looks:12.2%}   {plain:21.2%}")
    print("\nKnown effects, until the look that is promised to find them: promised and found")
    print("withheld  without  with   runs    promised   found   wrong way   interval covers")
    for share in SHARES:
        for without, with_it in EFFECTS:
            print(effect_line(lessons, share=share, without=without, with_it=with_it))


def false_alarms(lessons: int, *, share: float, rate: float) -> tuple[float, float]:
    chance, by_looks, by_interval = Random(SEED), 0, 0
    for _ in range(lessons):
        told = outcomes(chance, runs=RUNS, share=share, without=rate, with_it=rate)
        by_looks += any(look.says is not Verdict.OPEN for look in judged(looks_at(told)).looks)
        by_interval += ever_without_zero(told)
    return by_looks / lessons, by_interval / lessons


def ever_without_zero(told: str) -> bool:
    """Whether the plain interval, from 10 outcomes of each arm on, ever leaves zero out."""
    counts = dict.fromkeys("GgWw", 0)
    for letter in told:
        counts[letter] += 1
        given, withheld = arms(counts)
        if min(given.outcomes, withheld.outcomes) >= size_of(1):
            found = newcombe(given, withheld)
            if found is not None and not found.has_zero:
                return True
    return False


def arms(counts: dict[str, int]) -> tuple[Arm, Arm]:
    return Arm(counts["G"] + counts["g"], counts["G"]), Arm(counts["W"] + counts["w"], counts["W"])


def effect_line(lessons: int, *, share: float, without: float, with_it: float) -> str:
    difference, rate = with_it - without, without * share + with_it * (1 - share)
    runs = runs_needed(difference, rate=rate, smaller_part=share)
    if runs is None:
        return f"{share:7.0%}  {without:7.0%} {with_it:5.0%}   out of reach"
    last = max(number for number in range(1, 20) if size_of(number) <= runs * share)
    promised = power_at(last, difference, rate=rate, smaller_part=share)
    wanted = Verdict.HELPS if difference > 0 else Verdict.HARMS
    chance, found, wrong, covered = Random(SEED), 0, 0, 0
    for _ in range(lessons):
        told = outcomes(chance, runs=int(runs * 1.25), share=share, without=without, with_it=with_it)
        says = {look.says for look in judged(looks_at(told)).looks[:last]} - {Verdict.OPEN}
        found, wrong = found + (wanted in says), wrong + bool(says - {wanted})
        interval = newcombe(*arms({letter: told.count(letter) for letter in "GgWw"}))
        covered += interval is not None and interval.low <= difference <= interval.high
    shares = (promised, found / lessons, wrong / lessons, covered / lessons)
    told_shares = "{:8.1%}  {:6.1%}   {:9.2%}   {:15.1%}".format(*shares)
    return f"{share:7.0%}  {without:7.0%} {with_it:5.0%} {runs:6,}    {told_shares}"


if __name__ == "__main__":
    main()
