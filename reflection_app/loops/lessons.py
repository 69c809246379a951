"""What a run is told of the notebook before its first attempt, and what chance keeps from it, to learn its worth."""

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


def recall_for(spec: TaskSpec, *, prompts: int = 1) -> RecallLessons | None:
    """The effect that brings the lessons of a run; None where it is told none, or its budget has no room for them.

    `prompts` is how many prompts repeat them.
    """
    room = min(LONGEST_LESSONS, int(spec.limits.token_budget * LESSONS_SHARE * CHARACTERS_IN_TOKEN / prompts))
    if spec.lessons is None or room < SHORTEST_LESSONS:
        return None
    return RecallLessons(
        key="lessons",
        question=spec.objective[:LONGEST_QUESTION],
        agent=spec.agent,
        most=spec.lessons.most,
        most_characters=room,
        share=spec.lessons.holdout_share,
    )
