import json

import pytest

from reflection_app.loops.attempt_effects import (
    AskPerson,
    Generate,
    RecordPick,
)
from reflection_app.loops.effects import FindSimilarIssues, IssueTicket, RecordStage
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.stages import Classified, Explored, RepairStatus, StageRecord, Submitted
from reflection_app.loops.task_spec import Redo
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Issue, Outcome, Verdict
from tests.loops.playing import decided, play, said
from tests.loops.protocol.playing import (
    PAPERS,
    PLAN,
    Desk,
    asked_in,
    missing,
    outputs,
    papers,
    passing,
    protocol_spec,
    repairs_of,
    reports_of,
    stages,
    tickets_of,
)
from tests.runs.critiques import critique

SIX = ["explore", "reflect", "classify", "plan", "execute", "submit"]


def test_an_attempt_that_passes_at_once_is_neither_sent_back_nor_reflected_on() -> None:
    played = play(protocol_spec(), Desk(critic=passing()))
    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.keys == ["attempt-1/answer", "attempt-1/critique", "attempt-1/verdict"]


def test_what_the_critic_sends_back_goes_through_the_six_steps_and_is_judged_again() -> None:
    played = play(protocol_spec(), Desk(actor=["draft", "widened", "revised"], critic=[missing(), passing()]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2
    assert stages(played) == SIX
    [ticket] = tickets_of(played)
    assert (ticket.trigger, ticket.verdict, ticket.quality_score) == (Trigger.CRITIC_EVALUATION, Verdict.REVISE, 40)
    assert ticket.target_agent == "academic-researcher"
    revision = asked_in(played, "attempt-2/answer")
    for part in ("Collect papers on agents.", "draft", "two papers are missing", "too careful", "widened"):
        assert part in revision
    assert [one.output for one in repairs_of(played)] == ["widened"]


def test_the_report_is_kept_before_the_repair_and_again_under_its_name_with_how_it_went() -> None:
    played = play(protocol_spec(), Desk(critic=[missing(), passing()]))
    first, final = reports_of(played)
    assert (first.reflection_id, first.revised_attempt) == ("", None)
    assert [one.status for one in first.repair_actions] == [RepairStatus.PENDING]
    assert (final.reflection_id, final.revised_attempt) == ("ref_20260101_120000_1", 2)
    assert [one.status for one in final.repair_actions] == [RepairStatus.WRITTEN]
    assert final.repair_actions[0].why
    assert final.root_cause == "The search was too careful."
    assert final.type is ErrorClass.DECISION_ERROR
    assert not final.is_fallback
    assert played.keys.index("attempt-1/report") < played.keys.index("attempt-1/repair-1/work")


def test_each_step_tells_what_it_was_given() -> None:
    played = play(protocol_spec(file_names=("notes.txt",)), Desk(critic=[missing(), passing()]))
    records = [effect.record for effect in played.of(RecordStage)]
    assert all(record.input and record.ticket_id == "rewind_20260101_120000_1" for record in records)
    assert records[0].input["trigger"] == "critic_evaluation"
    [explored] = outputs(played, Explored)
    assert (explored.characters, explored.excerpt, explored.files) == (5, "draft", ("notes.txt",))


def test_an_attempt_whose_requirements_do_not_hold_never_passes_and_the_requirement_is_the_trigger() -> None:
    played = play(protocol_spec(requirements=PAPERS), Desk(actor=[papers(3), papers(4), papers(5)], critic=passing()))
    assert played.ended.outcome is Outcome.SUCCEEDED
    assert [ticket.trigger for ticket in tickets_of(played)] == [Trigger.FAILED_REQUIREMENT]
    assert "papers" in tickets_of(played)[0].issues[0].description
    assert "Minimum requirements" in asked_in(played, "attempt-1/answer")


def test_a_revised_output_that_misses_requirements_goes_round_again_without_the_critic() -> None:
    actor = [papers(3), "notes", papers(4), "notes", papers(6)]
    played = play(protocol_spec(requirements=PAPERS), Desk(actor=actor, critic=[missing(), passing()]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 3
    assert "attempt-2/critique" not in played.keys
    first, second = outputs(played, Submitted)
    assert (first.ready_for_re_evaluation, second.ready_for_re_evaluation) == (False, True)
    assert first.remaining_issues
    assert reports_of(played)[1].remaining_issues == first.remaining_issues
    assert [ticket.trigger for ticket in tickets_of(played)] == [
        Trigger.CRITIC_EVALUATION,
        Trigger.FAILED_REQUIREMENT,
    ]


def test_without_a_critic_the_requirements_alone_decide() -> None:
    spec = protocol_spec(requirements=PAPERS, has_critic=False)
    played = play(spec, Desk(actor=[papers(1), "notes", papers(5)]))
    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2


def test_where_nothing_can_judge_the_attempt_is_unverified_and_no_verdict_is_made_up() -> None:
    played = play(protocol_spec(has_critic=False), Desk())
    assert played.ended.outcome is Outcome.UNVERIFIED
    assert played.keys == ["attempt-1/answer"]


def test_a_critic_without_a_usable_answer_does_not_stop_what_misses_its_requirements() -> None:
    critic = ["hm", "hm", "hm", passing()]
    played = play(protocol_spec(requirements=PAPERS), Desk(actor=[papers(1), "notes", papers(5)], critic=critic))
    assert tickets_of(played)[0].trigger is Trigger.FAILED_REQUIREMENT
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_over_correction_counts_what_the_critic_scored_and_nothing_else() -> None:
    actor = [papers(3), "notes", papers(4), "notes", papers(5), papers(6)]
    spec = protocol_spec(requirements=PAPERS, limits={"max_iterations": 4})
    played = play(spec, Desk(actor=actor, critic=[missing(45), missing(60), passing()]))
    assert played.ended.outcome is Outcome.SUCCEEDED

    worse = play(protocol_spec(limits={"max_iterations": 9}), Desk(critic=[missing(60), missing(50)]))
    assert worse.ended.outcome is Outcome.OVER_CORRECTED
    assert worse.ended.best_attempt == 1


def test_a_persons_review_sends_back_with_the_persons_words() -> None:
    back = decided(Verdict.REVISE, reason="Name the venues.")
    unsure = critique(90, approved=True, confidence=0.2)
    played = play(protocol_spec(), Desk(critic=[unsure, passing()], reviewer=back))
    [ticket] = tickets_of(played)
    assert ticket.trigger is Trigger.PERSONS_REVIEW
    assert ticket.repair_plan == ("Name the venues.",)
    assert "Name the venues." in asked_in(played, "attempt-2/answer")


def test_the_last_attempt_that_falls_short_ends_the_run_without_another_ticket() -> None:
    played = play(protocol_spec(limits={"max_iterations": 1}), Desk(critic=missing()))
    assert played.ended.outcome is Outcome.EXHAUSTED
    assert tickets_of(played) == []


def test_a_persons_order_begins_with_the_old_answer_and_no_critic_is_asked_of_it() -> None:
    redo = Redo(content="the old answer", instructions="Add the venues.", score=80)
    played = play(protocol_spec(redo=redo), Desk(actor=["notes", "the new answer"], critic=passing()))

    assert played.keys[:3] == ["attempt-1/kept", "attempt-1/verdict", "attempt-1/ticket"]
    [ticket] = tickets_of(played)
    assert (ticket.trigger, ticket.quality_score) == (Trigger.PERSONS_ORDER, 80)
    assert ticket.repair_plan == ("Add the venues.",)
    assert "the old answer" in asked_in(played, "attempt-2/answer")
    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2


def test_a_persons_order_with_room_for_one_attempt_is_told_with_that_attempt() -> None:
    redo = Redo(content="the old answer", instructions="Add the venues.")
    played = play(protocol_spec(redo=redo, limits={"max_iterations": 1}), Desk(critic=passing()))
    assert "Add the venues." in asked_in(played, "attempt-1/answer")
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_ticket_that_a_person_edited_in_a_fork_is_the_one_that_is_classified_and_reported() -> None:
    desk = Desk(critic=[missing(), passing()])
    said_instead = Issue(description="the venues are left out", category="format", severity="low")

    def edited(effect: object) -> object:
        ticket = desk(effect)  # type: ignore[arg-type]
        if not isinstance(effect, IssueTicket):
            return ticket
        return ticket.model_copy(update={"issues": (said_instead,), "quality_score": 45})

    played = play(protocol_spec(), edited)
    [similar] = played.of(FindSimilarIssues)
    assert similar.issues == reports_of(played)[0].issues == (said_instead,)
    facts = outputs(played, Classified)[0].facts
    assert (facts.score, "two papers are missing" in facts.why_completed) == (45, False)
    assert "the venues are left out" in asked_in(played, "attempt-1/reflect")


def test_a_step_that_was_edited_into_another_step_fails_the_run_by_name() -> None:
    desk = Desk(critic=missing())

    def edited(effect: object) -> object:
        if isinstance(effect, RecordStage) and effect.key == "attempt-1/classify":
            return StageRecord(attempt=1, ticket_id="t", output=Explored())
        return desk(effect)  # type: ignore[arg-type]

    played = play(protocol_spec(), edited)
    assert played.ended.outcome is Outcome.FAILED
    assert "'classify'" in played.ended.error


def test_calls_stay_few_one_answer_two_reflections_one_step_and_two_critiques() -> None:
    played = play(protocol_spec(), Desk(critic=[missing(), passing()]))
    roles = [effect.role for effect in played.of(Generate)]
    assert roles == ["actor", "critic", "reflector", "reflector", "actor", "actor", "critic"]
    assert not played.of(RecordPick)


@pytest.mark.parametrize("content", ["draft", "I do not know which ones."])
def test_no_person_is_asked_where_a_limit_leaves_no_call_that_could_use_the_answer(content: str) -> None:
    plan = json.dumps(PLAN | {"repair_steps": [{"action": "Ask the team", "kind": "person"}]})
    desk = Desk(actor=content, critic=[missing(), passing()], plan=said(plan, tokens=2_000_000))
    run = play(protocol_spec(), desk)
    assert run.ended.outcome is Outcome.OVER_BUDGET
    assert not run.of(AskPerson)
    assert {action.status for action in reports_of(run)[-1].repair_actions} == {RepairStatus.PENDING}
