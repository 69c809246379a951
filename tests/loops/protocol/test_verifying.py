"""What shows that a repair step is done: the minimum requirements, never that something was written."""

import json
from typing import Any

import pytest

from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.effects import RecordStage
from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep, Submitted
from reflection_app.loops.protocol.verifying import verified, verified_at_last
from reflection_app.loops.requirements import CountRequirement, Requirements
from tests.loops.playing import play
from tests.loops.protocol.playing import (
    PAPERS,
    PLAN,
    Desk,
    missing,
    outputs,
    papers,
    passing,
    protocol_spec,
    repairs_of,
    reports_of,
)

TWO = Requirements(required_fields=("summary",), counts=(CountRequirement(path="papers", min=5, name="enough papers"),))
DONE = json.dumps({"papers": [1] * 5, "summary": "s"})
MENDS = RepairStep(action="Collect more", mends=("Enough papers",))


def stands(step: RepairStep, before: str, after: str, *, is_only: bool = True, **spec: Any) -> str:
    task = protocol_spec(**spec)
    status, why = verified(
        step, before=requirements_of(task, before), after=requirements_of(task, after), is_only=is_only
    )
    assert why
    return status.value


@pytest.mark.parametrize(
    ("step", "after", "is_only", "status"),
    [
        (RepairStep(action="Think about it"), DONE, False, "written"),
        (RepairStep(action="Think about it"), DONE, True, "completed"),
        (RepairStep(action="Think about it"), papers(5), True, "failed"),
        (MENDS, papers(5), False, "completed"),
        (MENDS, papers(4), False, "failed"),
        (RepairStep(action="Shorten it", mends=("length",)), DONE, True, "written"),
    ],
)
def test_the_requirements_that_it_was_to_mend_decide(step: RepairStep, after: str, is_only: bool, status: str) -> None:
    assert stands(step, papers(3), after, is_only=is_only, requirements=TWO) == status


def test_a_step_of_which_nothing_can_be_seen_is_written_whatever_it_says() -> None:
    assert stands(RepairStep(action="Improve it"), "draft", "Done! All requirements hold now.") == "written"
    assert stands(MENDS, papers(5), papers(5), requirements=TWO, is_only=False) == "written", "it held before"


def test_only_what_a_model_wrote_is_looked_at_again() -> None:
    task = protocol_spec(requirements=TWO)
    tool = MENDS.model_copy(update={"kind": RepairKind.TOOL})
    done = [
        Executed(number=1, repair=MENDS, status=RepairStatus.WRITTEN),
        Executed(number=2, repair=tool, status=RepairStatus.COMPLETED),
        Executed(number=3, repair=MENDS, status=RepairStatus.FAILED, error="no answer"),
    ]
    before, after = (requirements_of(task, papers(many)) for many in (3, 5))
    changed = verified_at_last(done, before=before, after=after, planned=3)
    assert [(one.number, one.status) for one in changed] == [(1, RepairStatus.COMPLETED)]


def test_a_plan_is_done_as_far_as_its_steps_are_completed() -> None:
    steps = [{"action": "Collect", "mends": ["items in papers"]}, {"action": "Polish it"}]
    plan = json.dumps(PLAN | {"repair_steps": steps})
    actor = [papers(3), papers(5), "It is polished now.", papers(5)]
    played = play(protocol_spec(requirements=PAPERS), Desk(actor=actor, critic=[missing(), passing()], plan=plan))
    assert {one.number: one.status for one in repairs_of(played)} == {1: "completed", 2: "written"}
    records = [effect.record for effect in played.of(RecordStage)]
    submitted = next(record for record in records if isinstance(record.output, Submitted))
    assert (submitted.input["repairs_completed"], submitted.input["repairs"]) == (1, 2)
    assert outputs(played, Submitted)[0].ready_for_re_evaluation
    final = reports_of(played)[-1].repair_actions
    assert [bool(action.why) for action in final] == [True, True]
