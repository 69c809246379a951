"""The answer of a completeness check as a model gives it, read strictly where "complete" could be invented."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, JsonValue, StrictBool, model_validator

from reflection_app.loops.answer_reading import Lenient, Said, Texts
from reflection_app.loops.answer_schemas import TEXT, YES_OR_NO, open_object, texts
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_calls import is_too_deep

MOST_LISTED = 50
ALL_PARTS = {"is_complete", "analysis", "missing_aspects", "supplements"}


def _supplements(value: Any) -> Any:
    """A lone supplement is a list of one, a lone text is its operation; null is none."""
    if value is None:
        return []
    listed = value[:MOST_LISTED] if isinstance(value, list) else [value]
    return [{"operation": one} if isinstance(one, str) else one for one in listed]


def _arguments(value: Any) -> Any:
    """What is no object that can be kept tells nothing of the call."""
    return value if isinstance(value, dict) and not is_too_deep(value) and is_storable(value) else {}


class SupplementAnswer(Lenient):
    """`missing` is the aspect that it serves; `quote` and `repeat_quote` are words of the task."""

    operation: Said
    reason: Said = ""
    missing: Said = ""
    quote: Said = ""
    repeat_quote: Said = ""
    suggested_tools: Texts = ()
    arguments: Annotated[dict[str, JsonValue], BeforeValidator(_arguments)] = {}  # noqa: RUF012 - pydantic copies it


class CheckAnswer(Lenient):
    """What a model says of a history. "Complete" counts only in an answer that is whole and says why.

    An answer that was cut off in the middle reads as complete otherwise: what was missing stood in its lost end.
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
