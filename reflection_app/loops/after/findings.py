"""What those who look back find: errors, and memories. And what they are given to read."""

from enum import StrEnum

from pydantic import Field

from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Score

MOST_FOUND = 20
LONGEST_NAME = 120


class ErrorFound(Value):
    """One thing that went wrong, why it seems to have, and what to do instead."""

    category: Finding = Finding.OTHER
    description: Text
    cause: Text = ""
    suggestion: Text = ""


class ErrorsFound(Value):
    """What the error reflector says of the work; the score is None where it gave none."""

    score: Score | None = None
    findings: tuple[ErrorFound, ...] = Field(default=(), max_length=MOST_FOUND)


class MemoryType(StrEnum):
    """What kind of thing is remembered."""

    RULE = "rule"
    PROJECT = "project"
    PREFERENCE = "preference"


class MemoryFound(Value):
    type: MemoryType
    name: Text = Field(min_length=1, max_length=LONGEST_NAME)
    description: Text = ""
    content: Text = ""


class MemoriesFound(Value):
    """What the memory reflector says is worth remembering."""

    memories: tuple[MemoryFound, ...] = Field(default=(), max_length=MOST_FOUND)


class KnownMemory(Value):
    """A memory that the notebook holds already."""

    name: Text
    description: Text = ""


class SessionRead(Value):
    """What a reflector is shown of the work that has ended; all of it is bounded, and the rest is in `session.txt`."""

    objective: Text = ""
    ended: Text = ""
    conversation: Text = ""
    tool_errors: tuple[Text, ...] = ()
    files: tuple[Text, ...] = ()
    known: tuple[KnownMemory, ...] = ()
