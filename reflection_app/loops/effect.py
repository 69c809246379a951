"""What every effect is: a frozen value that a loop awaits, and what comes back with its price.

Awaiting an effect hands it to whoever drives the loop (see runs/advance.py) and gives back what was performed, fresh
or from the journal. `key` names the effect within its run and must not depend on anything but the loop's own path.
"""

from collections.abc import Generator
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, TypeAdapter

from reflection_app.loops.values import Value


class Spent(Value):
    """What one effect used up. Where the model has no known price, `cost_usd` is 0 and `cost_known` says so.

    Tokens that the provider did not tell are estimated, and of which kind they were is None where it did not tell.
    `tries` is how often a model was asked over the wire.
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
    """An effect's result and what it cost."""

    value: R
    spent: Spent = Spent()


class EffectFailed(Exception):
    """The effect failed for good; trying it again would not help."""

    def __init__(self, message: str, *, spent: Spent | None = None) -> None:
        super().__init__(message)
        self.spent = spent or Spent()


class EffectTimedOut(EffectFailed):
    """The effect was cut off because the run's own time was up."""


class Effect[R](Value):
    """Base of all effects. `results` reads and writes this effect's result, the R, as JSON for the journal."""

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
