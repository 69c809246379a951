"""What kinds of entries there are, and the fields that each has besides a name, a description and a content. Pure."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

LONGEST_FIELD = 4_000
MOST_IN_LIST = 30


class EntryKind(StrEnum):
    """Kinds of the notebook's entries."""

    ERROR_NOTE = "error_note"
    ANTI_PATTERN = "anti_pattern"
    LESSON = "lesson"
    FIX_PAIR = "fix_pair"
    RULE = "rule"
    FACT = "project_fact"
    PREFERENCE = "preference"
    SUPPLEMENT = "supplement"


# What can be wrong with an agent's work, as its error notes are sorted (the fifth design seed).
CATEGORIES = (
    "reasoning_error",
    "tool_misuse",
    "missed_optimization",
    "incomplete_answer",
    "hallucination",
    "context_mismanagement",
    "other",
)


class UnusableDetails(ValueError):
    """The fields are not those of an entry of this kind."""

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("; ".join(f"{one['field']}: {one['message']}" for one in errors))
        self.errors = errors


def _lines(value: Any) -> Any:
    """A text of several lines is a list of them, as a form sends it."""
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


Text = Annotated[str, Field(max_length=LONGEST_FIELD)]
Texts = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=LONGEST_FIELD)]],
    BeforeValidator(_lines),
    Field(max_length=MOST_IN_LIST),
]


class Details(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorNote(Details):
    cause: Text = ""
    suggestion: Text = ""


class AntiPattern(Details):
    symptoms: Texts = Field(default_factory=list)
    prevention: Text = ""


class Lesson(Details):
    when: Text = ""
    advice: Text = ""


class FixPair(Details):
    tool: Text = ""
    error_type: Text = ""
    symptoms: Text = ""
    fix: Text = ""


class Supplement(Details):
    operation: Text = ""
    suggested_tools: Texts = Field(default_factory=list)


DETAILS: dict[EntryKind, type[Details]] = {
    EntryKind.ERROR_NOTE: ErrorNote,
    EntryKind.ANTI_PATTERN: AntiPattern,
    EntryKind.LESSON: Lesson,
    EntryKind.FIX_PAIR: FixPair,
    EntryKind.RULE: Details,
    EntryKind.FACT: Details,
    EntryKind.PREFERENCE: Details,
    EntryKind.SUPPLEMENT: Supplement,
}


def read_details(kind: EntryKind, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of an entry of this kind, without those that are empty. Raises UnusableDetails, which names each."""
    try:
        details = DETAILS[kind].model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        raise UnusableDetails(
            [{"field": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in problems]
        ) from None
    return {name: value for name, value in details.model_dump().items() if value}


def fields_of(kind: EntryKind) -> tuple[str, ...]:
    """The names of the fields that entries of this kind have of their own."""
    return tuple(DETAILS[kind].model_fields)


def lists_of(kind: EntryKind) -> frozenset[str]:
    """Those of the kind's own fields that are lists of texts."""
    return frozenset(name for name, field in DETAILS[kind].model_fields.items() if field.default_factory is not None)


def words_of(details: dict[str, Any]) -> list[str]:
    """All that the fields say, in order."""
    return [text for value in details.values() for text in (value if isinstance(value, list) else [str(value)]) if text]
