"""A page of a PDF, or a picture, drawn anew as PNG: what a person or a model may be shown of it."""

from dataclasses import replace

from reflection_app.adapters.files.child import DRAWING, ask
from reflection_app.adapters.sandbox.limits import SandboxFailed, SandboxUnavailable
from reflection_app.adapters.sandbox.values import MalformedValue, read_message
from reflection_app.core.recognizing import recognize
from reflection_app.loops.completeness.files import FaultCode, WhyNot
from reflection_app.loops.storable import storable

LARGEST_SIDE = 4_096
LARGEST_FILE = 64_000_000
TIMEOUT_S = 15.0


class FileNotOpened(Exception):
    """There is no picture of the page: `code` says what is wrong with the file, or `why_not` why nobody could draw it.

    `lacks` names the library or the format, or has the sandbox's own words.
    """

    def __init__(self, *, code: FaultCode | None = None, why_not: WhyNot | None = None, lacks: str = "") -> None:
        super().__init__(": ".join(filter(None, (code or why_not, lacks))))
        self.code, self.why_not, self.lacks = code, why_not, lacks


def render_page(content: bytes, *, page: int = 1, max_side_px: int = 1_600, timeout_s: float = TIMEOUT_S) -> bytes:
    """The page, or the frame of a picture, counted from 1, as PNG with no side longer than `max_side_px`.

    What is drawn is told by the bytes alone: pages of PDF, and pictures. Raises FileNotOpened.
    """
    if len(content) > LARGEST_FILE:
        raise FileNotOpened(code=FaultCode.TOO_LARGE)
    side = max(1, min(max_side_px, LARGEST_SIDE))
    limits = replace(DRAWING, wall_s=timeout_s, total_s=timeout_s + 1, cpu_s=max(1, round(timeout_s)))
    item = {"content": content, "name": "", "draw": {"page": page, "max_side_px": side}}
    try:
        answer = next(ask([item], limits=limits))
    except (SandboxUnavailable, SandboxFailed) as error:
        raise FileNotOpened(why_not=WhyNot.NO_SANDBOX, lacks=str(error)) from error
    record = answer.record
    if record is None:
        raise FileNotOpened(code=FaultCode.UNREADABLE)
    if record.over_memory:
        raise FileNotOpened(code=FaultCode.UNFOLDS)
    if record.outcome == "timeout":
        raise FileNotOpened(code=FaultCode.TOO_SLOW)
    if record.outcome != "ended" or record.status:
        raise FileNotOpened(code=FaultCode.UNREADABLE, lacks=record.outcome)
    known = recognize(record.report)
    if known.media_type == "image/png" and max(known.width or 0, known.height or 0) <= side:
        return record.report
    raise _reason(record.report)


def _reason(report: bytes) -> FileNotOpened:
    """What the process said in place of a page; it may say what it likes, and is believed a code alone."""
    try:
        told = read_message(report)
        code, why_not = told.get("code"), told.get("why_not")
        return FileNotOpened(
            code=FaultCode(code) if code else None,
            why_not=WhyNot(why_not) if why_not else None,
            lacks=storable(str(told.get("lacks") or told.get("actual") or ""))[:200],
        )
    except (MalformedValue, ValueError, TypeError):
        return FileNotOpened(code=FaultCode.UNREADABLE)
