"""What a check left out, and why: a code with its parameters, which core/registry.py puts into words."""

import re
from enum import StrEnum
from typing import Any

from pydantic import model_validator

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value


class DropCode(StrEnum):
    """Why a supplement, or a tool of one, was left out: by the guards, by their number, or by the money limit.

    BELOW_WORTH, TOO_DEAR and OVER_RUN_… are in older checks only.
    """

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
    BELOW_WORTH = "below_worth"
    TOO_DEAR = "too_dear"
    PRICE_UNKNOWN = "price_unknown"
    OVER_CHECK_MONEY = "over_check_money"
    MONEY_SPENT = "money_spent"
    OVER_RUN_MONEY = "over_run_money"
    OVER_RUN_TOKENS = "over_run_tokens"
    OVER_RUN_TIME = "over_run_time"


# The sentences that journals and rows hold from when no code was kept.
_FORMER = (
    (DropCode.NAMES_NOTHING, r"It names no operation\."),
    (DropCode.TWICE, r"It was suggested twice\."),
    (DropCode.DONE_ALREADY, r"It is done already, and the task does not ask for it to be done again\."),
    (DropCode.UNRELATED, r"It has nothing to do with what the task says\."),
    (DropCode.NO_TOOL, r"None of the tools that it names is for it\."),
    (DropCode.NOT_MISSING, r"The check says that nothing is missing\."),
    (DropCode.CHECK_ONLY, r"This check only looks: no supplements are carried out\."),
    (DropCode.TOO_MANY, r"Only the first (?P<most>\d+) are carried out\."),
    (DropCode.UNKNOWN_TOOL, r"There is no tool ['\"](?P<name>.*)['\"] on the list\."),
    (DropCode.UNFIT_TOOL, r"The tool ['\"](?P<name>.*)['\"] is not for it\."),
)
_FORMER_SENTENCES = tuple((code, re.compile(pattern, re.DOTALL)) for code, pattern in _FORMER)


def without_former(value: Any, name: str) -> Any:
    """Return a recorded value without a removed field."""
    return {key: one for key, one in value.items() if key != name} if isinstance(value, dict) else value


class Dropped(Value):
    """A supplement, or a tool of one, that was left out. `is_open`: what it names may still be missing.

    `why` is a sentence of old whose code is not known; it is empty where there is a code.
    """

    operation: Text
    code: DropCode | None = None
    parameters: dict[str, str | int | float] = {}  # noqa: RUF012 - pydantic copies it
    why: Text = ""
    is_open: bool = False

    @model_validator(mode="before")
    @classmethod
    def read_sentences_of_old(cls, value: Any) -> Any:
        """Read a sentence that was recorded before there were codes, and what was recorded with an estimate."""
        value = without_former(value, "estimate")
        if not isinstance(value, dict) or value.get("code") or not isinstance(value.get("why"), str):
            return value
        code, parameters = code_of(value["why"])
        return value | {"code": code, "parameters": parameters, "why": ""} if code else value


def code_of(sentence: str) -> tuple[DropCode | None, dict[str, str | int]]:
    """The code of a sentence of old, with its parameters; None for one that nobody knows."""
    for code, pattern in _FORMER_SENTENCES:
        if match := pattern.fullmatch(sentence):
            found = match.groupdict()
            return code, {"most": int(found["most"])} if "most" in found else dict(found)
    return None, {}
