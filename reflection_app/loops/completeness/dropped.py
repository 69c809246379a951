"""Reasons why a check left out a supplement. core/registry.py has the labels of the codes."""

from enum import StrEnum

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Recorded


class DropCode(StrEnum):
    """Reason a follow-up step, or one of its tools, was left out: guards, maximum number, or cost limit."""

    NAMES_NOTHING = "names_nothing"
    TWICE = "twice"
    DONE_ALREADY = "done_already"
    UNRELATED = "unrelated"
    NO_TOOL = "no_tool"
    NOT_MISSING = "not_missing"
    CHECK_ONLY = "check_only"
    TOO_MANY = "too_many"
    UNKNOWN_TOOL = "unknown_tool"
    UNFIT_TOOL = "unfit_tool"
    PRICE_UNKNOWN = "price_unknown"
    MONEY_SPENT = "money_spent"

    @classmethod
    def _missing_(cls, value: object) -> "DropCode | None":
        """Map reasons of earlier checks, which all concerned cost, to MONEY_SPENT."""
        return cls.MONEY_SPENT if value in FORMER else None


FORMER = {"below_worth", "too_dear", "over_check_money", "over_run_money", "over_run_tokens", "over_run_time"}


class Dropped(Recorded):
    """A supplement, or one of its tools, that was left out. `is_open`: what it names may still be missing.

    `why` is a reason recorded as text by earlier versions. It is empty if there is a code.
    """

    operation: Text
    code: DropCode | None = None
    parameters: dict[str, str | int | float] = {}  # noqa: RUF012 - pydantic copies it
    why: Text = ""
    is_open: bool = False
