"""Base class of effects: frozen values that a loop awaits, and the results with their cost.

Awaiting an effect passes it to the driver of the loop (see runs/advance.py). The driver returns the result, fresh or
from the journal. `key` identifies the effect within its run and must depend only on the loop's own path.
"""

from collections.abc import Generator
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, TypeAdapter

from reflection_app.loops.values import Value


class Spent(Value):
    """Usage of one effect. If the model's price is unknown, `cost_usd` is 0 and `cost_known` is False.

    If the provider reports no token counts, they are estimated (`is_estimated`). Cached and reasoning tokens are None
    if not reported. `tries` is the number of requests sent to the model.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    duration_s: float = 0.0
    is_estimated: bool = False
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    tries: int = 1

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Performed[R](Value):
    """An effect's result and its usage."""

    value: R
    spent: Spent = Spent()


class EffectFailed(Exception):
    """The effect failed for good; retrying would not help."""

    def __init__(self, message: str, *, spent: Spent | None = None) -> None:
        super().__init__(message)
        self.spent = spent or Spent()


class EffectTimedOut(EffectFailed):
    """The effect was cut off because the run's time limit was reached."""


class Effect[R](Value):
    """Base class of all effects. `results` serializes this effect's result (R) as JSON for the journal."""

    kind: ClassVar[str]
    results: ClassVar[TypeAdapter[Any]]

    key: str = Field(max_length=200)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for base in cls.__bases__:
            if issubclass(base, Effect) and (of := base.__pydantic_generic_metadata__["args"]):
                cls.results = TypeAdapter(of[0])

    def __await__(self) -> Generator["Effect[R]", Performed[R], Performed[R]]:
        return (yield self)
