"""What came of the judgements: ratings by model and by prompt version, and how far the judgements can be believed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from reflection_app.comparisons.models import JudgementState, PairJudgement, Preference, Side
from reflection_app.comparisons.rating import Group, Said, Winner, rate
from reflection_app.metrics.statistics import Interval, krippendorffs_alpha, percent_agreement, wilson

# Of more than so many judgements, the newest.
MOST_COUNTED = 50_000
# Enough to see what is worth asking, and read whenever somebody goes on to the next pair.
MOST_WEIGHED = 5_000
# What stands between a model and its prompt version.
BETWEEN = " · "


class RatedBy(StrEnum):
    """Who the contestants are. Judgements of two answers by the same one tell nothing of them and are left out."""

    MODEL = "model"
    PROMPT = "prompt"
    MODEL_AND_PROMPT = "model_and_prompt"


class Judges(StrEnum):
    """Whose judgements count."""

    PEOPLE = "people"
    KEYS = "keys"
    ALL = "all"


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
        if by is RatedBy.MODEL:
            return self.model_a, self.model_b
        if by is RatedBy.PROMPT:
            return self.prompt_a, self.prompt_b
        return maker_words(self.model_a, self.prompt_a), maker_words(self.model_b, self.prompt_b)

    @property
    def differs_in_both(self) -> bool:
        return self.model_a != self.model_b and self.prompt_a != self.prompt_b


def maker_words(model: str, prompt: str) -> str:
    """A model with a version of its prompts, as one contestant."""
    return f"{model}{BETWEEN}{prompt}" if prompt else model


@dataclass(frozen=True)
class Agreement:
    """Of pairs that two people or more judged: the share of equal judgements, and Krippendorff's α beyond chance."""

    pairs: int
    share: float | None
    alpha: float | None


@dataclass(frozen=True)
class Results:
    """`left_out` compare nothing in this respect; of the others, `mixed` differ in the other respect as well."""

    by: RatedBy
    groups: list[Group]
    judgements: int
    rated_on: int
    left_out: int
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


def results_of(project_id: UUID, *, by: RatedBy, judges: Judges = Judges.PEOPLE, set_id: UUID | None = None) -> Results:
    """The ratings of the project's makers, or of those of one set."""
    judged = judged_rows(project_id, judges=judges, set_id=set_id)
    telling = [one for one in judged if _tells(one, by)]
    decided = [one for one in judged if one.winner is not Winner.NEITHER]
    left_wins = sum(one.choice == Preference.LEFT for one in decided)
    return Results(
        by=by,
        groups=rate(_said(telling, by)),
        judgements=len(judged),
        rated_on=len(telling),
        left_out=len(judged) - len(telling),
        mixed=sum(one.differs_in_both for one in telling) if by is not RatedBy.MODEL_AND_PROMPT else 0,
        ties=sum(one.choice == Preference.TIE for one in judged),
        both_bad=sum(one.choice == Preference.BOTH_BAD for one in judged),
        left=wilson(left_wins, len(decided)),
        left_wins=left_wins,
        decided=len(decided),
        agreement=agreement_of(judged),
        is_capped=len(judged) == MOST_COUNTED,
    )


def _tells(one: Judged, by: RatedBy) -> bool:
    first, second = one.contestants(by)
    return bool(first and second) and first != second


def _said(judged: Iterable[Judged], by: RatedBy) -> list[Said]:
    return [Said(*one.contestants(by), one.winner, one.pair_id) for one in judged]


def said_lately(project_id: UUID, *, set_id: UUID | None) -> list[Said]:
    """What was said of each two makers, by whomever, for deciding what to ask next."""
    judged = judged_rows(project_id, judges=Judges.ALL, set_id=set_id, most=MOST_WEIGHED)
    return _said((one for one in judged if _tells(one, RatedBy.MODEL_AND_PROMPT)), RatedBy.MODEL_AND_PROMPT)


def judged_rows(
    project_id: UUID, *, judges: Judges, set_id: UUID | None = None, most: int = MOST_COUNTED
) -> list[Judged]:
    """The judgements in force, newest first."""
    rows = PairJudgement.objects.filter(project=project_id, state=JudgementState.JUDGED)
    if judges is not Judges.ALL:
        rows = rows.filter(is_by_key=judges is Judges.KEYS)
    if set_id is not None:
        rows = rows.filter(pair__set=set_id)
    makers = ("model_a", "prompt_a", "model_b", "prompt_b")
    columns = ("pair_id", "by_label", "left", "choice", *(f"pair__{name}" for name in makers))
    found = rows.order_by("-judged_at", "-id").values_list(*columns)[:most]
    return [Judged(*row) for row in found]


def agreement_of(judged: Sequence[Judged]) -> Agreement:
    """Two bad answers are as good as each other: that is the same judgement as a tie."""
    units: dict[UUID, dict[str, str]] = defaultdict(dict)
    for one in judged:
        units[one.pair_id][one.person] = one.winner.value
    several = [unit for unit in units.values() if len(unit) > 1]
    return Agreement(len(several), percent_agreement(several), krippendorffs_alpha(several))
