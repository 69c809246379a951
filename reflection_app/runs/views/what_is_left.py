"""What a run has left of its limits, for whoever decides whether it should make another attempt."""

from dataclasses import dataclass
from decimal import Decimal

from reflection_app.runs.models.run import Run


@dataclass(frozen=True)
class Left:
    attempts: int
    tokens: int
    seconds: float
    money: Decimal | None
    enough: bool
    """Whether another attempt fits, if it takes as much as those so far did on average."""


def what_is_left(run: Run) -> Left:
    limits, made = run.get_spec().limits, max(1, run.attempts_made)
    tokens = max(0, limits.token_budget - run.total_tokens)
    seconds = max(0.0, limits.time_budget_s - run.active_s)
    money = None if limits.cost_budget_usd is None else max(Decimal(0), limits.cost_budget_usd - run.cost_usd)
    attempts = max(0, limits.max_iterations - run.attempts_made)
    enough = (
        attempts > 0
        and tokens > run.total_tokens / made
        and seconds > run.active_s / made
        and (money is None or money > run.cost_usd / made)
    )
    return Left(attempts=attempts, tokens=tokens, seconds=seconds, money=money, enough=enough)
