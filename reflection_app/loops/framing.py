"""Show one model the work of another as data, so that the work cannot act as instructions."""

import hashlib
import re

from reflection_app.loops.texts import cut_with

# Text from and about tools inside a prompt, in a frame that it cannot close

_OPENS = re.compile(r"<([a-z]+-[0-9a-f]{12})>")


def framed(text: str, *, name: str, most: int) -> str:
    """Return at most `most` characters of `text`, between tags named after its own hash.

    No text can contain its own hash, so none can close its frame. The tag is deterministic, so a replayed loop builds
    the same prompt.
    """
    tag = frame_of(text, name=name)
    note = f"[{len(text) - most:,} more characters are not shown.]"
    return f"<{tag}>\n{cut_with(text, most, note=note)}\n</{tag}>"


def inside_frames(text: str) -> str:
    """Return everything in `text` that is inside frames, and thus written by others.

    Forged frames, inside or before a real one, end nothing: the union of all frames is returned.
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
    """Return the name of a frame that `content` cannot close: it contains a hash of the content."""
    return f"{name}-{hashlib.sha256(content.encode(errors='surrogatepass')).hexdigest()[:12]}"


def framed_task(objective: str) -> str:
    """Return the whole task in a frame it cannot close, for models that judge the result."""
    return framed(objective, name="task", most=len(objective))


def sees_all_of(content: str) -> bool:
    """Return True if a judging model is shown the whole work."""
    return len(content) <= LONGEST_WORK


def truncated(content: str) -> str:
    """Return the part of the work that a judging model is shown."""
    return cut_with(content, LONGEST_WORK, note="[The rest of the work is not shown.]")
