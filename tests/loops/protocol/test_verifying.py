"""What shows that a repair step is done: never that something was written."""

import json
from typing import Any

import pytest

from reflection_app.loops.effects import RecordStage
from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep, Submitted
from reflection_app.loops.protocol.verifying import Work, verified, verified_at_last
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


def stands(
    step: RepairStep, before: str, after: str, *, is_only: bool = True, is_final: bool = True, **spec: Any
) -> str:
    task = protocol_spec(**spec)
    status, why = verified(step, before=Work(task, before), after=Work(task, after), is_only=is_only, is_final=is_final)
    assert why
    return status.value


@pytest.mark.parametrize("output", ["Done! I have fixed everything, all requirements hold now.", "x" * 5_000])
def test_a_step_of_which_nothing_can_be_seen_is_written_whatever_it_says(output: str) -> None:
    assert stands(RepairStep(action="Improve it"), "draft", output) == "written"


def test_the_requirement_that_it_was_to_mend_decides() -> None:
    step = RepairStep(action="Collect more", mends=("Enough papers",))
    full, half = json.dumps({"papers": [1] * 5}), json.dumps({"papers": [1] * 4, "summary": "s"})
    assert stands(step, papers(3), full, requirements=TWO) == "completed", "the other one is another step's"
    assert stands(step, papers(3), half, requirements=TWO) == "failed"
    assert stands(step, papers(3), half, requirements=TWO, is_final=False) == "written"


def test_a_step_that_names_none_of_several_mends_none() -> None:
    step = RepairStep(action="Think about it")
    done = json.dumps({"papers": [1] * 5, "summary": "s"})
    assert stands(step, papers(3), done, requirements=TWO, is_only=False) == "written"
    assert stands(step, papers(3), done, requirements=TWO, is_only=True) == "completed"
    assert stands(step, papers(3), done, requirements=TWO, is_only=False, is_final=False) == "completed", "it wrote it"


def test_a_step_in_the_words_of_the_requirement_is_about_it() -> None:
    step = RepairStep(action="Bring the number to what is required: at least 5 items in papers")
    assert stands(step, papers(3), papers(5), requirements=PAPERS, is_only=False) == "completed"
    assert stands(step, papers(5), papers(5), requirements=PAPERS, is_only=False) == "written", "it held before"


@pytest.mark.parametrize(
    ("deliverable", "before", "after", "status"),
    [
        ("Limitations", "# Report", "# Report\n\n## 3. Limitations\nNone.", "completed"),
        ("Limitations", "# Report", "**Limitations:**\nNone.", "completed"),
        ("局限性", "# 报告", "# 报告\n## 三、局限性\n无", "completed"),
        ("Limitations", "# Report", "I have added the section Limitations, as you asked.", "failed"),
        ("Limitations", "## Limitations", "## Limitations\nmore", "written"),
        ("summary", '{"papers": []}', '{"papers": [], "summary": "three"}', "completed"),
        ("summary", '{"papers": []}', '{"papers": [], "summary": ""}', "failed"),
        ("papers[].title", '{"papers": [{}]}', '{"papers": [{"title": "a"}]}', "completed"),
        ("parse_dates()", "def read(): ...", "```python\ndef parse_dates(text):\n    ...\n```", "completed"),
        ("parse_dates", "def read(): ...", "call parse_dates(text) first", "failed"),
        ("", "a", "b", "written"),
        ("*", "a", "b", "written"),
        ("[[", "{}", "{}", "failed"),
    ],
)
def test_what_it_was_to_bring_has_to_be_there_and_not_before(
    deliverable: str, before: str, after: str, status: str
) -> None:
    assert stands(RepairStep(action="Do it", deliverable=deliverable.strip("*")), before, after) == status


def test_a_step_that_was_mended_and_lost_again_in_the_revised_output_has_failed() -> None:
    task = protocol_spec(requirements=PAPERS)
    step = RepairStep(action="Collect more", mends=("items in papers",))
    brought = RepairStep(action="List the terms", deliverable="Terms")
    done = [
        Executed(number=1, repair=step, status=RepairStatus.COMPLETED, why="it holds now"),
        Executed(number=2, repair=brought, status=RepairStatus.COMPLETED, why="it is there now: Terms"),
        Executed(number=3, repair=step.model_copy(update={"kind": RepairKind.TOOL}), status=RepairStatus.COMPLETED),
        Executed(number=4, repair=step, status=RepairStatus.FAILED, error="no answer"),
    ]
    changed = verified_at_last(done, before=Work(task, papers(3)), after=Work(task, papers(4)), planned=4)
    assert [(one.number, one.status) for one in changed] == [(1, RepairStatus.FAILED)]


def test_a_plan_is_done_as_far_as_its_steps_are_completed() -> None:
    steps = [{"action": "Collect", "mends": ["items in papers"]}, {"action": "Polish it"}]
    plan = json.dumps(PLAN | {"repair_steps": steps})
    actor = [papers(3), papers(5), "It is polished now.", papers(5)]
    played = play(protocol_spec(requirements=PAPERS), Desk(actor=actor, critic=[missing(), passing()], plan=plan))
    assert [one.status for one in repairs_of(played)] == [RepairStatus.COMPLETED, RepairStatus.WRITTEN]
    records = [effect.record for effect in played.effects if isinstance(effect, RecordStage)]
    submitted = next(record for record in records if isinstance(record.output, Submitted))
    assert (submitted.input["repairs_completed"], submitted.input["repairs"]) == (1, 2)
    assert outputs(played, Submitted)[0].ready_for_re_evaluation
    final = reports_of(played)[-1].repair_actions
    assert [bool(action.why) for action in final] == [True, True]
