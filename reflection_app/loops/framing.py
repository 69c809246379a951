"""Showing one model the work of another without letting that work speak."""

import hashlib

from reflection_app.loops.tool_frames import framed

LONGEST_WORK = 60_000


def frame_of(content: str, *, name: str = "work") -> str:
    """The name of a frame that `content` cannot close: a hash of it."""
    return f"{name}-{hashlib.sha256(content.encode(errors='surrogatepass')).hexdigest()[:12]}"


def framed_task(objective: str) -> str:
    """The whole task as those are shown it who judge what came of it, in a frame that it cannot close."""
    return framed(objective, name="task", most=len(objective))


def sees_all_of(content: str) -> bool:
    """Whether a model that judges is shown the whole work."""
    return len(content) <= LONGEST_WORK


def shown(content: str) -> str:
    """As much of the work as a model that judges is shown."""
    return content if sees_all_of(content) else f"{content[:LONGEST_WORK]}\n[The rest of the work is not shown.]"
