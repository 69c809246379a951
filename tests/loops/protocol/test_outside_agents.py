"""With an outside agent the analysis is ours, and it carries out the plan."""

import json
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import AskPerson, Generate, HandedIn, HandedInRepair
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.self_checks import is_content, issues_of
from reflection_app.loops.protocol.stages import Classified, Explored, RepairStatus
from reflection_app.loops.task_spec import Execution
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import play
from tests.loops.protocol.playing import (
    PAPERS,
    PLAN,
    STEP,
    Desk,
    answered,
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

TWO_STEPS = json.dumps(PLAN | {"repair_steps": [STEP, {"action": "Count them", "expected_outcome": "five"}]})


def agent_spec(**fields: Any) -> Any:
    return protocol_spec(execution=Execution.EXTERNAL, **fields)


def test_the_agent_is_told_ticket_analysis_class_and_the_numbered_plan_and_its_word_fills_the_report() -> None:
    done = HandedInRepair(step=1, status=RepairStatus.COMPLETED, output="two more terms")
    agent = [HandedIn(content="draft"), HandedIn(content="revised", repairs=(done,))]
    played = play(agent_spec(), Desk(agent=agent, critic=[missing(), passing()], plan=TWO_STEPS))

    assert played.ended.outcome is Outcome.SUCCEEDED
    told = asked_in(played, "attempt-2/answer")
    for part in (
        "rewind_20260101_120000_1",
        "too careful",
        "3.3.2",
        "1. Widen the terms",
        "2. Count them",
        PLAN["hint"],
    ):
        assert part in told
    assert [effect.role for effect in played.of(Generate)] == [
        "critic",
        "reflector",
        "reflector",
        "critic",
    ]
    assert [(one.status, one.output) for one in repairs_of(played)] == [
        (RepairStatus.WRITTEN, "two more terms"),
        (RepairStatus.PENDING, ""),
    ]
    assert [one.status for one in reports_of(played)[1].repair_actions] == [
        RepairStatus.WRITTEN,
        RepairStatus.PENDING,
    ]
    assert "the agent says that it is done" in repairs_of(played)[0].why
    assert stages(played) == ["explore", "reflect", "classify", "plan", "execute", "execute", "submit"]


def test_an_agents_word_on_a_step_holds_where_its_work_shows_it() -> None:
    mends = {"action": "Collect more", "mends": ["items in papers"]}
    plan = json.dumps(PLAN | {"repair_steps": [mends, {"action": "Read it again"}]})
    said = tuple(HandedInRepair(step=step, status=RepairStatus.COMPLETED) for step in (1, 2))
    agent = [HandedIn(content=papers(3)), HandedIn(content=papers(5), repairs=said)]
    desk = Desk(agent=agent, critic=[missing(), passing()], plan=plan)
    played = play(agent_spec(requirements=PAPERS), desk)
    assert [one.status for one in repairs_of(played)] == [RepairStatus.COMPLETED, RepairStatus.WRITTEN]

    agent[1] = HandedIn(content=papers(4), repairs=said)
    again = play(agent_spec(requirements=PAPERS), Desk(agent=agent, critic=[missing(), passing()], plan=plan))
    assert [one.status for one in repairs_of(again)[:2]] == [RepairStatus.FAILED, RepairStatus.WRITTEN]


def test_an_agent_that_finds_itself_wanting_goes_back_without_the_critic() -> None:
    check = {"ok": False, "issues": ["no sources", {"description": "too short"}]}
    agent = [HandedIn(content="draft", self_check=check), HandedIn(content="better", self_check={"ok": True})]
    played = play(agent_spec(), Desk(agent=agent, critic=passing()))

    [ticket] = tickets_of(played)
    assert ticket.trigger is Trigger.SELF_CHECK
    assert [issue.description for issue in ticket.issues] == ["no sources", "too short"]
    assert "attempt-1/critique" not in played.keys
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_an_agent_that_names_what_it_does_not_know_is_answered_before_it_goes_on() -> None:
    check = {"ok": False, "unknown": "Which venues count"}
    agent = [HandedIn(content="draft", self_check=check), HandedIn(content="better")]
    played = play(agent_spec(), Desk(agent=agent, critic=passing(), person=answered("ACL and EMNLP.")))

    assert outputs(played, Classified)[0].type is ErrorClass.MISSING_KNOWLEDGE
    assert outputs(played, Classified)[0].facts.quote == "Which venues count"
    assert "ACL and EMNLP." in asked_in(played, "attempt-2/answer")
    assert [effect.key for effect in played.of(AskPerson)] == ["attempt-1/repair-1/ask"]
    assert [one.status for one in repairs_of(played)] == [RepairStatus.COMPLETED, RepairStatus.PENDING]


def test_what_came_with_an_attempt_is_in_the_snapshot() -> None:
    artifacts: tuple[dict[str, Any], ...] = ({"path": "out/papers.json"}, {"size": 3})
    agent = [HandedIn(content="draft", artifacts=artifacts), HandedIn(content="better")]
    played = play(agent_spec(), Desk(agent=agent, critic=[missing(), passing()]))
    assert outputs(played, Explored)[0].artifacts == ("out/papers.json", '{"size": 3}')


@pytest.mark.parametrize(
    ("check", "content"),
    [
        (None, True),
        ({}, True),
        ({"ok": True}, True),
        ({"ok": False}, False),
        ({"ok": "no"}, False),
        ({"ok": True, "interrupted": True}, False),
        ({"interrupted": True}, False),
        ({"issues": ["x"]}, False),
        ({"issues": []}, True),
        ({"unknown": "x"}, False),
        ({"ok": None, "issues": [None, {}, 7, [[]]]}, False),
    ],
)
def test_whether_an_agent_is_content(check: Any, content: bool) -> None:
    assert is_content(check) is content


def test_issues_of_any_form_are_read() -> None:
    check: Any = {"issues": [None, {}, 7, [[]], {"issue": "a"}, {"message": "b"}, " c ", ""]}
    assert issues_of(check) == ("7", "a", "b", "c")
