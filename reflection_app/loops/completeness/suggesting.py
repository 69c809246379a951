"""Model answer of a completeness check, parsed strictly where a false "complete" could slip in."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, JsonValue, StrictBool, model_validator

from reflection_app.loops.answer_reading import Lenient, Said, Texts
from reflection_app.loops.answer_schemas import TEXT, YES_OR_NO, open_object, texts
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_calls import is_too_deep

MOST_LISTED = 50
ALL_PARTS = {"is_complete", "analysis", "missing_aspects", "supplements"}


def _supplements(value: Any) -> Any:
    """Return a list of supplements. A lone object or text becomes a list of one; null becomes an empty list."""
    if value is None:
        return []
    listed = value[:MOST_LISTED] if isinstance(value, list) else [value]
    return [{"operation": one} if isinstance(one, str) else one for one in listed]


def _arguments(value: Any) -> Any:
    """Return the arguments, or {} if `value` is not an object that can be stored."""
    return value if isinstance(value, dict) and not is_too_deep(value) and is_storable(value) else {}


class SupplementAnswer(Lenient):
    """A suggested supplement. `missing` is the aspect it serves.

    `quote` and `repeat_quote` are quotations from the task.
    """

    operation: Said
    reason: Said = ""
    missing: Said = ""
    quote: Said = ""
    repeat_quote: Said = ""
    suggested_tools: Texts = ()
    arguments: Annotated[dict[str, JsonValue], BeforeValidator(_arguments)] = {}  # noqa: RUF012 - pydantic copies it


class CheckAnswer(Lenient):
    """A model's answer on a history. "Complete" requires all fields and an analysis.

    Otherwise a truncated answer could read as complete, because the part that names what is missing was cut off.
    """

    is_complete: StrictBool
    analysis: Said = ""
    missing_aspects: Texts = ()
    supplements: Annotated[tuple[SupplementAnswer, ...], BeforeValidator(_supplements)] = ()

    @model_validator(mode="after")
    def check_that_complete_is_said_in_full(self) -> Self:
        if not self.is_complete:
            return self
        left_out = ALL_PARTS - self.model_fields_set
        if left_out:
            raise ValueError(f"says complete, but leaves out {', '.join(sorted(left_out))}")
        if not self.analysis.strip():
            raise ValueError("says complete, but its analysis does not say why")
        return self


ANSWER_SCHEMA = open_object(
    is_complete=YES_OR_NO,
    analysis=TEXT,
    missing_aspects=texts(),
    supplements={
        "type": "array",
        "items": open_object(
            operation=TEXT,
            reason=TEXT,
            missing=TEXT,
            quote=TEXT,
            repeat_quote=TEXT,
            suggested_tools=texts(),
            arguments={"type": "object"},
        ),
    },
)
