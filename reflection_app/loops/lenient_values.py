"""Bases for what is read out of models' answers: unknown fields are passed over, lone texts are lists of one."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from reflection_app.loops.verdicts import LONGEST_TEXT

MOST_ITEMS = 50


class Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def as_list(value: Any) -> Any:
    """A lone text where a list was asked for is a list of one; null is none; what is too much is left out."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else value[:MOST_ITEMS] if isinstance(value, list) else value


def _clipped(text: str) -> str:
    return text[:LONGEST_TEXT]


Clipped = Annotated[str, AfterValidator(_clipped)]
Texts = Annotated[tuple[Clipped, ...], BeforeValidator(as_list)]
