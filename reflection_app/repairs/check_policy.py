"""How often tasks of a kind are to be checked, from what their checks found and turned around. Pure.

The rates of a kind are told by Wilson's interval and the hold-out by the looks of notebook_app/lift.py. Less is advised
only where even the upper end of the interval is small. More is advised on slighter signs: a check too many costs a
check, and one too few an incomplete task; and of a kind that is sampled there are few checks to tell by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from notebook_app.public import Arm, Claim, Interval, Measured, fisher, wilson
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.completeness.sampling import When

# Nothing is advised on fewer checks: of 30 that found nothing, the interval ends at 11 %.
LEAST_CHECKS = 30
# What is older tells of other times.
MOST_LOOKED_AT = 200
# Sampled where so small a share was found incomplete, and the interval ends below this.
SELDOM = 0.03
SELDOM_AT_MOST = 0.12
SAMPLE_SHARE = 0.1
# Never but for the least share where the interval ends below this: some 125 checks that found nothing.
HARDLY_EVER_AT_MOST = 0.03
# Changes are looked for in the newest so many checks, beside all before them, of which there are at least so many.
NEWEST = (10, 20, 40)
LEAST_BEFORE = 20
# One find alone is chance.
LEAST_FOUND = 2
# Where there are not enough checks from before: the share that the interval has to begin above.
OFTEN = 0.05
# That a kind has come to lack less is believed at this level of Fisher's test, in the newest so many checks.
FALLEN_LEVEL = 0.01
FALLEN = (160, 80, 40)
# Supplements beyond a number are left out where so many checks had more, and the interval of those turned ends below.
LEAST_WITH_MORE = 20
TURNED_AT_MOST = 0.15


class Why(StrEnum):
    """The reason for a piece of advice; its parameters are the figures of `Evidence`."""

    SELDOM_FOUND = "seldom_found"
    HARDLY_EVER_FOUND = "hardly_ever_found"
    FOUND_MORE = "found_more"
    FOUND_OFTEN = "found_often"
    CHECKS_DO_NOT_HELP = "checks_do_not_help"
    CHECKS_HARM = "checks_harm"
    SUPPLEMENTS_TURN_LITTLE = "supplements_turn_little"


class Direction(StrEnum):
    LESS = "less"
    MORE = "more"
    SUPPLEMENTS = "supplements"


DIRECTIONS = {
    Why.SELDOM_FOUND: Direction.LESS,
    Why.HARDLY_EVER_FOUND: Direction.LESS,
    Why.CHECKS_DO_NOT_HELP: Direction.LESS,
    Why.CHECKS_HARM: Direction.LESS,
    Why.FOUND_MORE: Direction.MORE,
    Why.FOUND_OFTEN: Direction.MORE,
    Why.SUPPLEMENTS_TURN_LITTLE: Direction.SUPPLEMENTS,
}


@dataclass(frozen=True)
class CheckFact:
    """What the check of one run found, and whether its supplements then turned it complete."""

    is_incomplete: bool
    is_turned: bool = False
    supplements: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True


@dataclass(frozen=True)
class Evidence:
    """The figures that a piece of advice rests on: `incomplete` of `checks`, beside `before_high` where it is a change.

    `total` is how many checks of the kind there were in all when it was given.
    """

    checks: int
    incomplete: int
    turned: int
    low: float
    high: float
    cost_each_usd: Decimal
    cost_known: bool
    total: int
    before_high: float | None = None
    # Of checks with more supplements than are advised.
    with_more: int = 0
    turned_with_more: int = 0
    # Success with a check less success without, by the hold-out.
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


@dataclass(frozen=True)
class Advice:
    """The policy that is advised; None leaves a setting as it is."""

    why: Why
    evidence: Evidence
    when: When | None = None
    share: float | None = None
    max_supplements: int | None = None

    @property
    def direction(self) -> Direction:
        return DIRECTIONS[self.why]

    @property
    def change(self) -> dict[str, object]:
        """The settings that it changes, by their names."""
        named = {"when": self.when, "share": self.share, "max_supplements": self.max_supplements}
        return {name: value for name, value in named.items() if value is not None}


def advise(
    facts: Sequence[CheckFact],
    *,
    policy: CompletenessSettings,
    total: int | None = None,
    holdout: Measured | None = None,
    claim: Claim = Claim.OPEN,
) -> Advice | None:
    """What to change of the kind's policy, most urgent first; None where nothing speaks for a change.

    `facts` are the kind's newest checks, oldest first, `total` how many there are of all. `claim` is what may be said
    of its hold-out among those of the other kinds.
    """
    facts = facts[-MOST_LOOKED_AT:]
    total = len(facts) if total is None else total
    if not policy.enabled:
        return None
    # The more urgent first: what is missed now.
    return (
        _more(facts, policy=policy, total=total)
        or _by_holdout(facts, policy=policy, total=total, holdout=holdout, claim=claim)
        or (None if claim is Claim.HELPS else _less(facts, policy=policy, total=total))
        or _fewer_supplements(facts, policy=policy, total=total)
    )


def has_changed(before: Evidence, now: Evidence) -> bool:
    """Whether advice that was declined may be given again: on twice the checks, or where the intervals do not meet.

    Of advice on supplements the checks that had more of them count.
    """
    if now.with_more and before.with_more:
        return now.with_more >= 2 * before.with_more
    return now.total >= 2 * before.total or now.low > before.high or now.high < before.low


def evidence_of(facts: Sequence[CheckFact], *, total: int, before_high: float | None = None) -> Evidence:
    """The figures of these checks, of which there is at least one."""
    rate = _rate(facts)
    cost = sum((fact.cost_usd for fact in facts), Decimal(0)) / len(facts)
    return Evidence(
        checks=len(facts),
        incomplete=sum(fact.is_incomplete for fact in facts),
        turned=sum(fact.is_turned for fact in facts),
        low=rate.low,
        high=rate.high,
        cost_each_usd=cost.quantize(Decimal("1e-8")),
        cost_known=all(fact.cost_known for fact in facts),
        total=total,
        before_high=before_high,
    )


def _rate(facts: Sequence[CheckFact]) -> Interval:
    found = wilson(_arm(facts))
    assert found is not None, "there is at least one check"
    return found


def _arm(facts: Sequence[CheckFact]) -> Arm:
    return Arm(len(facts), sum(fact.is_incomplete for fact in facts))


def _more(facts: Sequence[CheckFact], *, policy: CompletenessSettings, total: int) -> Advice | None:
    """Where the newest checks found more than the interval of those before told, or it was often from the first."""
    if policy.checked_share >= 1:
        return None
    facts = since_fall(facts)
    for size in NEWEST:
        newest, before = facts[-size:], facts[:-size]
        found = sum(fact.is_incomplete for fact in newest)
        if len(before) >= LEAST_BEFORE and found >= LEAST_FOUND and found / size > (high := _rate(before).high):
            evidence = evidence_of(newest, total=total, before_high=high)
            return Advice(Why.FOUND_MORE, evidence, when=When.ALWAYS)
    if facts and _arm(facts).successes >= LEAST_FOUND and _rate(facts).low > OFTEN:
        return Advice(Why.FOUND_OFTEN, evidence_of(facts, total=total), when=When.ALWAYS)
    return None


def _by_holdout(
    facts: Sequence[CheckFact], *, policy: CompletenessSettings, total: int, holdout: Measured | None, claim: Claim
) -> Advice | None:
    """Where runs that were not checked ended better, or so little worse that it would have shown."""
    difference = holdout.difference if holdout is not None else None
    if difference is None or not facts:
        return None
    evidence = Evidence(
        **vars(evidence_of(facts, total=total))
        | {
            "difference": difference.estimate,
            "difference_low": difference.low,
            "difference_high": difference.high,
        }
    )
    if claim is Claim.HARMS and policy.checked_share > policy.least_share:
        return Advice(Why.CHECKS_HARM, evidence, when=When.NEVER)
    if claim is Claim.NO_HELP and policy.checked_share > max(SAMPLE_SHARE, policy.least_share):
        return Advice(Why.CHECKS_DO_NOT_HELP, evidence, when=When.SAMPLED, share=SAMPLE_SHARE)
    return None


def _less(facts: Sequence[CheckFact], *, policy: CompletenessSettings, total: int) -> Advice | None:
    facts = since_fall(facts)
    if len(facts) < LEAST_CHECKS:
        return None
    rate = _rate(facts)
    evidence = evidence_of(facts, total=total)
    if rate.high <= HARDLY_EVER_AT_MOST and policy.checked_share > policy.least_share:
        return Advice(Why.HARDLY_EVER_FOUND, evidence, when=When.NEVER)
    is_seldom = rate.estimate <= SELDOM and rate.high <= SELDOM_AT_MOST
    if is_seldom and policy.checked_share > max(SAMPLE_SHARE, policy.least_share):
        return Advice(Why.SELDOM_FOUND, evidence, when=When.SAMPLED, share=SAMPLE_SHARE)
    return None


def _fewer_supplements(facts: Sequence[CheckFact], *, policy: CompletenessSettings, total: int) -> Advice | None:
    """The smallest number beyond which the supplements of this kind turned hardly any check complete."""
    for most in range(policy.max_supplements):
        with_more = [fact for fact in facts if fact.supplements > most]
        turned = sum(fact.is_turned for fact in with_more)
        rate = wilson(Arm(len(with_more), turned))
        if rate is not None and len(with_more) >= LEAST_WITH_MORE and rate.high <= TURNED_AT_MOST:
            figures = vars(evidence_of(facts, total=total)) | {
                "with_more": len(with_more),
                "turned_with_more": turned,
            }
            return Advice(Why.SUPPLEMENTS_TURN_LITTLE, Evidence(**figures), max_supplements=most)
    return None


def since_fall(facts: Sequence[CheckFact]) -> Sequence[CheckFact]:
    """The checks since the kind came to lack less, from where that shows most; all where it did not."""
    falls = []
    for size in FALLEN:
        newest, before = _arm(facts[-size:]), _arm(facts[:-size])
        if (newest.rate or 0.0) < (before.rate or 0.0):
            falls.append((fisher(newest, before), size))
    level, size = min(falls, default=(1.0, 0))
    return facts[-size:] if level <= FALLEN_LEVEL else facts
