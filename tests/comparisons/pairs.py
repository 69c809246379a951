"""Sets of pairs for tests, and people who judge them."""

from typing import Any

from reflection_app.comparisons.claiming import claim_next
from reflection_app.comparisons.judging import JudgementInput, judge_pair
from reflection_app.comparisons.models import ComparisonSet, PairJudgement, Preference
from reflection_app.comparisons.sets import PairsInput, SetInput, create_set, hand_in_pairs
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from tests import given

OLD, NEW = "model-old", "model-new"


def pair_of(number: int = 1, *, a: str = OLD, b: str = NEW, **fields: Any) -> dict[str, Any]:
    """A pair as a pipeline hands it in, each with words of its own."""
    return {
        "objective": f"Question {number}",
        "a": {"answer": f"Answer {number} of the one.", "model": a},
        "b": {"answer": f"Answer {number} of the other.", "model": b},
    } | fields


def make_set(project: Project, pairs: int = 1, *, wanted: int = 1, actor: Actor | None = None) -> ComparisonSet:
    """A set with so many pairs of OLD and NEW."""
    made = create_set(project, SetInput(name="Old or new", wanted=wanted), actor=Actor())
    add_pairs(made, *(pair_of(number) for number in range(1, pairs + 1)), actor=actor)
    return made


def add_pairs(comparison_set: ComparisonSet, *pairs: dict[str, Any], actor: Actor | None = None) -> None:
    if pairs:
        told = PairsInput.model_validate({"pairs": pairs})
        hand_in_pairs(comparison_set, told, actor=actor or Actor())


def judge_of(project: Project) -> Actor:
    """Somebody who may judge."""
    return Actor(user=given.member(project))


def claimed(project: Project, *, actor: Actor) -> PairJudgement:
    seat = claim_next(project, actor=actor)
    assert seat is not None
    return seat


def said(seat: PairJudgement, choice: Preference, *, actor: Actor, reason: str = "") -> PairJudgement:
    """The judgement of a seat that is held."""
    assert seat.lease_token is not None
    told = JudgementInput(lease_token=seat.lease_token, choice=choice, reason=reason)
    return judge_pair(seat, told, actor=actor)


def choice_for(seat: PairJudgement, side: str) -> Preference:
    """What is said where the answer `side` is found better."""
    return Preference.LEFT if seat.left == side else Preference.RIGHT
