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
    """The record of the supplement's tools in this project, by which supplements are ordered."""

    cost_usd: Money | None = Field(  # type: ignore[assignment]
        description="mean of such a supplement; null where some call had no price"
    )


class SupplementAnswer(Answer):
    operation: str
    reason: str
    suggested_tools: list[str]
    record: RecordAnswer | None = Field(description="null where nothing is known of its tools")


class DroppedAnswer(Answer):
    """A supplement, or a tool of one, that was left out, and why."""

    operation: str
    code: DropCode | None = Field(description="null of old ones that nobody knows the code of")
    parameters: dict[str, str | int | float] = Field(description="what the code's sentence is filled with")
    why: str = Field(description="the code with its parameters, as an English sentence")


class SuppliedAnswer(SupplementAnswer):
    """A supplement with what became of it; null, where it was not carried out."""

    attempted: bool | None = None
    succeeded: bool | None = None
    done_already: bool | None = None
    left_out: DropCode | None = Field(default=None, description="why it was not begun after all")
    error: TextOrNull = None
    tokens: int | None = None
    cost_usd: Money | None = Field(default=None, description="null, too, where the cost of some call is not known")
    seconds: float | None = None


class SecondLookAnswer(Answer):
    """What a second look found once all supplements had worked."""

    state: CheckState = Field(description="complete, incomplete, or unchecked where the look itself failed")
    analysis: str
    missing_aspects: list[str]
    error: TextOrNull
    tokens: int
    cost_usd: Money


class SpentAnswer(Answer):
    """What a check came to, with its supplements and its second look."""

    tokens: int
    cost_usd: Money | None = Field(description="null where the cost of some call is not known")


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
