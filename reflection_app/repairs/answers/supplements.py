"""Schemas of the supplements of a completeness check: the record of their tools, and what was left out."""

from collections.abc import Iterable
from decimal import Decimal

from pydantic import Field

from reflection_app.api.reading import Answer, Money, TextOrNull, money
from reflection_app.loops.completeness.checks import CheckState, Completeness, SupplementsRun
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.records import SupplementRecord
from reflection_app.repairs.dropped_words import why_dropped_in_english


class RecordAnswer(SupplementRecord, Answer):
    """Track record of a follow-up step's tools in this project. Follow-up steps are ordered by it."""

    cost_usd: Money | None = Field(  # type: ignore[assignment]
        description="mean cost of such a follow-up step; null if any call had no price"
    )


class SupplementAnswer(Answer):
    operation: str
    reason: str
    suggested_tools: list[str]
    record: RecordAnswer | None = Field(default=None, description="null if its tools have no record")


class DroppedAnswer(Answer):
    """A follow-up step (supplement), or one of its tools, that was left out, with the reason."""

    operation: str
    code: DropCode | None = Field(description="null for old entries without a known code")
    parameters: dict[str, str | int | float] = Field(description="parameters of the code's message")
    why: str = Field(description="English message for the code and its parameters")


class SuppliedAnswer(SupplementAnswer):
    """A follow-up step (supplement) with its result. The result fields are null if it was not executed."""

    attempted: bool | None = None
    succeeded: bool | None = None
    done_already: bool | None = None
    left_out: DropCode | None = Field(default=None, description="why it was not executed after all")
    error: TextOrNull = None
    tokens: int | None = None
    cost_usd: Money | None = Field(
        default=None, description="null if not executed, or if the cost of any call is unknown"
    )
    seconds: float | None = None


class SecondLookAnswer(Answer):
    """Result of the second check, made after all follow-up steps succeeded."""

    state: CheckState = Field(description="complete, incomplete, or unchecked if the second check itself failed")
    analysis: str
    missing_aspects: list[str]
    error: TextOrNull
    tokens: int
    cost_usd: Money


class SpentAnswer(Answer):
    """Total usage of a check, with its follow-up steps and second check."""

    tokens: int
    cost_usd: Money | None = Field(description="null if the cost of any call is unknown")


def dropped_answers(dropped: Iterable[Dropped]) -> list[DroppedAnswer]:
    return [DroppedAnswer.from_row(one, why=why_dropped_in_english(one)) for one in dropped]


def supplied_answers(found: Completeness, done: SupplementsRun | None) -> list[SuppliedAnswer]:
    """Each supplement of a run with how it went."""
    results = done.results if done is not None and done.attempt == found.attempt else ()
    told = [one.model_dump() | {"cost_usd": one.cost_usd if one.cost_known else None} for one in results]
    told += [{} for _ in found.supplements[len(told) :]]
    return [SuppliedAnswer(**one.model_dump() | more) for one, more in zip(found.supplements, told, strict=False)]


def spent_answer(found: Completeness, done: SupplementsRun | None, second_look: Completeness | None) -> SpentAnswer:
    """What the check cost in all."""
    results = done.results if done is not None and done.attempt == found.attempt else ()
    parts = [part for part in (found, second_look, *results) if part is not None]
    is_known = all(one.cost_known for one in parts)
    return SpentAnswer(
        tokens=sum(one.tokens for one in parts),
        cost_usd=money(sum((one.cost_usd for one in parts), Decimal(0))) if is_known else None,
    )
