"""Prints what adaptive checks save and lose beside checking always, on projects whose kinds of tasks are known.

The policy is the desk's own (repairs/check_policy.py), asked every few runs; what it advises is accepted. Both policies
work on the same runs with the same chances, so a task is lost where it is complete under "always" alone. KINDS was
written down before anything was measured, and no number of the policy was fitted to it. The second family draws its
projects at random, also such as the policy is bad at.

.venv/bin/python -m tests.load.simulate_adaptive [PROJECTS]
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from statistics import mean

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
os.environ.setdefault("SECRET_KEY", "nothing is served here")
django.setup()

from notebook_app.public import Arm, wilson  # noqa: E402 - models are loaded by then
from reflection_app.loops.completeness.checks import CheckChoice, CompletenessSettings  # noqa: E402
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots  # noqa: E402
from reflection_app.repairs.check_policy import CheckFact, advise  # noqa: E402

RUNS = 2_000
LOOK_EVERY = 10
# A check finds nearly all that is lacking, and seldom something where nothing is.
FINDS, FALSE_ALARM = 0.95, 0.005
CHECK_USD, SUPPLEMENT_USD = 0.004, 0.006


@dataclass(frozen=True)
class Kind:
    """Tasks of a kind: how many of 20, how often they lack something (`later`: in the second half) and are turned."""

    name: str
    weight: float
    lacks: float
    turned: float = 0.8
    later: float | None = None

    def rate(self, done: float) -> float:
        return self.lacks if self.later is None or done < 0.5 else self.later


KINDS = (
    Kind("report", 5, 0.0),
    Kind("lookup", 5, 0.005),
    Kind("summary", 3, 0.01),
    Kind("translation", 2, 0.0),
    Kind("booking", 2, 0.35),
    Kind("migration", 1, 0.40, turned=0.03),
    Kind("export", 2, 0.005, later=0.30),
)


@dataclass
class Tally:
    runs: int = 0
    checks: int = 0
    lost: int = 0
    complete_always: int = 0
    usd: float = 0.0
    usd_always: float = 0.0
    supplements_usd: float = 0.0
    supplements_usd_always: float = 0.0
    advice: list[str] = field(default_factory=list)

    @property
    def saved(self) -> float:
        """Of what the checks cost."""
        return 1 - self.usd / self.usd_always

    @property
    def saved_in_all(self) -> float:
        """Of what they cost with the supplements that follow."""
        always = self.usd_always + self.supplements_usd_always
        return 1 - (self.usd + self.supplements_usd) / always

    def lost_points(self) -> tuple[float, float, float]:
        """Complete tasks that are lost, in points of a hundred, with the interval."""
        found = wilson(Arm(self.runs, self.lost))
        assert found is not None
        return 100 * found.estimate, 100 * found.low, 100 * found.high


@dataclass
class KindState:
    choice: CheckChoice = field(default_factory=CheckChoice)
    facts: list[CheckFact] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def simulate(
    kinds: Sequence[Kind], *, seed: int, runs: int = RUNS, look_every: int = LOOK_EVERY, accepted_after: int = 0
) -> dict[str, Tally]:
    """The tallies by kind. Advice is accepted `accepted_after` runs after it was given."""
    chance, usual = Random(seed), CompletenessSettings()
    states = {kind.name: KindState() for kind in kinds}
    waiting: list[tuple[int, str, CheckChoice, str]] = []
    for number in range(runs):
        [kind] = chance.choices(kinds, weights=[one.weight for one in kinds])
        state = states[kind.name]
        tally, policy = state.tally, state.choice.over(usual)
        # All of a run's chances are drawn whatever the policy, so that both policies meet the same.
        lacks, found_by, turned_by = chance.random() < kind.rate(number / runs), chance.random(), chance.random()
        wanted, lots = chance.choice((1, 1, 2, 3)), (chance.random(), chance.random())
        cost = CHECK_USD * chance.uniform(0.5, 1.5)
        finds = found_by < (FINDS if lacks else FALSE_ALARM)
        turns = finds and turned_by < kind.turned
        tally.runs += 1
        tally.usd_always += cost
        tally.supplements_usd_always += wanted * SUPPLEMENT_USD * finds
        tally.complete_always += not lacks or turns
        arm = CheckLots(share=policy.checked_share, holdout_share=0.0, sampled_by=lots[0], held_by=lots[1]).arm
        made = min(wanted, policy.max_supplements)
        turns_now = arm is CheckArm.CHECKED and turns and made == wanted
        if arm is CheckArm.CHECKED:
            tally.checks += 1
            tally.usd += cost
            tally.supplements_usd += made * SUPPLEMENT_USD * finds
            state.facts.append(CheckFact(finds, turns_now, wanted * finds, Decimal(str(round(cost, 6)))))
        tally.lost += lacks and turns and not turns_now
        if number % look_every == look_every - 1:
            for name, one in states.items():
                if any(name == other for _, other, _, _ in waiting):
                    continue
                policy = one.choice.over(usual)
                if advice := advise(one.facts, policy=policy, total=len(one.facts)):
                    chosen = CheckChoice.model_validate(one.choice.chosen | advice.change)
                    waiting.append((number + accepted_after, name, chosen, f"{number}: {advice.why}"))
            for due in [one for one in waiting if one[0] <= number]:
                waiting.remove(due)
                states[due[1]].choice = due[2]
                states[due[1]].tally.advice.append(due[3])
    return {name: state.tally for name, state in states.items()}


def summed(tallies: Sequence[Tally]) -> Tally:
    whole = Tally()
    for one in tallies:
        for name, value in vars(one).items():
            setattr(whole, name, getattr(whole, name) + value)
    return whole


def random_kinds(seed: int) -> tuple[Kind, ...]:
    """A project of any kind: many lack little, some much; a third changes half-way, to anything."""
    chance = Random(seed)
    return tuple(
        Kind(
            f"kind {number}",
            chance.uniform(1, 6),
            0.5 * chance.random() ** 3,
            turned=chance.uniform(0.2, 0.95),
            later=0.5 * chance.random() ** 3 if chance.random() < 1 / 3 else None,
        )
        for number in range(chance.randint(3, 9))
    )


def line(name: str, tally: Tally) -> str:
    lost, low, high = tally.lost_points()
    return (
        f"{name:<14}{tally.runs:6,}{tally.checks:8,}{tally.saved:8.0%}{tally.saved_in_all:9.0%}"
        f"{100 * tally.complete_always / tally.runs:10.1f}{tally.lost:6}{lost:8.2f}  {low:.2f}–{high:.2f}"
    )


HEAD = "               runs  checks   saved   in all  complete  lost  points  interval"


def spread(title: str, wholes: Sequence[Tally]) -> str:
    saved, lost = [one.saved for one in wholes], [one.lost_points()[0] for one in wholes]
    both = sum(one.saved >= 0.6 and one.lost_points()[0] <= 2 for one in wholes)
    whole = summed(wholes)
    points, low, high = whole.lost_points()
    order = sorted(lost)
    return (
        f"{title}: {len(wholes)} projects, saved {mean(saved):.1%} ({min(saved):.0%} to {max(saved):.0%}; with "
        f"supplements {whole.saved_in_all:.1%}), lost {points:.2f} points ({low:.2f}–{high:.2f}; median "
        f"{order[len(order) // 2]:.2f}, 19 of 20 below {order[int(len(order) * 0.95)]:.2f}, most {order[-1]:.2f}); "
        f"60 % and 2 points both kept by {both}"
    )


def main() -> None:
    projects = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    first = simulate(KINDS, seed=1)
    print(f"One project of {RUNS:,} runs, seed 1\n{HEAD}")
    for name, tally in first.items():
        print(line(name, tally), "", "; ".join(tally.advice))
    print(line("all", summed(list(first.values()))))
    known = [summed(list(simulate(KINDS, seed=seed).values())) for seed in range(1, projects + 1)]
    print("\n" + spread("The known project", known))
    slow = [summed(list(simulate(KINDS, seed=seed, accepted_after=100).values())) for seed in range(1, projects + 1)]
    print(spread("… accepted 100 runs later", slow))
    drawn = [
        summed(list(simulate(random_kinds(seed), seed=seed).values())) for seed in range(1_001, 1_001 + 5 * projects)
    ]
    print(spread("Projects drawn at random", drawn))
    seed, worst = max(enumerate(drawn, start=1_001), key=lambda one: one[1].lost_points()[0])
    print(f"\nThe worst of them, seed {seed}\n{HEAD}")
    kinds = {kind.name: kind for kind in random_kinds(seed)}
    for name, tally in simulate(random_kinds(seed), seed=seed).items():
        kind = kinds[name]
        later = "" if kind.later is None else f" → {kind.later:.1%}"
        print(line(name, tally), f" lacks {kind.lacks:.1%}{later}; {'; '.join(tally.advice)}")
    print(line("all", worst))


if __name__ == "__main__":
    main()
