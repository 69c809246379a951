"""What came of the judgements: ratings by model and by prompt version, and how far the judgements can be believed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from reflection_app.comparisons.models import JudgementState, PairJudgement, Preference, Side
from reflection_app.comparisons.rating import Group, Said, Winner, rate
from reflection_app.metrics.statistics import Interval, krippendorffs_alpha, percent_agreement, wilson

# Of more than so many judgements, the newest.
MOST_COUNTED = 50_000


class RatedBy(StrEnum):
    """Type of contestant. Judgments of two answers by the same contestant are excluded as uninformative."""

    MODEL = "model"
    PROMPT = "prompt"


class Judged(NamedTuple):
    """A judgement with the makers of both answers."""

    pair_id: UUID
    person: str
    left: str
    choice: str
    model_a: str
    prompt_a: str
    model_b: str
    prompt_b: str

    @property
    def winner(self) -> Winner:
        """Of A and B, in this order."""
        if self.choice not in (Preference.LEFT, Preference.RIGHT):
            return Winner.NEITHER
        return Winner.FIRST if (self.choice == Preference.LEFT) == (self.left == Side.A) else Winner.SECOND

    def contestants(self, by: RatedBy) -> tuple[str, str]:
        return (self.model_a, self.model_b) if by is RatedBy.MODEL else (self.prompt_a, self.prompt_b)

    @property
    def differs_in_both(self) -> bool:
        return self.model_a != self.model_b and self.prompt_a != self.prompt_b


@dataclass(frozen=True)
class Agreement:
    """Of pairs that two people or more judged: the share of equal judgements, and Krippendorff's α beyond chance."""

    pairs: int
    share: float | None
    alpha: float | None


@dataclass(frozen=True)
class Results:
    """`rated_on` are the judgements of two different contestants; `mixed` of them differ in the other respect too."""

    by: RatedBy
    groups: list[Group]
    judgements: int
    rated_on: int
    mixed: int
    ties: int
    both_bad: int
    left: Interval | None
    left_wins: int
    decided: int
    agreement: Agreement
    is_capped: bool

    @property
    def has_bias(self) -> bool:
        """Whether people chose one side more often than chance would."""
        return self.left is not None and not self.left.low <= 0.5 <= self.left.high


def results_of(project_id: UUID, *, by: RatedBy, set_id: UUID | None = None) -> Results:
    """The ratings of the project's makers, or of those of one set, by what people said; what keys said is left out."""
    rows = PairJudgement.objects.filter(project=project_id, state=JudgementState.JUDGED, is_by_key=False)
    if set_id is not None:
        rows = rows.filter(pair__set=set_id)
    makers = ("model_a", "prompt_a", "model_b", "prompt_b")
    columns = ("pair_id", "by_label", "left", "choice", *(f"pair__{name}" for name in makers))
    judged = [Judged(*row) for row in rows.order_by("-judged_at", "-id").values_list(*columns)[:MOST_COUNTED]]
    telling = [one for one in judged if all(ends := one.contestants(by)) and ends[0] != ends[1]]
    decided = [one for one in judged if one.winner is not Winner.NEITHER]
    left_wins = sum(one.choice == Preference.LEFT for one in decided)
    return Results(
        by=by,
        groups=rate([Said(*one.contestants(by), one.winner, one.pair_id) for one in telling]),
        judgements=len(judged),
        rated_on=len(telling),
        mixed=sum(one.differs_in_both for one in telling),
        ties=sum(one.choice == Preference.TIE for one in judged),
        both_bad=sum(one.choice == Preference.BOTH_BAD for one in judged),
        left=wilson(left_wins, len(decided)),
        left_wins=left_wins,
        decided=len(decided),
        agreement=agreement_of(judged),
        is_capped=len(judged) == MOST_COUNTED,
    )


def agreement_of(judged: Sequence[Judged]) -> Agreement:
    """Two bad answers are as good as each other: that is the same judgement as a tie."""
    units: dict[UUID, dict[str, str]] = defaultdict(dict)
    for one in judged:
        units[one.pair_id][one.person] = one.winner.value
    several = [unit for unit in units.values() if len(unit) > 1]
    return Agreement(len(several), percent_agreement(several), krippendorffs_alpha(several))
