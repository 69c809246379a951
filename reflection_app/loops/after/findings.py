"""Input and results of post-run reflection: the session to read, and the errors and memories found."""

from enum import StrEnum

from pydantic import Field

from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Score

MOST_FOUND = 20
LONGEST_NAME = 120


class ErrorFound(Value):
    """An error, its likely cause, and what to do instead."""

    category: Finding = Finding.OTHER
    description: Text
    cause: Text = ""
    suggestion: Text = ""


class ErrorsFound(Value):
    """Findings of the error reflector. `score` is None if the reflector returned none."""

    score: Score | None = None
    findings: tuple[ErrorFound, ...] = Field(default=(), max_length=MOST_FOUND)


class MemoryType(StrEnum):
    """Kind of memory."""

    RULE = "rule"
    PROJECT = "project"
    PREFERENCE = "preference"


class MemoryFound(Value):
    type: MemoryType
    name: Text = Field(min_length=1, max_length=LONGEST_NAME)
    description: Text = ""
    content: Text = ""


class MemoriesFound(Value):
    """Memories that the memory reflector proposes to store."""

    memories: tuple[MemoryFound, ...] = Field(default=(), max_length=MOST_FOUND)


class KnownMemory(Value):
    """A memory already in the notebook."""

    name: Text
    description: Text = ""


class SessionRead(Value):
    """Finished work as shown to a reflector. All fields are bounded; `session.txt` holds the full text."""

    objective: Text = ""
    ended: Text = ""
    conversation: Text = ""
    tool_errors: tuple[Text, ...] = ()
    files: tuple[Text, ...] = ()
    known: tuple[KnownMemory, ...] = ()
