"""What shows that a repair step is done: the minimum requirements, never that something was written."""

import json
from typing import Any

import pytest

from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep
from reflection_app.loops.protocol.verifying import verified, verified_at_last
from reflection_app.loops.requirements import CountRequirement, Requirements
from tests.loops.protocol.playing import (
    papers,
    protocol_spec,
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
