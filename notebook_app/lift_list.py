"""What each lesson of a project does to first attempts, from the outcomes as they came in.

Counted are runs whose draw could have gone either way: where nothing is ever withheld, those that were given a lesson
have nobody beside them to be compared with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.db import models
from django.db.models import Case, CharField, Max, Min, QuerySet, StringAgg, Value, When
from django.utils.translation import gettext_lazy as _

from notebook_app.entry_filter import beyond
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.lift import (
    LEAST_DIFFERENCE,
    Arm,
    Interval,
    Judged,
    Needed,
    Verdict,
    difference,
    discoveries,
    judged,
    looks_at,
    needed,
)
from notebook_app.models import Entry, Exposure

USUAL_SHARE = 0.1
# After so many looks the smaller arm had 40 outcomes.
LOOKS_BEFORE_NO_HELP = 3
LETTERS = Case(
    When(is_withheld=False, succeeded=True, then=Value("G")),
    When(is_withheld=False, then=Value("g")),
    When(succeeded=True, then=Value("W")),
    default=Value("w"),
    output_field=CharField(),
)


class Claim(models.TextChoices):
    """Conclusion about a lesson, considering all lessons of its project."""

    HELPS = "helps", _("Helps")
    HARMS = "harms", _("Harms")
    # A look says so, but of so many lessons one or the other is expected to look like this by chance.
    PERHAPS_HELPS = "perhaps_helps", _("May help")
    PERHAPS_HARMS = "perhaps_harms", _("May harm")
    # So many outcomes that it would have shown if it helped much.
    NO_HELP = "no_help", _("Little benefit")
    OPEN = "open", _("Not significant yet")


@dataclass(frozen=True)
class Outcomes:
    """A lesson's outcomes in their order (see looks.looks_at), and between which shares was drawn."""

    letters: str = ""
    lowest_share: float = USUAL_SHARE
    highest_share: float = USUAL_SHARE


@dataclass(frozen=True)
class Measured:
    """A lesson's lift by itself. The interval describes; that it helps or harms is said by the looks alone."""

    outcomes: Outcomes

    @cached_property
    def given(self) -> Arm:
        won = self.outcomes.letters.count("G")
        return Arm(won + self.outcomes.letters.count("g"), won)

    @cached_property
    def withheld(self) -> Arm:
        won = self.outcomes.letters.count("W")
        return Arm(won + self.outcomes.letters.count("w"), won)

    @property
    def total(self) -> int:
        return len(self.outcomes.letters)

    @cached_property
    def given_rate(self) -> Interval | None:
        return self.given.interval

    @cached_property
    def withheld_rate(self) -> Interval | None:
        return self.withheld.interval

    @cached_property
    def difference(self) -> Interval | None:
        """Given minus withheld; None if an arm is empty."""
        given, withheld = self.given_rate, self.withheld_rate
        return difference(given, withheld) if given and withheld else None

    @cached_property
    def judged(self) -> Judged:
        return judged(looks_at(self.outcomes.letters))

    @cached_property
    def needed(self) -> Needed:
        passed = len(self.judged.looks)
        return needed(self.given, self.withheld, share=self.outcomes.highest_share, looks_passed=passed)

    @property
    def has_mixed_shares(self) -> bool:
        """Whether the share was changed meanwhile: then times are compared as well, and not lessons alone."""
        return self.outcomes.lowest_share != self.outcomes.highest_share

    @property
    def alone(self) -> Claim:
        """What may be said of it where no other lesson is asked about."""
        if self.judged.verdict is not Verdict.OPEN:
            return Claim(self.judged.verdict.value)
        no_room = self.difference is not None and self.difference.high < LEAST_DIFFERENCE
        return Claim.NO_HELP if len(self.judged.looks) >= LOOKS_BEFORE_NO_HELP and no_room else Claim.OPEN


@dataclass(frozen=True)
class LessonLift:
    """One lesson of the list."""

    entry_id: UUID
    name: str
    kind: EntryKind
    state: EntryState
    version: int
    recalled: int
    measured: Measured
    claim: Claim


def lift_of_all(
    project_id: UUID, *, share: float = USUAL_SHARE, state: EntryState = EntryState.APPROVED
) -> list[LessonLift]:
    """Every entry in this state, by name, with what may be said of it among them; `share` is that of draws to come."""
    fields = ("pk", "name", "kind", "state", "version", "recalled")
    entries = Entry.objects.filter(project_id=project_id, state=state).order_by("name", "pk").values_list(*fields)
    found = _outcomes(Exposure.objects.filter(project_id=project_id))
    none = Outcomes(lowest_share=share, highest_share=share)
    rows = [(entry, Measured(found.get(entry[0], none))) for entry in entries]
    claims = claims_among([measured for _, measured in rows])
    return [
        LessonLift(entry_id, name, EntryKind(kind), EntryState(in_state), version, recalled, measured, claim)
        for ((entry_id, name, kind, in_state, version, recalled), measured), claim in zip(rows, claims, strict=True)
    ]


def lift_of(project_id: UUID, entry_id: UUID, *, share: float = USUAL_SHARE) -> Measured:
    """One entry's lift by itself; without outcomes where there are none."""
    rows = Exposure.objects.filter(project_id=project_id, entry_id=entry_id)
    none = Outcomes(lowest_share=share, highest_share=share)
    return Measured(_outcomes(rows).get(entry_id, none))


def claims_among(lessons: Sequence[Measured]) -> list[Claim]:
    """What may be said of each of them where all are looked at together: few of the claims are false."""
    looked_at = [number for number, lesson in enumerate(lessons) if lesson.judged.looks]
    holds = discoveries([lessons[number].judged.p_value for number in looked_at])
    held = {number for number, one in zip(looked_at, holds, strict=True) if one}
    perhaps = {Claim.HELPS: Claim.PERHAPS_HELPS, Claim.HARMS: Claim.PERHAPS_HARMS}
    return [
        lesson.alone if number in held else perhaps.get(lesson.alone, lesson.alone)
        for number, lesson in enumerate(lessons)
    ]


def _outcomes(rows: QuerySet[Exposure]) -> Mapping[UUID, Outcomes]:
    counted = rows.filter(is_counted=True, succeeded__isnull=False, share__gt=0, share__lt=1)
    found = counted.values("entry_id").annotate(
        letters=StringAgg(LETTERS, delimiter=Value(""), order_by=("settled_at", "id")),
        lowest=Min("share"),
        highest=Max("share"),
    )
    names = ("entry_id", "letters", "lowest", "highest")
    return {row[0]: Outcomes(*row[1:]) for row in found.order_by().values_list(*names)}


# The draws of one entry, newest first: who was given it, from whom it was withheld, and how it went.


@dataclass(frozen=True)
class ExposurePage:
    """The exposures of one page; `last` is None where no more come after it."""

    exposures: list[Exposure]
    last: UUID | None


NEWEST_FIRST = ("-created_at", "-id")


def exposures_of(project_id: UUID, entry_id: UUID, *, limit: int, after: UUID | None = None) -> ExposurePage:
    """The page that begins after the exposure `after`; the first where the entry has none of that id."""
    of_entry = Exposure.objects.filter(project_id=project_id, entry_id=entry_id)
    rows = of_entry.order_by(*NEWEST_FIRST)
    begun = of_entry.filter(pk=after).first() if after else None
    if begun is not None:
        rows = rows.filter(beyond(begun, NEWEST_FIRST))
    found = list(rows[: limit + 1])
    return ExposurePage(found[:limit], last=found[limit - 1].pk if len(found) > limit else None)
