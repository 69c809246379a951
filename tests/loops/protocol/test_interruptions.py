"""What breaks off is named, resumed once, and judged as usual."""

from typing import Any

import pytest

from reflection_app.loops.answers import joined
from reflection_app.loops.attempt_effects import (
    Generate,
    HandedIn,
    KeepAttempt,
    RecordPick,
    RecordVerdict,
)
from reflection_app.loops.effect import EffectTimedOut, Spent
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.stages import Classified, Explored, RepairStatus
from reflection_app.loops.task_spec import Execution, Mode
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from tests.loops.playing import play, said
from tests.loops.protocol.playing import (
    FAILED,
    PLAN,
    Desk,
    asked_in,
    cut,
    cut_as_once_kept,
    missing,
    outputs,
    passing,
    plan_of,
    protocol_spec,
    repairs_of,
    reports_of,
    stages,
    tickets_of,
)


def kept(played: Any) -> dict[int, str]:
    return {effect.attempt: effect.content for effect in played.of(KeepAttempt)}


def test_a_call_that_fails_for_good_is_made_once_more_after_all_six_steps() -> None:
    played = play(protocol_spec(), Desk(actor=[FAILED, "the answer"], critic=passing()))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2
    assert kept(played) == {1: "", 2: "the answer"}
    [ticket] = tickets_of(played)
    assert (ticket.trigger, ticket.verdict, ticket.quality_score) == (Trigger.INTERRUPTION, Verdict.REVISE, 0)
    assert stages(played) == ["explore", "reflect", "classify", "plan", "execute", "submit"]
    [classified] = outputs(played, Classified)
    assert classified.type is ErrorClass.PIPELINE_CRASH
    assert classified.facts.broken_phase == "attempt-1/answer"
    assert "the provider refused the call" in reports_of(played)[1].root_cause
    assert [one.status for one in repairs_of(played)] == [RepairStatus.COMPLETED]
    assert [effect.role for effect in played.of(Generate)] == ["actor", "actor", "critic"]
    assert [effect.judgement.attempt for effect in played.of(RecordVerdict)] == [2]


def test_a_call_that_fails_again_fails_the_run_with_the_report_kept() -> None:
    played = play(protocol_spec(), Desk(actor=FAILED))
    assert played.ended.outcome is Outcome.FAILED
    assert played.ended.error == "the provider refused the call"
    assert [one.status for one in repairs_of(played)] == [RepairStatus.FAILED]
    assert [report.repair_actions[0].status for report in reports_of(played)] == [
        RepairStatus.PENDING,
        RepairStatus.FAILED,
    ]


@pytest.mark.parametrize(
    ("fields", "answers", "broken", "attempt"),
    [
        ({"mode": Mode.ACTOR_CRITIC}, {"actor": FAILED}, "attempt-1/answer", 1),
        ({"mode": Mode.ACTOR_CRITIC}, {"critic": FAILED}, "attempt-1/critique", 1),
        ({"mode": Mode.ACTOR_CRITIC}, {"critic": [missing(), FAILED]}, "attempt-2/critique", 2),
        ({"mode": Mode.EXTERNAL_LOOP, "output_schema": {"type": "object"}}, {"actor": FAILED}, "attempt-1/answer", 1),
        ({"mode": Mode.ADAPTIVE, "kind": "creative_writing"}, {"actor": FAILED}, "attempt-1/answer", 1),
        ({"mode": Mode.PLANNING}, {"planner": FAILED, "actor": FAILED}, "", 1),
    ],
)
def test_a_model_that_fails_for_good_ends_any_loop_with_a_report_that_asks_no_model(
    fields: dict[str, Any], answers: dict[str, Any], broken: str, attempt: int
) -> None:
    played = play(protocol_spec(**fields), Desk(**answers))
    assert (played.ended.outcome, played.ended.error) == (Outcome.FAILED, "the provider refused the call")
    ticket, [report] = tickets_of(played)[-1], reports_of(played)
    assert (ticket.trigger, ticket.attempt) == (Trigger.INTERRUPTION, attempt)
    assert (report.type, report.trigger) == (ErrorClass.PIPELINE_CRASH, Trigger.INTERRUPTION)
    assert stages(played) == ["explore", "reflect", "classify", "plan"]
    assert broken in outputs(played, Classified)[0].facts.broken_phase
    *_, last = (place for place, one in enumerate(played.effects) if isinstance(one, Generate))
    assert played.keys.index(f"attempt-{attempt}/ticket") > last


