"""A pair, and the ratings, as the pages show them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.comparisons.models import PairJudgement, Preference, Side
from reflection_app.comparisons.rating import Group, Rated, WhyUnrated
from reflection_app.comparisons.results import Judges, RatedBy, Results
from reflection_app.web.rendering import LONGEST_COMPARED, marked, render_answer, render_markdown

# What each choice is called where it is made, and where it is told afterwards.
SAID: dict[str, Promise] = {
    Preference.LEFT: gettext_lazy("You found the left answer better."),
    Preference.RIGHT: gettext_lazy("You found the right answer better."),
    Preference.TIE: gettext_lazy("You found both answers as good as each other."),
    Preference.BOTH_BAD: gettext_lazy("You found both answers bad."),
}
RATED_BY: dict[RatedBy, Promise] = {
    RatedBy.MODEL: gettext_lazy("Models"),
    RatedBy.PROMPT: gettext_lazy("Prompt versions"),
    RatedBy.MODEL_AND_PROMPT: gettext_lazy("Models with their prompts"),
}
JUDGES: dict[Judges, Promise] = {
    Judges.PEOPLE: gettext_lazy("People"),
    Judges.KEYS: gettext_lazy("Keys"),
    Judges.ALL: gettext_lazy("People and keys"),
}


@dataclass(frozen=True)
class AnswerShown:
    """One of the two answers, with nothing about where it comes from."""

    place: str
    content: str
    objective: str
    marks: SafeString | None = None

    @cached_property
    def rendered(self) -> SafeString:
        return render_answer(self.content, is_code=False)


@dataclass(frozen=True)
class PairShown:
    """The two answers as they stand side by side. `objective` is empty where each has one of its own."""

    objective: SafeString
    left: AnswerShown
    right: AnswerShown
    is_cut: bool = False

    @property
    def sides(self) -> tuple[AnswerShown, AnswerShown]:
        return self.left, self.right


def pair_shown(seat: PairJudgement, *, differences: bool) -> PairShown:
    """The pair as chance has laid it out for this person; with `differences`, what only one of the texts has marked."""
    pair = seat.pair
    answers, objectives = [pair.answer_a, pair.answer_b], [pair.objective, pair.objective_b or pair.objective]
    if seat.left == Side.B:
        answers.reverse()
        objectives.reverse()
    is_same = objectives[0] == objectives[1]
    marks = marked(*answers) if differences else (None, None)
    left, right = (
        AnswerShown(place, content, "" if is_same else asked, marks=marks_of)
        for place, content, asked, marks_of in zip(("left", "right"), answers, objectives, marks, strict=True)
    )
    return PairShown(
        objective=render_markdown(objectives[0]) if is_same else SafeString(""),
        left=left,
        right=right,
        is_cut=differences and max(map(len, answers)) > LONGEST_COMPARED,
    )


# Ratings.


@dataclass(frozen=True)
class Bar:
    """Where a rating and its interval lie between the lowest and the highest of the group, in hundredths."""

    low: float
    middle: float
    high: float

    @property
    def width(self) -> float:
        return max(self.high - self.low, 0.5)


@dataclass(frozen=True)
class RatedLine:
    one: Rated
    rank: int
    bar: Bar | None


@dataclass(frozen=True)
class GroupShown:
    lines: list[RatedLine]
    is_rated: bool
    why: str


def groups_shown(results: Results) -> Iterator[GroupShown]:
    for group in results.groups:
        yield GroupShown(list(_lines(group)), group.is_rated, "" if group.is_rated else _why(group))


def _lines(group: Group) -> Iterator[RatedLine]:
    lows = [one.low for one in group.contestants if one.low is not None]
    highs = [one.high for one in group.contestants if one.high is not None]
    lowest, span = min(lows, default=0.0), max(highs, default=0.0) - min(lows, default=0.0)

    def at(value: float) -> float:
        return round(100 * (value - lowest) / span, 2) if span else 50.0

    for rank, one in enumerate(group.contestants, start=1):
        bar = None
        if one.rating is not None and one.low is not None and one.high is not None:
            bar = Bar(at(one.low), at(one.rating), at(one.high))
        yield RatedLine(one, rank, bar)


def _why(group: Group) -> str:
    """Why a group has no ratings, and what would give it some."""
    names = ", ".join(group.ahead)
    match group.why_unrated:
        case WhyUnrated.ONLY_TIES:
            return _("No ratings yet: nothing was preferred here so far, every judgement is a tie.")
        case WhyUnrated.SEPARATED if names:
            told = _(
                "No ratings yet: %(names)s never lost to, nor drew with, the others, so any distance between them "
                "would fit. More judgements may settle it."
            )
            return told % {"names": names}
        case _other:
            return _(
                "No ratings yet: beside the ties only one side was ever preferred, so any distance would fit. "
                "More judgements may settle it."
            )
