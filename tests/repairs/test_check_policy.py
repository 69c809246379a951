"""What code advises from what checks found: less where hardly anything is, more where it changes, fewer supplements."""

from decimal import Decimal
from random import Random

import pytest

from notebook_app.public import Claim, Measured, Outcomes
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.completeness.sampling import When
from reflection_app.repairs.check_policy import (
    Advice,
    CheckFact,
    Direction,
    Why,
    advise,
    evidence_of,
    has_changed,
    since_fall,
)
from tests.load.simulate_adaptive import KINDS, simulate, summed

ALWAYS = CompletenessSettings()
SAMPLED = CompletenessSettings(when=When.SAMPLED)


def facts(pattern: str, supplements: int = 1) -> list[CheckFact]:
    """Of each sign a check: `.` found nothing, `x` something, `o` something that was then completed."""
    return [
        CheckFact(sign != ".", sign == "o", supplements * (sign != "."), cost_usd=Decimal("0.004")) for sign in pattern
    ]


def advised(pattern: str, policy: CompletenessSettings = ALWAYS) -> tuple[Why, dict[str, object]] | None:
    found = advise(facts(pattern), policy=policy)
    return (found.why, found.change) if found else None


TENTH = {"when": "sampled", "share": 0.1}


@pytest.mark.parametrize(
    ("pattern", "policy", "expected"),
    [
        ("." * 29, ALWAYS, None),
        ("." * 30, ALWAYS, (Why.SELDOM_FOUND, TENTH)),
        # One of 40 may be one in eight.
        ("." * 39 + "x", ALWAYS, None),
        ("." * 59 + "x", ALWAYS, (Why.SELDOM_FOUND, TENTH)),
        ("." * 60, SAMPLED, None),
        ("." * 130, SAMPLED, (Why.HARDLY_EVER_FOUND, {"when": "never"})),
        ("." * 130, CompletenessSettings(when=When.NEVER), None),
        ("." * 130, CompletenessSettings(enabled=False), None),
        ("..o" * 30, ALWAYS, None),
        ("." * 40 + "o........o", SAMPLED, (Why.FOUND_MORE, {"when": "always"})),
        # One find is chance, and where all are checked nothing more can be.
        ("." * 40 + ".........o", SAMPLED, None),
        ("." * 40 + "o........o", ALWAYS, None),
        ("xx....xx", SAMPLED, (Why.FOUND_OFTEN, {"when": "always"})),
        ("x", SAMPLED, None),
    ],
)
def test_advice_by_what_was_found(
    pattern: str, policy: CompletenessSettings, expected: tuple[Why, dict[str, object]] | None
) -> None:
    assert advised(pattern, policy) == expected


def test_a_kind_that_lacks_less_than_it_did_is_told_by_its_newest_checks() -> None:
    assert len(since_fall(facts("x.x" * 40 + "." * 45))) == 40
    assert advised("x.x" * 40 + "." * 45) == (Why.SELDOM_FOUND, TENTH)
    assert len(since_fall(facts(".x" * 60))) == 120


def test_supplements_beyond_the_first_are_left_out_where_they_turned_nothing() -> None:
    mixed = facts("ox" * 20) + facts("x" * 40, supplements=3)
    advice = advise(mixed, policy=ALWAYS)
    assert advice is not None
    assert (advice.why, advice.change) == (Why.SUPPLEMENTS_TURN_LITTLE, {"max_supplements": 1})
    assert (advice.evidence.with_more, advice.evidence.turned_with_more) == (40, 0)
    assert advise(mixed, policy=CompletenessSettings(max_supplements=1)) is None
    helping = advise(facts("o" * 60, supplements=3), policy=ALWAYS)
    assert helping is None


def by_holdout(claim: Claim, letters: str = "GgW" * 20) -> Advice | None:
    return advise(facts("..o" * 30), policy=ALWAYS, holdout=Measured(Outcomes(letters)), claim=claim)


def test_the_hold_outs_word_goes_before_what_was_found() -> None:
    harms, no_help = by_holdout(Claim.HARMS), by_holdout(Claim.NO_HELP)
    assert harms is not None
    assert (harms.why, harms.change) == (Why.CHECKS_HARM, {"when": "never"})
    assert harms.evidence.difference == pytest.approx(-0.5)
    assert no_help is not None
    assert (no_help.why, no_help.change) == (Why.CHECKS_DO_NOT_HELP, TENTH)
    assert by_holdout(Claim.OPEN) is None
    helps = advise(facts("." * 60), policy=ALWAYS, holdout=Measured(Outcomes("GgW" * 20)), claim=Claim.HELPS)
    assert helps is None, "what is shown to help is not checked less"


def test_what_was_declined_is_advised_again_on_twice_the_checks_or_another_share_alone() -> None:
    def evidence(pattern: str, total: int) -> Advice:
        found = advise(facts(pattern), policy=ALWAYS, total=total)
        assert found is not None
        assert found.direction is Direction.LESS
        return found

    before = evidence("." * 30, 30).evidence
    assert not has_changed(before, evidence("." * 40, 40).evidence)
    assert has_changed(before, evidence("." * 60, 60).evidence)
    seldom = evidence("." * 150 + "x", 1_000).evidence
    assert not has_changed(seldom, evidence("." * 200, 1_100).evidence)
    often = evidence_of(facts("..o" * 40), total=1_100)
    assert has_changed(seldom, often)


def test_advice_never_breaks_whatever_was_found() -> None:
    chance = Random(7)
    for _ in range(300):
        pattern = "".join(chance.choices(".xo", weights=[chance.random(), 0.1, 0.1], k=chance.randint(0, 250)))
        for policy in (ALWAYS, SAMPLED, CompletenessSettings(when=When.NEVER, max_supplements=0)):
            advice = advise(facts(pattern, supplements=chance.randint(1, 5)), policy=policy)
            if advice is not None:
                after = CompletenessSettings.model_validate(policy.model_dump() | advice.change)
                assert after != policy
                more, less = after.checked_share > policy.checked_share, after.checked_share < policy.checked_share
                assert (advice.direction is Direction.MORE) == more
                assert (advice.direction is Direction.LESS) == less


def test_in_a_project_of_known_kinds_most_checks_are_saved_and_hardly_a_task_is_lost() -> None:
    whole = summed(list(simulate(KINDS, seed=1).values()))
    _, _, at_most = whole.lost_points()
    assert whole.saved >= 0.6
    assert at_most <= 2
