"""Two people, or a person and the run, at the same moment: one is heard, the other is told, nothing is doubled."""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, ReviewHeld, ReviewLeaseLost
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.questions import Choice
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.instructions import InstructionDecision, InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report, Ticket
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket
from reflection_app.reviews.claiming import claim_next, claim_review, skip_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import OPEN, Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Question, Run, RunState, Step, StepState, Verdict
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run
from reflection_app.tasks.redo import RedoInput, redo_run
from tests import given
from tests.loops.protocol.playing import PLAN, REFLECTION
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.reviews.panels import another_seat, fresh, open_panel, panel_of, people, say, take_seat
from tests.reviews.test_reviews import together
from tests.reviews.waiting_rows import waiting_rows
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


ITEMS, REVIEWERS = int(os.environ.get("REVIEWED_AT_ONCE", "400")), 16


def approve(review: Review, *, actor: Actor) -> Review:
    told = DecisionInput(lease_token=review.lease_token, decision=Decision.APPROVE)
    return decide_review(Review.objects.get(pk=review.pk), told, actor=actor)


def work_off(project: Project, actor: Actor, decided: list[Review], failures: list[BaseException]) -> None:
    """Claims and decides until nothing is left."""
    try:
        while (review := claim_next(project, actor=actor)) is not None:
            decided.append(approve(review, actor=actor))
    except BaseException as failure:  # noqa: BLE001 - whatever it is, the test tells it
        failures.append(failure)
    finally:
        connection.close()


@pytest.mark.exhaustive("sixteen at once, for a while")
def test_sixteen_reviewers_decide_all_items_each_of_them_once() -> None:
    project = given.project(review_policy={"audit_share": 0})
    reviews = waiting_rows(project, ITEMS)
    actors = [Actor(user=given.member(project)) for _ in range(REVIEWERS)]
    decided: list[list[Review]] = [[] for _ in actors]
    failures: list[BaseException] = []
    threads = [
        threading.Thread(target=work_off, args=(project, actor, done, failures))
        for actor, done in zip(actors, decided, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    done = Counter(review.pk for mine in decided for review in mine)
    assert done == Counter(review.pk for review in reviews)
    assert not Review.objects.exclude(state=ReviewState.DECIDED).exists()
    by_whom = {review.pk: actor.label for actor, mine in zip(actors, decided, strict=True) for review in mine}
    assert dict(Review.objects.values_list("pk", "decided_by_label")) == by_whom
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.QUEUED}
    assert Step.objects.filter(state=StepState.WAITING).count() == 0
    for told, many in (("review.claimed", ITEMS), ("review.decided", ITEMS)):
        trail = Counter(AuditEntry.objects.filter(action=told).values_list("target_id", flat=True))
        assert (len(trail), max(trail.values())) == (many, 1), told
    resumed = Counter(Event.objects.filter(type="run.resumed").values_list("run", flat=True))
    assert (len(resumed), max(resumed.values())) == (ITEMS, 1)
    assert Verdict.objects.filter(referee=6).count() == ITEMS
    assert set(Run.objects.values_list("last_event_seq", flat=True)) == {2}


def seats_of_one_panel(project: Project, many: int) -> list[Review]:
    """An open panel with as many free seats."""
    (first,) = waiting_rows(project, 1)
    panel_of(first)
    return [first, *(another_seat(first) for _ in range(many - 1))]


@pytest.mark.parametrize("_", range(4))
def test_one_person_in_many_tabs_gets_one_seat_of_a_panel(_: int, project: Project) -> None:
    seats = seats_of_one_panel(project, 3)
    actor = Actor(user=given.member(project))
    by_name: list[Callable[[], object]] = [
        lambda seat=seat: claim_review(seat, actor=actor)  # type: ignore[misc]
        for seat in seats
    ]
    found = together(*[lambda: claim_next(project, actor=actor)] * 3, *by_name)
    assert Review.objects.filter(state=ReviewState.CLAIMED, holder_label=actor.label).count() == 1
    assert {type(one) for one in found} <= {Review, type(None), ReviewHeld}
    assert claim_next(project, actor=actor) is None
    assert claim_next(project, actor=Actor(user=given.member(project))) is not None


def test_a_hold_that_ran_out_is_taken_over_by_one_of_many_and_the_late_decision_is_refused(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    late = Actor(user=given.member(project))
    held = claim_next(project, actor=late)
    assert held is not None
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    others = [Actor(user=given.member(project)) for _ in range(4)]
    found = together(
        *[lambda one=one: claim_next(project, actor=one) for one in others],
        lambda: approve(held, actor=late),
    )
    taken = [one for one in found if isinstance(one, Review)]
    assert len(taken) == 1
    assert [type(one) for one in found if isinstance(one, ActionError)] == [ReviewLeaseLost]
    approve(taken[0], actor=next(one for one in others if one.label == taken[0].holder_label))
    assert Event.objects.filter(type="run.resumed").count() == 1


def test_what_is_skipped_while_others_claim_is_decided_by_them(project: Project) -> None:
    waiting_rows(project, 12)
    picky, others = Actor(user=given.member(project)), [Actor(user=given.member(project)) for _ in range(3)]

    def skip_all() -> None:
        while (review := claim_next(project, actor=picky)) is not None:
            skip_review(review, actor=picky, lease_token=review.lease_token)

    def decide_all(actor: Actor) -> None:
        while (review := claim_next(project, actor=actor)) is not None:
            approve(review, actor=actor)

    together(skip_all, *[lambda one=one: decide_all(one) for one in others])
    for actor in others:
        decide_all(actor)
    assert not Review.objects.filter(state__in=OPEN).exists()
    assert not Review.objects.filter(decided_by=picky.user).exists()


@pytest.mark.parametrize(
    "verdicts", [(VerdictName.REVISE, VerdictName.REVISE), (VerdictName.REVISE, VerdictName.REJECT)]
)
@pytest.mark.parametrize("_", range(3))
def test_two_last_opinions_at_the_same_moment_settle_it_once(_: int, verdicts: tuple[VerdictName, VerdictName]) -> None:
    panel = open_panel()
    first, *both = people(panel.project, 3)
    say(panel, first, VerdictName.REVISE)
    calls = []
    for actor, verdict in zip(both, verdicts, strict=True):
        held = take_seat(panel, actor)
        assert held.lease_token is not None
        told = DecisionInput(lease_token=held.lease_token, decision=Decision.OVERRULE, verdict=verdict, reason="No.")
        calls.append(lambda held=held, told=told, actor=actor: decide_review(held, told, actor=actor))
    results = together(*calls)

    assert [type(one).__name__ for one in results] == ["Review", "Review"]
    agreed = verdicts[0] == verdicts[1]
    assert (fresh(panel).agreed, Verdict.objects.filter(attempt__run=panel.run_id, referee=6).count()) == (
        agreed,
        int(agreed),
    )
    assert Review.objects.filter(panel=panel, reason="adjudication").count() == int(not agreed)
    seqs = list(Event.objects.filter(run=panel.run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
