"""What moves a run from outside: its answer is there, it is cancelled, a question is answered."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AlreadyAnswered, InvalidInput, RunFinished
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.reviews.own_work import note_hand_in, refuse_own_work
from reflection_app.runs.advance import end_run
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Question, QuestionState, Run, RunState, Step, StepState
from reflection_app.runs.queueing import enqueue

# A run that waited goes on: the waiting step has its result, and the run is queued.


STEP_FIELDS = ("state", "finished_at", "result", "last_event_seq")
RUN_FIELDS = ("state", "waiting_for", "enqueued_at", "last_event_seq")


def resume_run(
    run: Run,
    step: Step,
    result: Any,
    *,
    step_fields: Sequence[str] = (),
    run_fields: Sequence[str] = (),
    **payload: Any,
) -> None:
    """Saves the step as done with `result`, and the locked `run` as queued; workers are told after the commit.

    `step_fields` and `run_fields` are what the caller has changed besides; `payload` goes into the event.
    """
    add_event(run, EventType.RUN_RESUMED, step=step.seq, **payload)
    step.state, step.finished_at, step.last_event_seq = StepState.DONE, timezone.now(), run.last_event_seq
    step.result = result
    step.save(update_fields=[*STEP_FIELDS, *step_fields])
    run.state, run.waiting_for, run.enqueued_at = RunState.QUEUED, "", timezone.now()
    run.save(update_fields=[*RUN_FIELDS, *run_fields])
    transaction.on_commit(lambda: enqueue(run))


# Cancelling a run, whoever has it.


@transaction.atomic
def cancel_run(run: Run, *, actor: Actor) -> Run:
    """The run, ended as cancelled with its best attempt so far. Raises RunFinished where it had ended already.

    A worker in the middle of a step finds its lease gone at its next write and stops.
    """
    locked = Run.objects.select_for_update(of=("self",)).select_related("task").get(pk=run.pk)
    if locked.is_finished:
        raise RunFinished(
            _("The run has already ended (%(outcome)s). Nothing was changed.") % {"outcome": locked.outcome}
        )
    before = locked.state
    end_run(locked, Ended(outcome=Outcome.CANCELLED))
    audit(locked.project_id, actor, "run.cancelled", target=locked, before={"state": before})
    transaction.on_commit(lambda: ring(locked.pk, project_id=locked.project_id))
    return locked


# Answering a question that a run put to a person; the run goes on with what was said.

LONGEST_ANSWER = 10_000


class AnswerInput(Value):
    """One of the question's choices, with a text if the choice is to answer it."""

    choice: Choice
    text: str = Field(default="", max_length=LONGEST_ANSWER)


@transaction.atomic
def answer_question(question: Question, data: AnswerInput, *, actor: Actor) -> Question:
    """The answered question; its run is queued.

    Raises InvalidInput, AlreadyAnswered, or OwnWorkRefused for a call that a model proposed; nothing changed then.

    The state is checked by the very UPDATE that keeps the answer, so that of two people one is heard.
    """
    # The run's lock comes first everywhere, so that nobody waits in a circle.
    run = Run.objects.select_for_update().get(pk=question.run_id)
    check_answer(question, data)
    if data.choice is Choice.ALLOW:
        # Who submitted the work does not approve what its model proposes, and a key least of all.
        refuse_own_work(run.handed_in_by, project_id=run.project_id, actor=actor)
    kept = Question.objects.filter(pk=question.pk, state=QuestionState.OPEN).update(
        state=QuestionState.ANSWERED,
        choice=data.choice.value,
        answer=data.text,
        answered_by=actor.user,
        answered_by_label=actor.label,
        answered_at=timezone.now(),
    )
    question.refresh_from_db()
    if not kept:
        if question.state == QuestionState.WITHDRAWN:
            raise AlreadyAnswered(_("The run has ended and no longer needs an answer. Nothing was changed."))
        raise AlreadyAnswered(
            _("%(name)s has already answered this. Nothing was changed.") % {"name": question.answered_by_label}
        )
    if data.text.strip() and data.choice is not Choice.REFUSE:
        # The next attempt is made from these words.
        note_hand_in(run, actor=actor)
        run.save(update_fields=["handed_in_by"])
    answer = PersonsAnswer(choice=data.choice, text=data.text, by=actor.label)
    add_event(run, EventType.QUESTION_ANSWERED, question=str(question.pk), choice=data.choice.value)
    resume_run(run, question.step, answer.model_dump(mode="json"))
    audit(
        question.project_id,
        actor,
        "question.answered",
        target=question,
        before={"kind": question.kind, "text": question.text} | (question.prepared or {}),
        after={"choice": data.choice.value, "text": data.text},
    )
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    return question


def check_answer(question: Question, data: AnswerInput) -> None:
    """Raises InvalidInput where the question does not offer that choice, or an answer says nothing."""
    if data.choice.value not in question.choices:
        offered = ", ".join(question.choices)
        message = _("Allowed answers: %(offered)s.") % {"offered": offered}
        raise InvalidInput(message, errors=[{"field": "choice", "message": message}])
    if data.choice is Choice.ANSWER and not data.text.strip():
        message = _("Enter an answer; the run continues with it.")
        raise InvalidInput(message, errors=[{"field": "text", "message": message}])
