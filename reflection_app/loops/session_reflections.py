"""Reflections on a running session: the reflector's answer and the stored record."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from reflection_app.loops.answer_reading import Flag, Lenient, Share, as_list, read_as
from reflection_app.loops.answer_schemas import SHARE, TEXT, YES_OR_NO, closed_object, list_of, one_of, texts
from reflection_app.loops.storable import Text
from reflection_app.loops.texts import at_most
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence

LONGEST = 2_000
MOST = 10


class Finding(StrEnum):
    """Type of problem in a session."""

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
    """The reflector's assessment of the session so far."""

    on_track: bool
    observations: tuple[Text, ...] = ()
    issues: tuple[SessionIssue, ...] = ()
    suggestions: tuple[Text, ...] = ()
    confidence: Confidence | None = None


class ReflectorTrigger(StrEnum):
    """Reason for calling the reflector."""

    EVERY_TURNS = "every_turns"
    TOOL_FAILURE = "tool_failure"
    END = "end"


class KeptReflection(Value):
    """A stored reflection, made when the session had `turn` turns. `problem` is set if the reflector failed."""

    number: int = Field(ge=1)
    turn: int = Field(ge=1)
    trigger: ReflectorTrigger
    reflection: SessionReflection | None = None
    problem: Text = ""


def _few(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return items[:MOST]


AnyFinding = Annotated[Finding, read_as(Finding, otherwise=Finding.OTHER)]
Short = Annotated[str, at_most(LONGEST)]
Shorts = Annotated[tuple[Short, ...], BeforeValidator(as_list), AfterValidator(_few)]


class ReflectorIssue(Lenient):
    category: AnyFinding = Finding.OTHER
    description: Short = Field(min_length=1)
    suggestion: Short = ""


class ReflectorAnswer(Lenient):
    """The reflector's answer, parsed leniently."""

    on_track: Flag
    observations: Shorts = ()
    issues: Annotated[tuple[ReflectorIssue, ...], BeforeValidator(as_list), AfterValidator(_few)] = ()
    suggestions: Shorts = ()
    confidence: Share | None = None

    def reflection(self) -> SessionReflection:
        return SessionReflection.model_validate(self.model_dump())


ANSWER_SCHEMA = closed_object(
    on_track=YES_OR_NO,
    observations=texts(5),
    issues=list_of(closed_object(category=one_of(Finding), description=TEXT, suggestion=TEXT), most=8),
    suggestions=texts(5),
    confidence=SHARE,
)