def test_a_revision_that_breaks_off_is_resumed_from_its_last_good_step_with_its_own_prompt() -> None:
    spec = protocol_spec(limits={"max_iterations": 4})
    played = play(spec, Desk(actor=["draft", "notes", FAILED, "revised"], critic=[missing(), passing()]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 3
    assert outputs(played, Explored)[1].last_good_step == "attempt-1/repair-1/kept"
    assert "two papers are missing" in asked_in(played, "attempt-2/repair-1/resume")
    assert PLAN["instruction"] in asked_in(played, "attempt-2/repair-1/resume")


def test_an_answer_that_does_not_come_to_its_end_goes_back_and_is_resumed_there() -> None:
    pieces = [cut("One, "), cut("two, "), cut("three, "), "four."]
    played = play(protocol_spec(), Desk(actor=pieces, critic=passing()))

    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)
    assert kept(played) == {1: "One, two, three, ", 2: "One, two, three, four."}
    told = asked_in(played, "attempt-1/repair-1/resume")
    assert told.index("One, two, three, ") < told.index("cut off")
    assert "attempt-1/critique" not in played.keys
    assert tickets_of(played)[0].trigger is Trigger.INTERRUPTION


def test_one_cut_off_in_a_journal_that_did_not_tell_goes_on_as_it_did() -> None:
    played = play(protocol_spec(), Desk(actor=[cut_as_once_kept("One, two, "), "three."], critic=passing()))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2
    assert kept(played) == {2: "One, two, three."}
    told = asked_in(played, "attempt-1/repair-1/resume")
    assert told.index("One, two, ") < told.index("cut off")
    assert "attempt-1/critique" not in played.keys
    assert tickets_of(played)[0].trigger is Trigger.INTERRUPTION


@pytest.mark.parametrize(
    ("begun", "rest", "whole"),
    [
        ("abc", "def", "abcdef"),
        ("The first line.\nThe second", "The second line.", "The first line.\nThe secondThe second line."),
        ("It ends with this sentence", "ends with this sentence, and more.", "It ends with this sentence, and more."),
        ("0, 0, 0, 0, 0, 0, 0, 0, 0, ", "0, 0, 0, 0, 0, 0, 0, 0, 0, 1", f"{'0, ' * 18}1"),
        ("all", "", "all"),
    ],
)
def test_two_parts_of_an_answer_are_joined_without_saying_the_seam_twice(begun: str, rest: str, whole: str) -> None:
    assert joined(begun, rest) == whole


def test_where_nothing_was_judged_the_attempt_with_an_answer_is_kept_before_the_empty_one() -> None:
    spec = protocol_spec(limits={"token_budget": 100})
    played = play(spec, Desk(actor=[FAILED, said("the answer", tokens=100)]))
    assert played.ended.outcome is Outcome.OVER_BUDGET
    assert played.ended.best_attempt == 2
    assert [effect.pick.attempt for effect in played.of(RecordPick)] == [2]

    unjudged = play(protocol_spec(has_critic=False), Desk(actor=[FAILED, "the answer"]))
    assert (unjudged.ended.outcome, unjudged.ended.best_attempt) == (Outcome.UNVERIFIED, 2)


def test_time_that_runs_out_is_no_interruption() -> None:
    played = play(protocol_spec(), Desk(actor=EffectTimedOut("late", spent=Spent(duration_s=1))))
    assert played.ended.outcome is Outcome.TIMED_OUT
    assert tickets_of(played) == []


def test_an_agent_that_says_that_it_was_interrupted_names_the_broken_phase() -> None:
    check = {"ok": False, "interrupted": True, "phase": "search", "last_good_step": "outline", "issues": ["disk full"]}
    agent = [HandedIn(content="half", self_check=check), HandedIn(content="whole")]
    played = play(protocol_spec(execution=Execution.EXTERNAL), Desk(agent=agent, critic=passing()))

    [classified] = outputs(played, Classified)
    assert classified.type is ErrorClass.PIPELINE_CRASH
    assert (classified.facts.broken_phase, classified.facts.interruption) == ("search", "disk full")
    assert outputs(played, Explored)[0].last_good_step == "outline"
    assert "last step that worked" in asked_in(played, "attempt-1/plan")
    first_step, *others = plan_of(played).repair_steps
    assert "broke the phase “search”, and resume there from the last step that worked" in first_step.action
    assert [step.action for step in others] == ["Widen the terms"]
    assert first_step.action in asked_in(played, "attempt-2/answer")
    assert played.ended.outcome is Outcome.SUCCEEDED
    first = next(effect.judgement for effect in played.of(RecordVerdict))
    assert first.referee is Referee.SELF
