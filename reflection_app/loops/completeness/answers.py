"""The answer of a completeness check as a model gives it, read strictly where "complete" could be invented."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, StrictBool, model_validator

from reflection_app.loops.lenient_values import Clipped, Lenient, Texts

MOST_LISTED = 50
ALL_PARTS = {"is_complete", "analysis", "missing_aspects", "supplements"}


def _supplements(value: Any) -> Any:
    """A lone supplement is a list of one, a lone text is its operation; null is none."""
    if value is None:
        return []
    listed = value[:MOST_LISTED] if isinstance(value, list) else [value]
    return [{"operation": one} if isinstance(one, str) else one for one in listed]


def _text(value: Any) -> Any:
    return "" if value is None else value


Said = Annotated[Clipped, BeforeValidator(_text)]


class SupplementAnswer(Lenient):
    operation: Said
    reason: Said = ""
    suggested_tools: Texts = ()


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


ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["is_complete", "analysis", "missing_aspects", "supplements"],
    "properties": {
        "is_complete": {"type": "boolean"},
        "analysis": {"type": "string"},
        "missing_aspects": {"type": "array", "items": {"type": "string"}},
        "supplements": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["operation", "reason", "suggested_tools"],
                "properties": {
                    "operation": {"type": "string"},
                    "reason": {"type": "string"},
                    "suggested_tools": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}
