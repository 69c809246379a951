"""Text from tools and about tools inside a prompt: as data, in a frame that it cannot close."""

import hashlib


def framed(text: str, *, name: str, most: int) -> str:
    """`text`, at most `most` characters of it, between tags that are named by its own hash.

    No text can hold its own hash, so none can end its frame; and a replayed loop makes the same prompt again.
    """
    tag = f"{name}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"
    left_out = len(text) - most
    shown = text if left_out <= 0 else f"{text[:most]}\n[{left_out:,} more characters are not shown.]"
    return f"<{tag}>\n{shown}\n</{tag}>"
