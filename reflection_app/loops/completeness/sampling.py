"""Sampling for completeness checks: check all runs, a random sample, or none. Pure values."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from reflection_app.loops.values import Value

Chance = Annotated[float, Field(ge=0, le=1)]


class When(StrEnum):
    ON = "on"
    SAMPLED = "sampled"
    OFF = "off"


class CheckArm(StrEnum):
    """Result of sampling a run."""

    CHECKED = "checked"
    NOT_SAMPLED = "not_sampled"


class CheckLots(Value):
    """The random number in [0, 1) drawn for a run, and the share it is compared with."""

    share: Chance
    sampled_by: Chance

    @model_validator(mode="before")
    @classmethod
    def read_holdout(cls, value: Any) -> Any:
        """Read a draw recorded with a hold-out: a held-out run counts as not sampled."""
        if not isinstance(value, dict) or "holdout_share" not in value:
            return value
        is_held = value.get("held_by", 1.0) < value["holdout_share"]
        return {"share": value.get("share"), "sampled_by": 1.0 if is_held else value.get("sampled_by")}

    @property
    def arm(self) -> CheckArm:
        return CheckArm.CHECKED if self.sampled_by < self.share else CheckArm.NOT_SAMPLED


FORMER = frozenset({"enabled", "least_share", "holdout_share", "least_worth", "max_cost_per_completed_usd"})


def read_former(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings in the current form. Former hold-outs become a sampled share."""
    settings = {name: value for name, value in stored.items() if name not in FORMER}
    when, holdout = settings.get("when"), stored.get("holdout_share", 0.0)
    if stored.get("enabled") is False or when == "never":
        return settings | {"when": When.OFF.value}
    if holdout:
        share = settings.get("share", 0.1) if when == When.SAMPLED.value else 1.0
        return settings | {"when": When.SAMPLED.value, "share": share * (1 - holdout)}
    return settings | {"when": When.ON.value} if when == "always" else settings
