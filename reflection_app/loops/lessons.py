"""Notebook entries in a run's prompts: rules and preferences in all of them, lessons in the first.

A random share of the lessons is held out, as a control group to measure their lift. Rules bind and are never held out.
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
# Most of a run's tokens are for its work. Where every word is rare, a token has as few as two characters.
LESSONS_SHARE = 0.2
CHARACTERS_IN_TOKEN = 2
# Less has no room for a single lesson.
SHORTEST_LESSONS = 800
# The prompt of every attempt contains the rules.
LONGEST_RULES = 8_000
RULES_SHARE = 0.4


class Gate(StrEnum):
    """Reason why an approved entry that was considered for a run is not in its prompts."""

    NOT_RELEVANT = "not_relevant"
    OVER_LIMIT = "over_limit"
    NO_ROOM = "no_room"
    FLAGGED = "flagged"


class Rejected(Value):
    """An entry that was considered and not used.

    `confidence`, for lessons only, is the confidence from 0 to 1 that it concerns the task.
    """

    entry_id: UUID
    version: int
    gate: Gate
    confidence: float | None = None


class Rule(Value):
    """A rule or preference that is in every prompt of the run."""

    entry_id: UUID
    version: int
    kind: Text
    name: Text


class Lesson(Value):
    """A retrieved lesson: why it matched, and the result of the hold-out draw. A withheld one has no text."""

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
    """Result of lesson retrieval.

    `block` is the framed text for the first prompt. `problem` says why nothing could be retrieved.
    """

    block: Text = ""
    lessons: tuple[Lesson, ...] = ()
    used_meaning: bool = False
    # Number of entries considered, the highest confidence that one concerns the task, and the required confidence.
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
    """Retrieve the notebook's lessons for the task, and draw for each whether it is held out.

    The draws are random and stored in the journal, so a replay uses the same lessons.
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
