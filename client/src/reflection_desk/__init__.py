"""The Python client of Reflection Desk's REST, sync (`Desk`) and async (`AsyncDesk`)."""

from reflection_desk.async_desk import AsyncDesk
from reflection_desk.call import Call
from reflection_desk.desk import Desk
from reflection_desk.errors import (
    Conflict,
    DeskError,
    DeskUnreachable,
    Invalid,
    NotAllowed,
    NotFound,
    RateLimited,
    Refused,
    StillGoing,
)

__all__ = [
    "AsyncDesk",
    "Call",
    "Conflict",
    "Desk",
    "DeskError",
    "DeskUnreachable",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "RateLimited",
    "Refused",
    "StillGoing",
]
