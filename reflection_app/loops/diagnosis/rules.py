"""The rule table (rules.toml), loaded once, and the matching of a rule."""

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BeforeValidator

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.loops.values import Value


class Change(StrEnum):
    """Change to parameters that code can compute from the tool's schema (modifiers.py)."""

    FIT_SCHEMA = "fit_schema"
    HALVE_SIZE = "halve_size"
    SIMPLIFY_QUERY = "simplify_query"
    FIX_QUERY = "fix_query"


@dataclass(frozen=True)
class Facts:
    """Facts that rules match: the informative text of the error, and known properties of the call."""

    text: str
    status: int | None
    failure: str
    is_reading_page: bool


def _whole_class(written: Any) -> Any:
    """Return the statuses for `written`; "4xx" means 400 to 499."""
    return range(int(written[0]) * 100, int(written[0]) * 100 + 100) if isinstance(written, str) else written


type Words = Annotated[re.Pattern[str], BeforeValidator("|".join)]


class Rule(Value):
    """One row of the table. rules.toml documents its fields."""

    id: str
    source: str
    failures: frozenset[ToolFailure] = frozenset()
    statuses: Annotated[frozenset[int], BeforeValidator(_whole_class)] = frozenset()
    is_reading_page: bool | None = None
    words: Words | None = None
    unless: Words | None = None
    error_type: ErrorType
    remedy: Remedy
    severity: FailureSeverity = FailureSeverity.MEDIUM
    delay_s: int | None = None
    changes: tuple[Change, ...] = ()
    may_have_worked: bool = False
    is_final: bool = False
    root_cause: str
    action: str
    alternative: str = ""

    def fits(self, facts: Facts) -> bool:
        fits_status = self.words is not None if facts.status is None else facts.status in self.statuses
        return (
            (not self.failures or facts.failure in self.failures)
            and (not self.statuses or fits_status)
            and self.is_reading_page in (None, facts.is_reading_page)
            and (self.unless is None or self.unless.search(facts.text) is None)
            and (self.words is None or self.words.search(facts.text) is not None)
        )


_TABLE = tomllib.loads((files(__package__) / "rules.toml").read_text(encoding="utf-8"))
for _row in _TABLE["rule"].values():
    if _shared := _row.pop("words_of", None):
        _row["words"] = [*_TABLE["rule"][_shared]["words"], *_row["words"]]
RULES = tuple(Rule(id=name, **_TABLE["usual"][row["error_type"]] | row) for name, row in _TABLE["rule"].items())
# Rules for remedies that the classifier of error meanings (judgement/tool_errors.py) names; none is matched by text.
BY_MEANING = {
    Remedy(name): Rule(id=f"meaning-{name}", source="judgement/tool_errors.py", remedy=name, **row)
    for name, row in _TABLE["meaning"].items()
}
