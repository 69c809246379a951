"""Project settings: reflection, lessons in prompts, retention, and response times."""

from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from reflection_app.loops.values import Value

Share = Annotated[float, Field(ge=0, le=0.5)]


class ReflectionMode(StrEnum):
    """When to reflect: after the work has ended, while it happens (sessions only), or both."""

    OFF = "off"
    POST_HOC = "post_hoc"
    INLINE = "inline"
    BOTH = "both"

    @classmethod
    def _missing_(cls, value: object) -> "ReflectionMode | None":
        """Return the mode for a name written with "-", as in "post-hoc"."""
        wanted = value.replace("-", "_") if isinstance(value, str) else ""
        return next((mode for mode in cls if mode.value == wanted), None)

    @property
    def is_after(self) -> bool:
        return self in {ReflectionMode.POST_HOC, ReflectionMode.BOTH}

    @property
    def is_inline(self) -> bool:
        return self in {ReflectionMode.INLINE, ReflectionMode.BOTH}


class LessonSettings(Value):
    """Maximum number of lessons per run, and the share held out at random to measure their effect."""

    most: int = Field(default=5, ge=1, le=20)
    holdout_share: Share = 0.1


class NotebookSettings(Value):
    """Reflection and notebook settings of a project.

    `reflection` is None to use the server's setting. `lessons` is None if runs get no lessons. `error_reflector` and
    `memory_reflector` enable the two post-run reflectors.
    """

    reflection: ReflectionMode | None = None
    error_reflector: bool = True
    memory_reflector: bool = True
    lessons: LessonSettings | None = LessonSettings()
    rules_most: int = Field(default=10, ge=1, le=100)
    rules_least_occurrences: int = Field(default=1, ge=1, le=1_000)

    @property
    def holdout_share(self) -> float:
        """Share of runs from which each lesson is held out; 0 if runs get no lessons."""
        return self.lessons.holdout_share if self.lessons else 0.0


# Retention of submitted work and its results. Pure.

LONGEST_DAYS = 3650


class RetentionSettings(Value):
    """Days until deletion; None means no deletion.

    The period starts when an item ends. Runs that have not ended are never deleted, nor are runs waiting for a person,
    an agent or a review. The notebook, the metrics and the audit log are not deleted.
    """

    runs_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    transcripts_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    tool_failures_days: int | None = Field(default=None, ge=1, le=LONGEST_DAYS)
    deliveries_days: int | None = Field(default=30, ge=1, le=LONGEST_DAYS)
    traces_days: int | None = Field(default=30, ge=1, le=LONGEST_DAYS)
    notifications_days: int | None = Field(default=90, ge=1, le=LONGEST_DAYS)


# Response-time targets. Pure.

LONGEST_GOAL_MINUTES = 60 * 24 * 30


def _known_zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        raise ValueError("no time zone of the IANA database, such as Europe/Berlin or Asia/Shanghai") from None


GoalMinutes = Annotated[int, Field(ge=1, le=LONGEST_GOAL_MINUTES)]


class WaitingSettings(Value):
    """Response-time targets for reviews and questions. None: no target, and nothing escalates.

    Overdue items escalate once; with `escalates_again`, again after each further period of the target's length.
    `time_zone` applies to the project's days and quiet hours.
    """

    review_goal_minutes: GoalMinutes | None = Field(
        default=None, description="target for reviews in minutes; null means no target"
    )
    question_goal_minutes: GoalMinutes | None = Field(
        default=None, description="target for questions in minutes; null means no target"
    )
    escalates_again: bool = Field(
        default=False, description="escalate again after each further period of the target's length"
    )
    time_zone: Annotated[str, AfterValidator(_known_zone)] = Field(
        default="UTC", max_length=64, description="name from the IANA time zone database", examples=["Asia/Shanghai"]
    )

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)
