"""Schemas of the supplements of a completeness check: the record of their tools, and what was left out."""

from decimal import Decimal
from typing import Any

from pydantic import Field

from reflection_app.api.reading import Answer, Money, money
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    Supplement,
    SupplementResult,
    SupplementsRun,
)
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.repairs.dropped_words import why_dropped_in_english


class RecordAnswer(Answer):
    """The record of the supplement's tools in this project, by which supplements are ordered."""

    runs: int = Field(description="runs that carried out a supplement with the same tool")
    completed: int = Field(description="how many of them were complete after it")
    tokens: float = Field(description="mean of such a supplement")
    cost_usd: Money | None = Field(description="mean of such a supplement; null where some call had no price")


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

    attempted: bool | None
    succeeded: bool | None
    done_already: bool | None
    left_out: DropCode | None = Field(description="why it was not begun after all")
    error: str | None
    tokens: int | None
    cost_usd: Money | None = Field(description="null, too, where the cost of some call is not known")
    seconds: float | None


class SecondLookAnswer(Answer):
    """What a second look found once all supplements had worked."""

    state: CheckState = Field(description="complete, incomplete, or unchecked where the look itself failed")
    analysis: str
    missing_aspects: list[str]
    error: str | None
    tokens: int
    cost_usd: Money


class SpentAnswer(Answer):
    """What a check came to, with its supplements and its second look."""

    tokens: int
    cost_usd: Money | None = Field(description="null where the cost of some call is not known")


def supplement_answers(found: Completeness) -> list[SupplementAnswer]:
    return [SupplementAnswer.from_row(one, record=_record(one)) for one in found.supplements]


def _record(one: Supplement) -> RecordAnswer | None:
    return RecordAnswer.from_row(one.record) if one.record else None


def dropped_answers(dropped: tuple[Dropped, ...]) -> list[DroppedAnswer]:
    return [DroppedAnswer.from_row(one, why=why_dropped_in_english(one)) for one in dropped]


NOTHING_DONE: dict[str, Any] = dict.fromkeys(
    ("attempted", "succeeded", "done_already", "left_out", "error", "tokens", "cost_usd", "seconds")
)


def supplied_answers(found: Completeness, done: SupplementsRun | None) -> list[SuppliedAnswer]:
    """Each supplement of a run with how it went."""
    results = dict(enumerate(done.results)) if done is not None and done.attempt == found.attempt else {}
    answers = []
    for place, one in enumerate(found.supplements):
        result, told = results.get(place), NOTHING_DONE
        if result is not None:
            told = {name: getattr(result, name) for name in NOTHING_DONE} | {
                "error": result.error or None,
                "cost_usd": result.cost_usd if result.cost_known else None,
            }
        answers.append(SuppliedAnswer.from_row(one, record=_record(one), **told))
    return answers


def second_look_answer(second_look: Completeness | None) -> SecondLookAnswer | None:
    if second_look is None:
        return None
    return SecondLookAnswer.from_row(second_look, error=second_look.error or None)


def spent_answer(found: Completeness, done: SupplementsRun | None, second_look: Completeness | None) -> SpentAnswer:
    """What the check cost in all."""
    results = done.results if done is not None and done.attempt == found.attempt else ()
    looks = [found, *([second_look] if second_look else [])]
    parts: list[Completeness | SupplementResult] = [*looks, *results]
    return SpentAnswer(
        tokens=sum(one.tokens for one in parts),
        cost_usd=money(sum((one.cost_usd for one in parts), Decimal(0)))
        if all(one.cost_known for one in parts)
        else None,
    )
