"""What one inspection has found so far, within bounds."""

import json
import time
from typing import Any

from reflection_app.loops.completeness.file_codes import FaultCode, FileKind
from reflection_app.loops.lengths import count_words

MOST_FAULTS = 20
MOST_OF_ONE_CODE = 5
MOST_LISTED = 200
LONGEST_LISTED = 200
LONGEST_SHOWN = 120
LONGEST_BEGIN = 1_000
# Lines kept to look for required sections in.
MOST_LINES = 20_000
# The rest of the time is for the answer.
SHARE_OF_TIME = 0.8
PLAIN = (
    *("kind", "media_type", "is_whole", "encoding", "begins", "faults"),
    *("rows", "pages", "words", "width", "height"),
)
LISTS = ("columns", "sheets", "headings", "entries")


class CannotLook(Exception):
    """No library here reads this format."""


class UnfoldsTooFar(Exception):
    """It would fill the memory or the disk."""


class Found:
    """Facts and faults of one file."""

    rows: int | None = None
    pages: int | None = None
    words: int | None = None
    width: int | None = None
    height: int | None = None
    is_whole = True
    encoding = ""
    begins = ""

    def __init__(self, *, kind: FileKind, media_type: str, time_s: float) -> None:
        self.kind, self.media_type = kind, media_type
        # CPU time: a busy machine cuts no inspection short.
        self.until = time.process_time() + time_s * SHARE_OF_TIME
        self.columns: list[str] = []
        self.sheets: list[str] = []
        self.headings: list[str] = []
        self.entries: list[str] = []
        self.lines: set[str] = set()
        self.faults: list[dict[str, str]] = []

    def fault(self, code: FaultCode, *, place: object = "", expected: object = "", actual: object = "") -> None:
        """Add the fault, unless there are enough of its kind."""
        parts = {"place": place, "expected": expected, "actual": actual}
        fault = {"code": code.value} | {name: shown(part) for name, part in parts.items()}
        same_code = sum(one["code"] == code.value for one in self.faults)
        if same_code < MOST_OF_ONE_CODE and len(self.faults) < MOST_FAULTS and fault not in self.faults:
            self.faults.append(fault)

    def has_time(self) -> bool:
        """Return True if the inspection may go on; if not, it is not whole."""
        if time.process_time() < self.until:
            return True
        self.is_whole = False
        return False

    def read_text(self, text: str) -> None:
        """Count its words, and keep its beginning and its lines: some sections have no heading but a line."""
        self.words = (self.words or 0) + count_words(text)
        if len(self.begins) < LONGEST_BEGIN:
            self.begins = f"{self.begins}\n{text[:LONGEST_BEGIN]}".strip()[:LONGEST_BEGIN]
        for line in map(str.strip, text.splitlines()):
            if 0 < len(line) <= LONGEST_LISTED and len(self.lines) < MOST_LINES:
                self.lines.add(line)

    def read_row(self, row: Any) -> None:
        """Add a row of a table to the beginning, its cells separated by tabs."""
        if len(self.begins) < LONGEST_BEGIN:
            cells = ("" if cell is None else " ".join(str(cell)[:200].split()) for cell in row[:20])
            self.begins = f"{self.begins}\n{'\t'.join(cells)}".lstrip("\n")[:LONGEST_BEGIN]

    def as_json(self, **more: Any) -> bytes:
        lists = {name: [one[:LONGEST_LISTED] for one in getattr(self, name)[:MOST_LISTED]] for name in LISTS}
        return as_json({name: getattr(self, name) for name in PLAIN} | lists | more)


def shown(value: object) -> str:
    """A part of a fault, on one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def as_json(told: dict[str, Any]) -> bytes:
    return json.dumps(told, allow_nan=False).encode("ascii")
