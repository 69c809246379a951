"""Entries of the notebook in a run's prompts: rules and preferences in all of them, lessons in the first.

Chance withholds a share of the lessons, the control group, so that their lift can be measured. Rules bind and are never
withheld.
"""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from reflection_app.loops.effect import Effect
from reflection_app.loops.project_settings import Share
from reflection_app.loops.storable import Text
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import Value

LONGEST_QUESTION = 4_000
LONGEST_LESSONS = 12_000
# Most of a run's tokens are for its work. A token has as few as two characters where every word is rare.
LESSONS_SHARE = 0.2
CHARACTERS_IN_TOKEN = 2
# With less there is no room for a single one.
SHORTEST_LESSONS = 800
# Rules stand in the prompt of every attempt.
LONGEST_RULES = 8_000
RULES_SHARE = 0.4


class Gate(StrEnum):
    """Why an approved entry that was considered for a run is not in its prompts."""

    NOT_RELEVANT = "not_relevant"
    OVER_LIMIT = "over_limit"
    NO_ROOM = "no_room"
    FLAGGED = "flagged"


class Rejected(Value):
    """An entry that was considered and not used. `confidence`, from 0 to 1, that it concerns the task, for lessons."""

    entry_id: UUID
    version: int
    gate: Gate
    confidence: float | None = None


class Rule(Value):
    """A rule or preference that every prompt of the run holds."""

    entry_id: UUID
    version: int
    kind: Text
    name: Text


class Lesson(Value):
    """One lesson that was recalled: why, and what chance made of it. One that is withheld has no text here."""

    entry_id: UUID
    version: int
    kind: Text
    name: Text
    text: Text = ""
    rank: int
    score: float
    words: tuple[Text, ...] = ()
    likeness: float | None = None
    share: float
    draw: float
    is_withheld: bool


class Lessons(Value):
    """`block` is what the first prompt is told, inside its boundary; `problem` says why nothing could be recalled."""

    block: Text = ""
    lessons: tuple[Lesson, ...] = ()
    used_meaning: bool = False
    # How many entries were looked at, how sure the surest of them was to concern the task, and what is asked of one.
    looked_at: int = 0
    surest: float = 0.0
    least_sure: float = 0.0
    problem: Text = ""
    # For the system prompt of every attempt.
    rules_block: Text = ""
    rules: tuple[Rule, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    @property
    def given(self) -> tuple[Lesson, ...]:
        return tuple(lesson for lesson in self.lessons if not lesson.is_withheld)

    @property
    def withheld(self) -> tuple[Lesson, ...]:
        return tuple(lesson for lesson in self.lessons if lesson.is_withheld)


class RecallLessons(Effect[Lessons]):
    """Look in the notebook for what has to do with the task, and draw for each lesson whether it is told.

    The draws are chance and stand in the journal: a replay tells what was told before.
    """

    kind = "recall_lessons"

    question: Text
    agent: Text = ""
    most: int
    most_characters: Annotated[int, Field(ge=1)]
    share: Share
    # None in journals from before rules were separate from lessons.
    rules_characters: int | None = None


def recall_for(spec: TaskSpec, *, prompts: int = 1) -> RecallLessons | None:
    """Return the effect that retrieves the run's rules and lessons, or None for a run that gets neither.

    `prompts` is the number of prompts that repeat the lessons. Their budget is a share of the run's token budget.
    """
    room = min(LONGEST_LESSONS, int(spec.limits.token_budget * LESSONS_SHARE * CHARACTERS_IN_TOKEN / prompts))
    wants_lessons = spec.lessons is not None and room >= SHORTEST_LESSONS
    if not wants_lessons and not spec.injects_rules:
        return None
    attempts = spec.limits.max_iterations
    rules_room = min(LONGEST_RULES, int(spec.limits.token_budget * RULES_SHARE * CHARACTERS_IN_TOKEN / attempts))
    return RecallLessons(
        key="lessons",
        question=spec.objective[:LONGEST_QUESTION],
        agent=spec.agent,
        most=spec.lessons.most if spec.lessons and wants_lessons else 0,
        most_characters=max(room, 1),
        share=spec.lessons.holdout_share if spec.lessons else 0.0,
        rules_characters=rules_room if spec.injects_rules else None,
    )
