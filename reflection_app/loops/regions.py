"""Location of an issue in a file: a box in a picture, a page, or a time range of a recording. Pure.

Notation: W3C Media Fragments URI 1.0 (https://www.w3.org/TR/media-frags/), which Web Annotation uses as selectors:
`xywh=percent:10,20,30,40`, `t=4,10.5`; for PDFs RFC 8118: `page=3`. "" means the whole file.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from reflection_app.loops.values import Value

NUMBER = r"([0-9]{1,6}(?:\.[0-9]{1,6})?)"
BOX = re.compile(rf"xywh=percent:{NUMBER},{NUMBER},{NUMBER},{NUMBER}")
PAGE = re.compile(r"page=([0-9]{1,6})")
TIME = re.compile(rf"t=(?:npt:)?{NUMBER},{NUMBER}")
# Short forms that people type: 3 is a page, 4-10 are seconds, four numbers are a box.
SHORT = {
    re.compile(r"([0-9]{1,6})"): "page={}",
    re.compile(rf"{NUMBER}\s*[-–,]\s*{NUMBER}(?:\s*s)?"): "t={},{}",
    re.compile(rf"{NUMBER}\s*,\s*{NUMBER}\s*,\s*{NUMBER}\s*,\s*{NUMBER}"): "xywh=percent:{},{},{},{}",
}
WRONG = (
    "must be xywh=percent:x,y,width,height of a box within the picture, page=3, or t=4,10 in seconds; "
    "or empty, for the whole file"
)


@dataclass(frozen=True)
class Box:
    """A box in percent of the picture's width and height, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


def box_in(fragment: str) -> Box | None:
    """Return the box in the fragment, or None if it is not a box."""
    found = BOX.fullmatch(fragment)
    return Box(*(float(number) for number in found.groups())) if found else None


def page_in(fragment: str) -> int | None:
    found = PAGE.fullmatch(fragment)
    return int(found[1]) if found else None


def time_in(fragment: str) -> tuple[float, float] | None:
    """Return the first and last second, or None if the fragment is not a time range."""
    found = TIME.fullmatch(fragment)
    return (float(found[1]), float(found[2])) if found else None


def _written_out(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    text = given.strip()
    for short, form in SHORT.items():
        if found := short.fullmatch(text):
            return form.format(*found.groups())
    return text


def _within(fragment: str) -> str:
    box, page, time = box_in(fragment), page_in(fragment), time_in(fragment)
    # Use decimal digits: as floats, 33.3 and 66.7 may add up to more than 100.
    digits = [Decimal(number) for number in re.findall(NUMBER, fragment)]
    if box is not None:
        is_inside = box.width > 0 and box.height > 0 and digits[0] + digits[2] <= 100 and digits[1] + digits[3] <= 100
    else:
        is_inside = fragment == "" or bool(page) or (time is not None and time[0] < time[1])
    if not is_inside:
        raise ValueError(WRONG)
    return fragment


class Region(Value):
    """The file of an attempt, and the part of it, that an issue concerns."""

    attachment: UUID
    fragment: Annotated[str, BeforeValidator(_written_out), AfterValidator(_within)] = Field(
        default="", max_length=120, examples=["xywh=percent:10,20,30,40", "page=3", "t=4,10"]
    )

    def told(self) -> str:
        """Return the location as text for an agent."""
        return f"in attachment {self.attachment}" + (f" at {self.fragment}" if self.fragment else "")
