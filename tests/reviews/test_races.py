"""Two people, or a person and the run, at the same moment: one is heard, the other is told, nothing is doubled."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.questions import Choice
from reflection_app.repairs.instructions import InstructionDecision, InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report, Ticket
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Question, Run, RunState, Step, StepState
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run
from reflection_app.tasks.redo import RedoInput, redo_run
from tests import given
from tests.loops.protocol.playing import PLAN, REFLECTION
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.reviews.test_reviews import together
from tests.runs.critiques import critique
from tests.runs.questions import waiting_question

pytestmark = pytest.mark.django_db(transaction=True)

# Who comes first is chance.
TIMES = 4
A_PERSON = Actor()
ANSWERS = {
    "attempt-1/answer": "draft",
    "attempt-1/critique": critique(40),
    "attempt-1/reflect": json.dumps(REFLECTION),
    "attempt-1/plan": json.dumps(PLAN),
    "attempt-1/repair-1/work": "notes",
    "attempt-2/answer": "revised",
    "attempt-2/critique": critique(90, approved=True),
}


def names(results: list[Any]) -> list[str]:
    return sorted(type(result).__name__ for result in results)


def check_it_is_consistent(run: Run) -> None:
    """The run is at rest: nothing of it is open unless somebody can still bring it, and its events are whole."""
    run.refresh_from_db()
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
    if run.is_finished:
        assert not Ticket.objects.filter(run=run, state__in=["open", "in_progress"]).exists()
        assert not Question.objects.filter(run=run, state="open").exists()
        assert not Step.objects.filter(run=run, state__in=[StepState.STARTED, StepState.WAITING]).exists()
    else:
        waits = Step.objects.filter(run=run, state=StepState.WAITING).count()
        assert waits == (run.state in {RunState.WAITING_AGENT, RunState.WAITING_REVIEW, RunState.WAITING_TIME})


def at_once(run: Run, *calls: Callable[[], Any]) -> list[str]:
    found = names(together(*calls))
    check_it_is_consistent(run)
    return found


@pytest.mark.parametrize("_", range(TIMES))
def test_a_ticket_closed_while_its_repair_is_handed_in(_: int) -> None:
    run = external_run()
    ticket = ticket_of(run)
    found = at_once(
        run,
        lambda: close_ticket(Ticket.objects.get(pk=ticket.pk), ClosingInput(reason="no use"), actor=A_PERSON),
        lambda: hand_in_attempt(Run.objects.get(pk=run.pk), AttemptInput(content="revised"), actor=A_PERSON),
        lambda: start_ticket(Ticket.objects.get(pk=ticket.pk), actor=A_PERSON),
        lambda: cancel_run(Run.objects.get(pk=run.pk), actor=A_PERSON),
    )
    assert "Exception" not in found
    ticket.refresh_from_db()
    assert (ticket.state, run.outcome) == ("closed", "cancelled")
    assert Event.objects.filter(run=run, type="ticket.ended").count() == 1
    assert Event.objects.filter(run=run, type="run.finished").count() == 1


@pytest.mark.parametrize("_", range(TIMES))
def test_a_ticket_closed_while_its_run_goes_on_and_ends(_: int) -> None:
    run = external_run()
    ticket = ticket_of(run)
    hand_in_attempt(run, AttemptInput(content="revised"), actor=A_PERSON)
    at_once(
        run,
        lambda: advance(run.pk),
        lambda: advance(run.pk),
        lambda: close_ticket(Ticket.objects.get(pk=ticket.pk), ClosingInput(reason="no use"), actor=A_PERSON),
    )
    assert Event.objects.filter(run=run, type="ticket.ended", payload__ticket=ticket.ticket_id).count() <= 1
    ticket.refresh_from_db()
    assert ticket.state in {"closed", "superseded"}


@pytest.mark.parametrize("_", range(TIMES))
def test_a_question_answered_twice_while_its_run_is_cancelled(_: int) -> None:
    question = waiting_question(given.project())

    def answer(choice: Choice, text: str = "") -> Question:
        fresh = Question.objects.select_related("step").get(pk=question.pk)
        return answer_question(fresh, AnswerInput(choice=choice, text=text), actor=A_PERSON)

    run = question.run
    found = at_once(
        run,
        lambda: answer(Choice.ANSWER, "five percent"),
        lambda: answer(Choice.SKIP),
        lambda: cancel_run(Run.objects.get(pk=run.pk), actor=A_PERSON),
    )
    assert found.count("Run") == 1
    assert found.count("Question") + found.count("AlreadyAnswered") == 2
    assert found.count("Question") <= 1
    question.refresh_from_db()
    assert question.state == ("answered" if "Question" in found else "withdrawn")


@pytest.mark.parametrize("_", range(TIMES))
def test_a_class_corrected_by_two_people_who_saw_the_same(_: int) -> None:
    run = begun_run(given.project())
    report = kept_report(run)
    seen = ErrorClass(report.error_type)
    others = [one for one in ErrorClass if one is not seen][:2]
    found = at_once(
        run,
        *[
            lambda one=one: correct_class(
                Report.objects.get(pk=report.pk),
                CorrectionInput(type=one, reason="I read it", before=seen),
                actor=A_PERSON,
            )
            for one in others
        ],
    )
    assert found == ["ClassMovedOn", "Report"]
    assert ClassCorrection.objects.filter(report=report).count() == 1


@pytest.mark.parametrize("_", range(TIMES))
def test_an_instruction_accepted_and_declined_at_once(_: int) -> None:
    project = given.project()
    row = AgentInstruction.objects.create(project=project, agent="porter", text="Look first.")

    def decide(decision: InstructionDecision) -> AgentInstruction:
        told = InstructionInput(decision=decision)
        return decide_instruction(AgentInstruction.objects.get(pk=row.pk), told, actor=A_PERSON)

    found = names(together(*[lambda one=one: decide(one) for one in InstructionDecision] * 2))
    assert set(found) == {"AgentInstruction", "AlreadyDecided"}
    row.refresh_from_db()
    assert row.state in {"accepted", "declined"}


@pytest.mark.parametrize("_", range(TIMES))
def test_a_class_corrected_and_a_run_cancelled_while_its_report_is_kept_again(_: int) -> None:
    project = given.project(review_policy={"audit_share": 0})
    task: dict[str, Any] = {"mode": "reflection_protocol", "agent": "porter", "limits": {"token_budget": 100_000}}
    plan = PLAN | {"repair_steps": [{"action": "Ask", "kind": "person"}]}
    run = given.scripted_run(ANSWERS | {"attempt-1/plan": json.dumps(plan)}, project=project, **task)
    advance(run.pk)
    answer_question(
        Question.objects.get(run=run), AnswerInput(choice=Choice.ANSWER, text="five percent"), actor=A_PERSON
    )
    report = Report.objects.get(run=run)
    told = CorrectionInput(type=ErrorClass.MODEL_CAPABILITY, reason="I read it")
    at_once(
        run,
        lambda: advance(run.pk),
        lambda: advance(run.pk),
        lambda: correct_class(Report.objects.get(pk=report.pk), told, actor=A_PERSON),
    )
    report.refresh_from_db()
    assert (run.outcome, report.corrected_type) == ("succeeded", ErrorClass.MODEL_CAPABILITY)
    assert report.content["revised_attempt"] == 2
    assert Report.objects.filter(run=run).count() == 1


def test_two_orders_at_once_are_two_runs_that_disturb_neither_each_other_nor_the_old_one() -> None:
    project = given.project(review_policy={"audit_share": 0})
    run = given.scripted_run(ANSWERS, project=project, mode="actor_critic")
    advance(run.pk)
    found = at_once(
        run, *[lambda: redo_run(Run.objects.get(pk=run.pk), RedoInput(instructions="Again."), actor=A_PERSON)] * 2
    )
    assert found == ["Run", "Run"]
    assert Event.objects.filter(run=run, type="run.redone").count() == 2
