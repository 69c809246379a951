"""Showing one model the work of another without letting that work speak."""

import hashlib
import re

from reflection_app.loops.texts import cut_with

# Text from tools and about tools inside a prompt: as data, in a frame that it cannot close.

_OPENS = re.compile(r"<([a-z]+-[0-9a-f]{12})>")


def framed(text: str, *, name: str, most: int) -> str:
    """`text`, at most `most` characters of it, between tags that are named by its own hash.

    No text can hold its own hash, so none can end its frame; and a replayed loop makes the same prompt again.
    """
    tag = frame_of(text, name=name)
    note = f"[{len(text) - most:,} more characters are not shown.]"
    return f"<{tag}>\n{cut_with(text, most, note=note)}\n</{tag}>"


def inside_frames(text: str) -> str:
    """All of `text` that stands in frames, and so was written by others than us.

    Frames that are forged within a frame, or before one, end nothing: it is the union of all.
    """
    inside: list[str] = []
    ends = 0
    for opening in _OPENS.finditer(text):
        closes = text.find(f"</{opening[1]}>", opening.end())
        if closes > ends:
            inside.append(text[max(ends, opening.end()) : closes])
            ends = closes
    return "\n".join(inside)


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


def truncated(content: str) -> str:
    """As much of the work as a model that judges is shown."""
    return cut_with(content, LONGEST_WORK, note="[The rest of the work is not shown.]")
