"""One row of the table of rules: when it fits, and what it says."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.tool_calls import ToolFailure


class Change(StrEnum):
    """What code can change of the parameters, computed from the tool's schema and from what the error names."""

    DROP_UNKNOWN = "drop_unknown"
    CONVERT = "convert"
    FIX_CASE = "fix_case"
    ADD_DEFAULT = "add_default"
    CLAMP = "clamp"
    HALVE_SIZE = "halve_size"
    FIX_QUERY = "fix_query"


FIT_THE_SCHEMA = (Change.DROP_UNKNOWN, Change.CONVERT, Change.FIX_CASE, Change.ADD_DEFAULT, Change.CLAMP)


@dataclass(frozen=True)
class Facts:
    """What the rules look at: the telling text of the error, and what is known of the call beside it."""

    text: str
    status: int | None
    failure: str
    is_reading_page: bool


@dataclass(frozen=True)
class Rule:
    """All conditions that are given have to hold. `words` are looked for in the telling text of the error.

    `statuses` alone need a known status; with words, an unknown status is no obstacle. `may_have_worked`: the call can
    have been carried out although no answer came.
    """

    id: str
    source: str
    error_type: ErrorType
    remedy: Remedy
    root_cause: str
    action: str
    alternative: str = ""
    severity: FailureSeverity = FailureSeverity.MEDIUM
    delay_s: float | None = None
    changes: tuple[Change, ...] = ()
    failures: frozenset[ToolFailure] = field(default_factory=frozenset)
    statuses: frozenset[int] = field(default_factory=frozenset)
    words: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    is_reading_page: bool | None = None
    may_have_worked: bool = False

    def fits(self, facts: Facts) -> bool:
        if self.failures and facts.failure not in self.failures:
            return False
        if self.statuses and not self._fits_status(facts.status):
            return False
        if self.is_reading_page is not None and self.is_reading_page is not facts.is_reading_page:
            return False
        if self.unless is not None and self.unless.search(facts.text):
            return False
        return self.words is None or self.words.search(facts.text) is not None

    def _fits_status(self, status: int | None) -> bool:
        return self.words is not None if status is None else status in self.statuses


def words(*alternatives: str) -> re.Pattern[str]:
    """A pattern for any of these, in text whose case is folded. None of them may hold an unbounded repeat."""
    return re.compile("|".join(alternatives))


def statuses(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def failures(*kinds: ToolFailure) -> frozenset[ToolFailure]:
    return frozenset(kinds)
