"""A page of a PDF, or a picture, drawn anew as PNG: what a person or a model may be shown of it."""

from dataclasses import replace

from desk_sandbox.limits import SandboxFailed, SandboxUnavailable
from desk_sandbox.values import MalformedValue, read_message
from reflection_app.adapters.files.child import DRAWING, LARGEST_FILE, ask
from reflection_app.core.recognizing import recognize
from reflection_app.loops.completeness.files import FaultCode, WhyNot
from reflection_app.loops.storable import storable

LARGEST_SIDE = 4_096
TIMEOUT_S = 15.0
LONGEST_WHY = 200


class FileNotOpened(Exception):
    """There is no picture of the page. The message is a FaultCode or a WhyNot, with more words where there are any."""


def render_page(content: bytes, *, page: int = 1, max_side_px: int = 1_600, timeout_s: float = TIMEOUT_S) -> bytes:
    """Return the page, or the frame of a picture, counted from 1, as PNG with no side longer than `max_side_px`.

    What is drawn is told by the bytes alone: pages of PDF, and pictures. Raises FileNotOpened.
    """
    if len(content) > LARGEST_FILE:
        raise FileNotOpened(FaultCode.TOO_LARGE)
    side = max(1, min(max_side_px, LARGEST_SIDE))
    limits = replace(DRAWING, wall_s=timeout_s, total_s=timeout_s + 1, cpu_s=max(1, round(timeout_s)))
    item = {"content": content, "name": "", "draw": {"page": page, "max_side_px": side}}
    try:
        record = next(ask([item], limits=limits)).record
    except (SandboxUnavailable, SandboxFailed) as error:
        raise FileNotOpened(f"{WhyNot.NO_SANDBOX}: {error}") from error
    if record is None or record.outcome not in {"ended", "timeout"}:
        raise FileNotOpened(FaultCode.UNREADABLE)
    if record.over_memory or record.outcome == "timeout":
        raise FileNotOpened(FaultCode.UNFOLDS if record.over_memory else FaultCode.TOO_SLOW)
    known = recognize(record.report)
    if known.media_type == "image/png" and max(known.width or 0, known.height or 0) <= side:
        return record.report
    try:
        # The process may say what it likes: it is a message, and nothing follows from it.
        raise FileNotOpened(storable(str(read_message(record.report)["why"]))[:LONGEST_WHY])
    except (MalformedValue, KeyError, TypeError, RecursionError):
        raise FileNotOpened(FaultCode.UNREADABLE) from None
