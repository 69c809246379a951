"""What a run was told of the notebook, and what chance kept from it."""

from dataclasses import dataclass

from reflection_app.loops.effects import Lesson, Lessons, RecallLessons
from reflection_app.notebook.views.notebook_words import KINDS, Words
from reflection_app.runs.models.run import Run, Step, StepState
from reflection_app.web.hidden_characters import revealed


@dataclass(frozen=True)
class ToldLesson:
    """One lesson with why it was recalled."""

    lesson: Lesson

    @property
    def name(self) -> str:
        return revealed(self.lesson.name)

    @property
    def text(self) -> str:
        return revealed(self.lesson.text)

    @property
    def kind_words(self) -> Words:
        return next((words for kind, words in KINDS.items() if kind == self.lesson.kind), self.lesson.kind)

    @property
    def words(self) -> str:
        return ", ".join(self.lesson.words)

    @property
    def likeness_percent(self) -> int | None:
        """How near it is in meaning; None where meaning was not asked, or did not find it."""
        likeness = self.lesson.likeness
        return None if likeness is None else max(0, round(100 * likeness))


@dataclass(frozen=True)
class Told:
    """`recalled` is None as long as the notebook was not asked."""

    recalled: Lessons | None

    @property
    def given(self) -> list[ToldLesson]:
        return [ToldLesson(lesson) for lesson in self.recalled.given] if self.recalled else []

    @property
    def withheld(self) -> list[ToldLesson]:
        return [ToldLesson(lesson) for lesson in self.recalled.withheld] if self.recalled else []


def told_to(run: Run) -> Told | None:
    """What the run was told; None for runs that are told nothing."""
    if run.spec.get("lessons") is None:
        return None
    steps = Step.objects.filter(run=run, kind=RecallLessons.kind, state=StepState.DONE)
    result = steps.values_list("result", flat=True).first()
    return Told(Lessons.model_validate(result) if result else None)
