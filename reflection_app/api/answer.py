"""The base of every answer's form, and the few kinds of value that REST writes its own way."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """A part of an answer. Every field is always there; what does not apply is null."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class PageAnswer(Answer):
    """One page of a list: follow `next` until it is null."""

    next: str | None = Field(description="the address of the next page")
    previous: str | None = Field(description="the address of the page before")


Money = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$", examples=["0.00123400"])]


def money(amount: Decimal) -> str:
    """The amount in USD, never with an exponent, which str() would give to small ones."""
    return f"{amount:.8f}"
