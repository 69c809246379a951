"""A question is answered once, by one person, and its run goes on."""

import threading
from typing import Any

import pytest
from django.db import connection

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AlreadyAnswered, InvalidInput
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Question, QuestionState, Run, RunState, StepState
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run
from tests import given
from tests.pace import PATIENCE_S
from tests.runs.questions import PERMISSION, waiting_question

pytestmark = pytest.mark.django_db


def test_an_answer_is_kept_and_the_run_is_queued_with_it() -> None:
    question = waiting_question(given.project())
    assert (question.run.state, question.run.waiting_for) == (RunState.WAITING_REVIEW, "knowledge")
    person = given.member(question.project)
    answer_question(question, AnswerInput(choice=Choice.ANSWER, text="4.2 %"), actor=Actor(user=person))

    run = Run.objects.get(pk=question.run_id)
    step = run.steps.get()
    assert (run.state, run.waiting_for, step.state) == (RunState.QUEUED, "", StepState.DONE)
    sent = PersonsAnswer.model_validate(step.result)
    assert (sent.choice, sent.text, sent.by) == (Choice.ANSWER, "4.2 %", person.username)
    assert AuditEntry.objects.get(action="question.answered").after == {"choice": "answer", "text": "4.2 %"}
    told = list(Event.objects.filter(run=run).order_by("seq").values_list("type", flat=True))
    assert told[-2:] == [EventType.QUESTION_ANSWERED, EventType.RUN_RESUMED]


@pytest.mark.parametrize(
    ("told", "field"),
    [({"choice": "answer", "text": "  \n"}, "text"), ({"choice": "give_up"}, "choice")],
)
def test_what_answers_nothing_is_refused_and_the_question_stays_open(told: dict[str, Any], field: str) -> None:
    question = waiting_question(given.project())
    with pytest.raises(InvalidInput) as refusal:
        answer_question(question, AnswerInput.model_validate(told), actor=Actor())
    assert [error["field"] for error in refusal.value.errors] == [field]
    assert Question.objects.get().state == QuestionState.OPEN


@pytest.mark.django_db(transaction=True)
def test_of_eight_people_at_once_one_is_heard() -> None:
    question = waiting_question(given.project(), PERMISSION)
    all_of_them, heard = threading.Barrier(8), []

    def answer(number: int) -> None:
        try:
            all_of_them.wait(timeout=PATIENCE_S)
            own = Question.objects.select_related("step").get(pk=question.pk)
            choice = Choice.TRY_AGAIN if number % 2 else Choice.SKIP
            answer_question(own, AnswerInput(choice=choice), actor=Actor())
            heard.append(number)
        except AlreadyAnswered:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 1
    assert AuditEntry.objects.filter(action="question.answered").count() == 1
    kept = PersonsAnswer.model_validate(question.run.steps.get().result)
    assert kept.choice is (Choice.TRY_AGAIN if heard[0] % 2 else Choice.SKIP)


def test_a_run_that_ends_takes_its_question_back() -> None:
    question = waiting_question(given.project())
    cancel_run(question.run, actor=Actor())
    assert Question.objects.get().state == QuestionState.WITHDRAWN
    with pytest.raises(AlreadyAnswered, match="The run has ended and no longer needs an answer"):
        answer_question(question, AnswerInput(choice=Choice.SKIP), actor=Actor())
