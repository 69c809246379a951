"""Whether a run is checked for completeness: always, by lot, or only as often as it takes to notice a change. Pure.

Of the runs that would be checked, a share is held out by a second lot and not checked: how those end beside the others
is what checks are worth. Runs that the first lot leaves out are no such control: how many they are changes with what
was found, and so with the times, and a comparison with them would compare times.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from reflection_app.loops.values import Value

Chance = Annotated[float, Field(ge=0, le=1)]
Half = Annotated[float, Field(ge=0, le=0.5)]


class When(StrEnum):
    """How often a check is made. NEVER still makes the least share of them, where that is not 0."""

    ALWAYS = "always"
    SAMPLED = "sampled"
    NEVER = "never"


class CheckArm(StrEnum):
    """What the lots made of a run: HELD_OUT would have been checked, NOT_SAMPLED would not."""

    CHECKED = "checked"
    HELD_OUT = "held_out"
    NOT_SAMPLED = "not_sampled"


def share_of(when: When, *, share: float, least_share: float) -> float:
    """The share of runs that is checked but for the hold-out."""
    if when is When.ALWAYS:
        return 1.0
    return max(share, least_share) if when is When.SAMPLED else least_share


class CheckLots(Value):
    """Two numbers from 0 up to but not 1, drawn for a run, and the shares that they were drawn for."""

    share: Chance
    holdout_share: Half
    sampled_by: Chance
    held_by: Chance

    @property
    def arm(self) -> CheckArm:
        if self.sampled_by >= self.share:
            return CheckArm.NOT_SAMPLED
        return CheckArm.HELD_OUT if self.held_by < self.holdout_share else CheckArm.CHECKED
