"""Bases for what is read out of models' answers: unknown fields are passed over, lone texts are lists of one."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from reflection_app.loops.verdicts import LONGEST_TEXT

MOST_ITEMS = 50


class Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def as_list(value: Any) -> Any:
    """A lone text where a list was asked for is a list of one; null is none; what is too much is left out."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else value[:MOST_ITEMS] if isinstance(value, list) else value


def as_described(value: Any) -> Any:
    """Many models answer with a sentence where an object was asked for: it is that object's description."""
    items = as_list(value)
    if not isinstance(items, list):
        return items
    return [item if isinstance(item, dict) else {"description": str(item)} for item in items if item]


def _clipped(text: str) -> str:
    return text[:LONGEST_TEXT]


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _flag(value: Any) -> Any:
    text = value.strip().lower() if isinstance(value, str) else ""
    if not isinstance(value, bool) and text not in {"true", "false"}:
        raise ValueError("must be true or false")
    return value if isinstance(value, bool) else text == "true"


# "yes", "on" and 1 say nothing certain where a verdict hangs on them, and true is no number.
Flag = Annotated[bool, BeforeValidator(_flag)]
Number = Annotated[float, BeforeValidator(_no_flag), Field(allow_inf_nan=False)]
Share = Annotated[Number, Field(ge=0, le=1)]
Clipped = Annotated[str, AfterValidator(_clipped)]
Texts = Annotated[tuple[Clipped, ...], BeforeValidator(as_list)]
