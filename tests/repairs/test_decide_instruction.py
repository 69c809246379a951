"""Instructions for agents' system prompts: a person accepts them, and later runs of the agent have them."""

import json
from typing import Any

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AlreadyDecided, Conflict, InvalidInput
from reflection_app.core.models import Project
from reflection_app.repairs.instructions import InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, InstructionState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Step
from reflection_app.tasks.submitting import MOST_INSTRUCTIONS
from tests import given
from tests.loops.reporting import AGENT
from tests.repairs.reports import revised_run

pytestmark = pytest.mark.django_db

TEXT = "至少收集 5 篇论文再停止。"


@pytest.fixture
def actor(project: Project) -> Actor:
    return Actor(user=given.member(project))


def proposed(project: Project, text: str = TEXT, **fields: Any) -> AgentInstruction:
    return AgentInstruction.objects.create(project=project, text=text, **{"agent": AGENT} | fields)


def told(decision: str = "accept", **more: str) -> InstructionInput:
    return InstructionInput.model_validate({"decision": decision} | more)


def test_an_accepted_instruction_stands_in_the_system_prompt_of_the_agents_later_runs(
    project: Project, actor: Actor
) -> None:
    decide_instruction(proposed(project), told(), actor=actor)
    run = revised_run(project)
    asked = Step.objects.get(run=run, key="attempt-1/answer").request
    system = asked["messages"][0]
    assert system["role"] == "system"
    assert TEXT in system["content"]
    other = revised_run(project, agent="somebody-else")
    assert TEXT not in json.dumps(Step.objects.get(run=other, key="attempt-1/answer").request, ensure_ascii=False)


def test_an_outside_agents_run_has_it_too(project: Project, actor: Actor) -> None:
    decide_instruction(proposed(project), told(), actor=actor)
    run = given.submitted_run(project, agent=AGENT, execution="external", mode="actor_critic")
    assert run.get_spec().instructions == (TEXT,)
    advance(run.pk)
    asked = Step.objects.filter(run=run, kind="await_attempt").get().request
    assert TEXT in json.dumps(asked, ensure_ascii=False)


def test_it_can_be_accepted_in_other_words(project: Project, actor: Actor) -> None:
    decided = decide_instruction(proposed(project), told(text=" 收集 5 篇。 "), actor=actor)
    assert (decided.text, decided.state, decided.decided_by_label) == ("收集 5 篇。", "accepted", actor.label)
    entry = AuditEntry.objects.get(action="instruction.decided")
    assert entry.before == {"state": "proposed", "text": TEXT}
    assert entry.after == {"state": "accepted", "text": "收集 5 篇。", "agent": AGENT}


def test_two_instructions_cannot_come_to_the_same_words(project: Project, actor: Actor) -> None:
    decide_instruction(proposed(project), told(), actor=actor)
    other = proposed(project, "Another.")
    with pytest.raises(Conflict, match="already has an identical instruction"):
        decide_instruction(other, told(text=TEXT), actor=actor)
    other.refresh_from_db()
    assert (other.state, other.text) == (InstructionState.PROPOSED, "Another.")
    assert AuditEntry.objects.filter(action="instruction.decided").count() == 1


def test_an_accepted_one_can_be_withdrawn(project: Project, actor: Actor) -> None:
    instruction = decide_instruction(proposed(project), told(), actor=actor)
    assert decide_instruction(instruction, told("withdraw"), actor=actor).state == InstructionState.DECLINED
    assert given.submitted_run(project, agent=AGENT).get_spec().instructions == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("accept", "accept"),
        ("decline", "accept"),
    ],
)
def test_what_is_decided_is_not_decided_again(project: Project, actor: Actor, first: str, second: str) -> None:
    instruction = proposed(project)
    decide_instruction(instruction, told(first), actor=actor)
    with pytest.raises(AlreadyDecided, match=actor.label):
        decide_instruction(instruction, told(second), actor=actor)
    assert AuditEntry.objects.filter(action="instruction.decided").count() == 1


@pytest.mark.parametrize(("decision", "text"), [("accept", " "), ("decline", "words")])
def test_words_that_cannot_be_used_are_refused(project: Project, actor: Actor, decision: str, text: str) -> None:
    instruction = proposed(project)
    with pytest.raises(InvalidInput) as refused:
        decide_instruction(instruction, told(decision, text=text), actor=actor)
    assert refused.value.errors[0]["field"] == "text"
    instruction.refresh_from_db()
    assert (instruction.state, instruction.text) == ("proposed", TEXT)


def test_no_more_are_accepted_than_a_prompt_takes(project: Project, actor: Actor) -> None:
    for number in range(MOST_INSTRUCTIONS):
        decide_instruction(proposed(project, f"Rule {number}"), told(), actor=actor)
    with pytest.raises(Conflict, match="accepted instructions, the maximum for a prompt"):
        decide_instruction(proposed(project), told(), actor=actor)
    decide_instruction(proposed(project, agent="somebody-else"), told(), actor=actor)
