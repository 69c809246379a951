"""A pair, and the ratings, as the pages show them."""

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from reflection_app.comparisons.models import PairJudgement, Preference
from reflection_app.comparisons.rating import Group
from reflection_app.comparisons.results import RatedBy
from reflection_app.web.rendering import render_answer, render_markdown

# What each choice is called where it is told afterwards.
SAID: dict[str, Promise] = {
    Preference.LEFT: gettext_lazy("You preferred the left answer."),
    Preference.RIGHT: gettext_lazy("You preferred the right answer."),
    Preference.TIE: gettext_lazy("You rated both answers as equal."),
    Preference.BOTH_BAD: gettext_lazy("You rated both answers as bad."),
}
RATED_BY: dict[RatedBy, Promise] = {
    RatedBy.MODEL: gettext_lazy("Models"),
    RatedBy.PROMPT: gettext_lazy("Prompt versions"),
}


def pair_context(seat: PairJudgement) -> dict[str, Any]:
    """The answers side by side; `objective` is empty where each has one of its own."""
    left, right = seat.sides
    is_same = left.objective == right.objective
    return {
        "objective": render_markdown(left.objective) if is_same else "",
        "sides": [
            {
                "place": place,
                "objective": "" if is_same else side.objective,
                "rendered": render_answer(side.answer, is_code=False),
            }
            for place, side in (("left", left), ("right", right))
        ],
    }


@dataclass(frozen=True)
class Bar:
    """Where a rating and its interval lie between the lowest and the highest of the group, in hundredths."""

    low: float
    middle: float
    width: float


def bars_of(group: Group) -> list[Bar | None]:
    """A bar for each contestant; None for all where the group has no ratings."""
    if not group.is_rated:
        return [None] * len(group.contestants)
    rated = [(one.low or 0.0, one.rating or 0.0, one.high or 0.0) for one in group.contestants]
    lowest = min(low for low, _middle, _high in rated)
    span = max(high for _low, _middle, high in rated) - lowest or 1.0

    def at(value: float) -> float:
        return round(100 * (value - lowest) / span, 2)

    return [Bar(at(low), at(middle), max(at(high) - at(low), 0.5)) for low, middle, high in rated]
