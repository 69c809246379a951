"""Kinds of entries, their states, who changes them, and what can go wrong."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

# What kinds of entries there are, and the fields that each has besides a name, a description and a content.


LONGEST_FIELD = 4_000
# What is written without spaces, for a class of characters.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
MOST_IN_LIST = 30


class EntryKind(models.TextChoices):
    """Kind of a notebook entry."""

    ERROR_NOTE = "error_note", _("Error note")
    ANTI_PATTERN = "anti_pattern", _("Anti-pattern")
    LESSON = "lesson", _("Lesson")
    FIX_PAIR = "fix_pair", _("Fix pair")
    RULE = "rule", _("Rule")
    FACT = "project_fact", _("Project fact")
    PREFERENCE = "preference", _("Preference")
    SUPPLEMENT = "supplement", _("Follow-up step")


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


DETAILS: dict[str, type[Details]] = {
    EntryKind.ERROR_NOTE: ErrorNote,
    EntryKind.ANTI_PATTERN: AntiPattern,
    EntryKind.LESSON: Lesson,
    EntryKind.FIX_PAIR: FixPair,
    EntryKind.RULE: Details,
    EntryKind.FACT: Details,
    EntryKind.PREFERENCE: Details,
    EntryKind.SUPPLEMENT: Supplement,
}


def read_details(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of an entry of this kind, without those that are empty. Raises UnusableDetails, which names each."""
    try:
        details = DETAILS[kind].model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        raise UnusableDetails(
            [{"field": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in problems]
        ) from None
    return {name: value for name, value in details.model_dump().items() if value}


def fields_of(kind: str) -> tuple[str, ...]:
    """The names of the fields that entries of this kind have of their own."""
    return tuple(DETAILS[kind].model_fields)


def lists_of(kind: str) -> frozenset[str]:
    """Those of the kind's own fields that are lists of texts."""
    return frozenset(name for name, field in DETAILS[kind].model_fields.items() if field.default_factory is not None)


def words_of(details: dict[str, Any]) -> list[str]:
    """All that the fields say, in order."""
    return [text for value in details.values() for text in (value if isinstance(value, list) else [str(value)]) if text]


# The life of an entry: proposed → screened → approved → retired; rejected; merged into another.


class EntryState(models.TextChoices):
    PROPOSED = "proposed", _("Proposed")
    SCREENED = "screened", _("Checked")
    APPROVED = "approved", _("Approved")
    RETIRED = "retired", _("Retired")
    REJECTED = "rejected", _("Rejected")
    MERGED = "merged", _("Merged")


# The labels stand after the name of the member who made the change.
class Change(models.TextChoices):
    """Type of change recorded by an entry version."""

    PROPOSED = "proposed", _("proposed it")
    SCREENED = "screened", _("compared it with other entries")
    EDITED = "edited", _("edited it")
    APPROVED = "approved", _("approved it")
    REJECTED = "rejected", _("rejected it")
    RETIRED = "retired", _("retired it")
    MERGED = "merged", _("merged it into another entry")
    SUPERSEDED = "superseded", _("replaced it with another entry")
    ABSORBED = "absorbed", _("merged another entry into it")
    RELEASED = "released", _("undid a merge into it")
    SPLIT = "split", _("split it")
    RESTORED = "restored", _("restored an earlier version")
    REOPENED = "reopened", _("reopened it")
    TAGGED = "tagged", _("changed its tags")
    OWNED = "owned", _("changed its owner")
    CLEARED = "cleared", _("cleared its safety flag")
    FLAGGED = "flagged", _("flagged it in a safety check by meaning")
    IMPORTED = "imported", _("imported it")
    UNDONE = "undone", _("undid the last change")


# What still says something: entries that were rejected, retired or merged do not.
HOLDING = (EntryState.PROPOSED, EntryState.SCREENED, EntryState.APPROVED)
# What the desk itself does to an entry, which is nobody's work on it.
OF_THE_DESK = (Change.SCREENED, Change.FLAGGED)
# What waits for a curator.
WAITING = (EntryState.PROPOSED, EntryState.SCREENED)
EVERY = tuple(EntryState)

# From which states a change may be made, and the state that it leads to; None leaves the state as it is.
ALLOWED: dict[str, tuple[tuple[EntryState, ...], EntryState | None]] = {
    Change.SCREENED: ((EntryState.PROPOSED,), EntryState.SCREENED),
    Change.APPROVED: (WAITING, EntryState.APPROVED),
    Change.REJECTED: (WAITING, EntryState.REJECTED),
    Change.RETIRED: ((EntryState.APPROVED,), EntryState.RETIRED),
    Change.MERGED: (HOLDING, EntryState.MERGED),
    # What is superseded is not the same as the other: found again, it is not counted there.
    Change.SUPERSEDED: (HOLDING, EntryState.RETIRED),
    Change.REOPENED: ((EntryState.REJECTED, EntryState.RETIRED, EntryState.MERGED), EntryState.PROPOSED),
    Change.EDITED: (HOLDING, None),
    Change.RESTORED: (HOLDING, None),
    Change.SPLIT: (HOLDING, None),
    Change.ABSORBED: (HOLDING, None),
    Change.RELEASED: (EVERY, None),
    Change.CLEARED: (HOLDING, None),
    Change.FLAGGED: (HOLDING, None),
    Change.TAGGED: (EVERY, None),
    Change.OWNED: (EVERY, None),
    # The state that it leads to is the one before what is undone (see merging.py).
    Change.UNDONE: (EVERY, None),
}


def may(change: Change, state: str) -> bool:
    """Whether an entry in this state can be changed so."""
    return change in ALLOWED and state in ALLOWED[change][0]


def after(change: Change, state: str) -> str:
    """The state that the change leads to from this one."""
    return ALLOWED[change][1] or state


# Who changes the notebook: a person, a pipeline's key, or the desk itself.


@dataclass(frozen=True)
class By:
    """`user_id` is None for keys and for the desk itself."""

    label: str
    user_id: int | None = None


DESK = By("system")


# What can go wrong with the notebook. Docstrings are the messages.


class NotebookError(Exception):
    """Something of the notebook cannot be done."""


class NoSuchEntry(NotebookError):
    """There is no such entry in this project's notebook."""

    def __init__(self, entry_id: UUID) -> None:
        super().__init__(f"{self.__doc__} ({entry_id})")
        self.entry_id = entry_id


class NotPossibleNow(NotebookError):
    """The entry is in a state in which this cannot be done to it; `by` made the version that it is at."""

    def __init__(self, *, change: str, state: str, version: int = 0, by: str = "") -> None:
        super().__init__(f"An entry that is {state} cannot be {change}.")
        self.change, self.state, self.version, self.by = change, state, version, by


class ChangedMeanwhile(NotebookError):
    """Somebody else has changed the entry since it was read; nothing was changed."""

    def __init__(self, *, version: int, by: str) -> None:
        super().__init__(f"{self.__doc__} It is at version {version} now, by {by}.")
        self.version, self.by = version, by


class Contradicted(NotebookError):
    """The entry is one side of open contradictions; nothing was changed. `names` are the other sides', in order."""

    def __init__(self, conflict_ids: Sequence[UUID], *, names: Sequence[str]) -> None:
        super().__init__(f"{self.__doc__} ({', '.join(map(str, conflict_ids))})")
        self.conflict_ids, self.names = tuple(conflict_ids), tuple(names)


class NoSuchConflict(NotebookError):
    """There is no such conflict in this project's notebook."""

    def __init__(self, conflict_id: UUID) -> None:
        super().__init__(f"{self.__doc__} ({conflict_id})")


class ConflictMovedOn(NotebookError):
    """The conflict is in another state by now; `by` settled it, where somebody did."""

    def __init__(self, *, state: str, by: str = "") -> None:
        super().__init__(f"The conflict is {state}{f', by {by}' if by else ''}.")
        self.state, self.by = state, by


class Refused(NotebookError):
    """What was asked of the notebook cannot be accepted; `field` names what is wrong with it."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def uuid_in(text: object) -> UUID | None:
    """The id that a text from outside is; None where it is none."""
    try:
        return UUID(str(text))
    except ValueError:
        return None


# What PostgreSQL can keep: proposals come from models and tools, whose texts may hold anything. Pure.

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def storable[T](value: T) -> T:
    """The JSON value with NUL characters and halves of surrogate pairs shown as the replacement character."""
    match value:
        case str():
            whole = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
            return cast("T", _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", whole))
        case dict():
            return cast("T", {storable(key): storable(item) for key, item in value.items()})
        case list() | tuple():
            return cast("T", type(value)(storable(item) for item in value))
    return value
