"""The rows of questions to a person."""

from reflection_app.core.events import EventType, add_event
from reflection_app.loops.questions import Question as QuestionValue
from reflection_app.runs.batch import Batch
from reflection_app.runs.models.question import Question
from reflection_app.runs.models.run import Run, Step


def write_question(run: Run, step: Step, batch: Batch, *, asked: QuestionValue) -> None:
    batch.write()
    row = Question.objects.create(
        project_id=run.project_id,
        run=run,
        step=step,
        kind=asked.kind.value,
        text=asked.text,
        context=list(asked.context),
        choices=[choice.value for choice in asked.choices],
    )
    add_event(run, EventType.QUESTION_ASKED, question=str(row.pk), about=asked.kind.value)
