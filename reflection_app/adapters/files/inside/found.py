"""What one look at a file has found so far, bounded, and its form as JSON."""

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
# Whole lines and headings kept to look for asked sections in; beyond them a document is a data set.
MOST_LINES = 20_000
# Part of the time is left to tell what was found.
SHARE_OF_TIME = 0.8


class NothingMore(Exception):
    """The look ends here; what was found until now stands."""


class CannotLook(Exception):
    """There is no library for this format here."""


class Found:
    """Facts and faults of one file, as they are found. Lists are whole until they are told."""

    def __init__(self, *, kind: FileKind, media_type: str, time_s: float) -> None:
        self.kind, self.media_type = kind, media_type
        # CPU time: a busy machine cuts no look short.
        self.until = time.process_time() + time_s * SHARE_OF_TIME
        self.is_whole = True
        self.encoding = ""
        self.rows: int | None = None
        self.links: int | None = None
        self.pages: int | None = None
        self.words: int | None = None
        self.width: int | None = None
        self.height: int | None = None
        self.columns: list[str] = []
        self.sheets: list[str] = []
        self.headings: list[str] = []
        self.entries: list[str] = []
        self.begins = ""
        self.faults: list[dict[str, str]] = []
        # Not told: where columns and sections are looked for beside those above.
        self.more_columns: set[str] = set()
        self.lines: set[str] = set()

    def fault(self, code: FaultCode, *, place: object = "", expected: object = "", actual: object = "") -> None:
        """Adds the fault, unless there are enough of its kind."""
        fault = {
            "code": code.value,
            "place": shown(place),
            "expected": shown(expected),
            "actual": shown(actual),
        }
        alike = sum(one["code"] == code.value for one in self.faults)
        if alike < MOST_OF_ONE_CODE and len(self.faults) < MOST_FAULTS and fault not in self.faults:
            self.faults.append(fault)

    def has(self, code: FaultCode) -> bool:
        return any(one["code"] == code.value for one in self.faults)

    def has_time(self) -> bool:
        """Whether to go on; if not, the look is not whole."""
        if time.process_time() < self.until:
            return True
        self.is_whole = False
        return False

    def read_text(self, text: str) -> None:
        """Counts words, and keeps the beginning."""
        self.words = (self.words or 0) + count_words(text)
        if len(self.begins) < LONGEST_BEGIN:
            self.begins = (self.begins + "\n" + text[:LONGEST_BEGIN]).strip()[:LONGEST_BEGIN]

    def keep_line(self, line: str) -> None:
        """Keeps a line that stands by itself: some call a section by no heading but a line of its own."""
        if 0 < len(line) <= LONGEST_LISTED and len(self.lines) < MOST_LINES:
            self.lines.add(line)

    def told(self) -> dict[str, Any]:
        listed = ("columns", "sheets", "headings", "entries")
        plain = (
            *("kind", "media_type", "is_whole", "encoding", "rows", "links", "pages", "words", "width", "height"),
            *("begins", "faults"),
        )
        lists = {name: [one[:LONGEST_LISTED] for one in getattr(self, name)[:MOST_LISTED]] for name in listed}
        return {name: getattr(self, name) for name in plain} | lists


def shown(value: object) -> str:
    """A part of a fault, on one line and short."""
    text = value if isinstance(value, str) else str(value)
    text = " ".join(text.split()) if any(one.isspace() and one != " " for one in text) else text
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def line_place(number: int) -> str:
    return f"line {number}"


def as_json(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=True, allow_nan=False).encode("ascii")
