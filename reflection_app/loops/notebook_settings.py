"""How a project learns: what is reflected on after the work, and what its runs are told of the notebook."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from reflection_app.loops.values import Value

Share = Annotated[float, Field(ge=0, le=0.5)]


class ReflectionMode(StrEnum):
    """When work is reflected on: after it has ended, while it happens (sessions only), or both."""

    OFF = "off"
    POST_HOC = "post_hoc"
    INLINE = "inline"
    BOTH = "both"

    @property
    def is_after(self) -> bool:
        return self in {ReflectionMode.POST_HOC, ReflectionMode.BOTH}

    @property
    def is_inline(self) -> bool:
        return self in {ReflectionMode.INLINE, ReflectionMode.BOTH}


class LessonSettings(Value):
    """How many of the notebook's lessons a run is told; a share of them is withheld at random, to learn their worth."""

    most: int = Field(default=5, ge=1, le=20)
    holdout_share: Share = 0.1


class NotebookSettings(Value):
    """`reflection` is None where the desk's own setting holds. `lessons` is None where runs are told none."""

    reflection: ReflectionMode | None = None
    lessons: LessonSettings | None = LessonSettings()
    rules_most: int = Field(default=10, ge=1, le=100)
    rules_least_occurrences: int = Field(default=1, ge=1, le=1_000)

    @property
    def holdout_share(self) -> float:
        """From what share of the runs each lesson is withheld; 0 where runs are told none."""
        return self.lessons.holdout_share if self.lessons else 0.0
