"""Supplements of a completeness check as REST tells them: what each will cost and is worth, and what was left out."""

from decimal import Decimal
from typing import Any

from pydantic import Field

from reflection_app.api.reading import Answer, Money, money
from reflection_app.loops.completeness.checks import CheckState, Completeness, SupplementResult, SupplementsRun
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.estimates import Basis, Estimate, Spread
from reflection_app.repairs.dropped_words import why_dropped_in_english


class SpreadAnswer(Answer):
    """The median of what there was, and the quartiles around it."""

    low: float
    middle: float
    high: float


class MoneySpreadAnswer(Answer):
    """The same in dollars."""

    low: Money
    middle: Money
    high: Money


class EstimateAnswer(Answer):
    """What a supplement will cost and is worth, by the project's history."""

    tokens: SpreadAnswer | None = Field(description="null where nothing is known of it, as for all three")
    cost_usd: MoneySpreadAnswer | None = Field(description="null, too, where the price of the models is not known")
    seconds: SpreadAnswer | None
    cost_basis: Basis = Field(description="what the cost rests on, from the nearest to the farthest")
    cost_count: int = Field(description="how many pieces of work it rests on")
    by_tokens: bool = Field(description="the history has no price: the tokens at the price of this run so far")
    worth: float = Field(description="the share of runs that such a supplement turns complete; a half of no history")
    worth_low: float = Field(description="with the next, Wilson's 95 % interval of the share that was seen")
    worth_high: float
    worth_basis: Basis
    worth_runs: int = Field(description="how many runs the worth rests on")
    worth_completed: int = Field(description="how many of them were complete after it")
    cost_per_completed_usd: Money | None = Field(description="the middle of its cost for each run that it completes")


class SupplementAnswer(Answer):
    operation: str
    reason: str
    suggested_tools: list[str]
    estimate: EstimateAnswer | None = Field(description="null in checks from before there were estimates")


class DroppedAnswer(Answer):
    """A supplement, or a tool of one, that was left out, and why."""

    operation: str
    code: DropCode | None = Field(description="null of old ones that nobody knows the code of")
    parameters: dict[str, str | int | float] = Field(description="what the code's sentence is filled with")
    why: str = Field(description="the code with its parameters, as an English sentence")
    estimate: EstimateAnswer | None = Field(description="null where it was left out for what it is")


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
    estimated_tokens: float | None = Field(description="what its supplements were taken to cost before")


def estimate_answer(estimate: Estimate | None) -> EstimateAnswer | None:
    if estimate is None:
        return None
    return EstimateAnswer.from_row(estimate)


def supplement_answers(found: Completeness) -> list[SupplementAnswer]:
    return [SupplementAnswer.from_row(one, estimate=estimate_answer(one.estimate)) for one in found.supplements]


def dropped_answers(dropped: tuple[Dropped, ...]) -> list[DroppedAnswer]:
    return [
        DroppedAnswer.from_row(one, why=why_dropped_in_english(one), estimate=estimate_answer(one.estimate))
        for one in dropped
    ]


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
        answers.append(SuppliedAnswer.from_row(one, estimate=estimate_answer(one.estimate), **told))
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
        estimated_tokens=estimated_tokens(found),
    )


def estimated_tokens(found: Completeness) -> float | None:
    """What its supplements were taken to cost together; None where nothing was known of one of them."""
    known: list[Spread[float] | None] = [one.estimate.tokens if one.estimate else None for one in found.supplements]
    told = [one.middle for one in known if one is not None]
    return sum(told) if told and len(told) == len(known) else None
