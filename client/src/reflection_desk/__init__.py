"""Python client of Reflection Desk's REST API: `Desk` is synchronous, `AsyncDesk` asynchronous."""

from reflection_desk.async_desk import AsyncDesk
from reflection_desk.call import Call
from reflection_desk.desk import Desk
from reflection_desk.errors import (
    Conflict,
    DeskError,
    DeskUnreachable,
    ExternalIdTaken,
    Invalid,
    NotAllowed,
    NotFound,
    NothingKept,
    RateLimited,
    Refused,
    StillGoing,
)
from reflection_desk.reflecting import Made, Prompt, Reflected
from reflection_desk.rows import LibraryMissing
from reflection_desk.session import Session
from reflection_desk.version import __version__

__all__ = [
    "AsyncDesk",
    "Call",
    "Conflict",
    "Desk",
    "DeskError",
    "DeskUnreachable",
    "ExternalIdTaken",
    "Invalid",
    "LibraryMissing",
    "Made",
    "NotAllowed",
    "NotFound",
    "NothingKept",
    "Prompt",
    "RateLimited",
    "Reflected",
    "Refused",
    "Session",
    "StillGoing",
    "__version__",
]
