"""What a completeness check is told, what it finds, and what came of the supplements. Pure values."""

from decimal import Decimal
from enum import StrEnum

from pydantic import Field

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_OPERATION = 500


class CompletenessSettings(Value):
    """Settings as in the seed. `max_supplements` 0 means: check only. The model is that of the role `completeness`."""

    enabled: bool = True
    max_supplements: int = Field(default=3, ge=0, le=20)
    temperature: float = Field(default=0.2, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_retries: int = Field(default=2, ge=0, le=5)


class HistoryStep(Value):
    """One step of what was done so far."""

    operation: Text
    tool: Text = ""
    ok: bool = True
    result: Text = ""


class CheckState(StrEnum):
    """UNCHECKED: the check itself failed, which says nothing about the work."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"


class Supplement(Value):
    operation: Text = Field(min_length=1, max_length=LONGEST_OPERATION)
    reason: Text = ""
    suggested_tools: tuple[Text, ...] = ()


class Dropped(Value):
    """A supplement, or a tool of one, that a guard left out, and why."""

    operation: Text
    why: Text


class Completeness(Value):
    """What a check found, after the guards. `steps_ok` is apart from it: steps that worked may not be all there are."""

    attempt: int = Field(default=1, ge=1)
    state: CheckState
    analysis: Text = ""
    missing_aspects: tuple[Text, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    steps_ok: bool = True
    error: Text = ""
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class SupplementResult(Value):
    """How one supplement went, and what it cost."""

    operation: Text
    tools: tuple[Text, ...] = ()
    attempted: bool
    succeeded: bool
    error: Text = ""
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class SupplementsRun(Value):
    """What became of all supplements of a check, with the run's statistics as they are then."""

    attempt: int = Field(default=1, ge=1)
    results: tuple[SupplementResult, ...] = ()
    used: bool
    attempted: int = 0
    succeeded: int = 0

    @property
    def success_rate(self) -> float:
        return self.succeeded / self.attempted if self.attempted else 0.0
