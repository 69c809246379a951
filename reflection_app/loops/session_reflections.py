"""Reflections on a session while it happens: what the reflector answers, and what is kept of it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from reflection_app.loops.answer_reading import Flag, Lenient, Share, as_list
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence

LONGEST = 2_000
MOST = 10


class Finding(StrEnum):
    """What kind of thing went wrong in a session."""

    REASONING_ERROR = "reasoning_error"
    TOOL_MISUSE = "tool_misuse"
    MISSED_OPTIMIZATION = "missed_optimization"
    INCOMPLETE_ANSWER = "incomplete_answer"
    HALLUCINATION = "hallucination"
    CONTEXT_MISMANAGEMENT = "context_mismanagement"
    OTHER = "other"


class SessionIssue(Value):
    category: Finding = Finding.OTHER
    description: Text
    suggestion: Text = ""


class SessionReflection(Value):
    """What the reflector says of the session so far."""

    on_track: bool
    observations: tuple[Text, ...] = ()
    issues: tuple[SessionIssue, ...] = ()
    suggestions: tuple[Text, ...] = ()
    confidence: Confidence | None = None


class Trigger(StrEnum):
    """Why the reflector was asked."""

    EVERY_TURNS = "every_turns"
    TOOL_FAILURE = "tool_failure"
    END = "end"


class KeptReflection(Value):
    """One reflection, made when the session had `turn` turns. Where the reflector failed, `problem` says how."""

    number: int = Field(ge=1)
    turn: int = Field(ge=1)
    trigger: Trigger
    reflection: SessionReflection | None = None
    problem: Text = ""


def known_finding(value: Any) -> Finding:
    """Reflectors invent categories; an unknown one is no reason to lose the finding."""
    try:
        return Finding(str(value).strip().lower().replace(" ", "_"))
    except ValueError:
        return Finding.OTHER


def _clipped(text: str) -> str:
    return text[:LONGEST]


def _few(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return items[:MOST]


Short = Annotated[str, AfterValidator(_clipped)]
Shorts = Annotated[tuple[Short, ...], BeforeValidator(as_list), AfterValidator(_few)]


class ReflectorIssue(Lenient):
    category: Annotated[Finding, BeforeValidator(known_finding)] = Finding.OTHER
    description: Short = Field(min_length=1)
    suggestion: Short = ""


class ReflectorAnswer(Lenient):
    """What the reflector says, read leniently."""

    on_track: Flag
    observations: Shorts = ()
    issues: Annotated[tuple[ReflectorIssue, ...], BeforeValidator(as_list), AfterValidator(_few)] = ()
    suggestions: Shorts = ()
    confidence: Share | None = None

    def reflection(self) -> SessionReflection:
        return SessionReflection.model_validate(self.model_dump())


_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": 5}

# Written out for providers that constrain the answer; stricter than what is accepted, on purpose.
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["on_track", "observations", "issues", "suggestions", "confidence"],
    "properties": {
        "on_track": {"type": "boolean"},
        "observations": _TEXTS,
        "issues": {
            "type": "array",
            "maxItems": 8,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["category", "description", "suggestion"],
                "properties": {
                    "category": {"type": "string", "enum": [finding.value for finding in Finding]},
                    "description": {"type": "string"},
                    "suggestion": {"type": "string"},
                },
            },
        },
        "suggestions": _TEXTS,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
