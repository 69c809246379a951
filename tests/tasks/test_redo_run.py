"""A person's order to do again what a finished run did."""

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import CannotRedo, InvalidInput
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import cancel_run
from reflection_app.tasks.redo import RedoInput, redo_run
from tests import given, when
from tests.runs.critiques import critique
from tests.runs.forking import everything_of, text_run

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def finished_twice(module_transaction: None) -> Run:
    return text_run()


@pytest.fixture
def run(finished_twice: Run) -> Run:
    """A finished run of two attempts, the same for all tests."""
    return Run.objects.get(pk=finished_twice.pk)


def redone(run: Run, instructions: str = "Half as long.", **wanted: object) -> Run:
    return redo_run(run, RedoInput(instructions=instructions, **wanted), actor=Actor(user=given.member(run.project)))


def test_the_order_is_a_run_of_its_own_that_begins_with_the_best_answer(run: Run) -> None:
    before = everything_of(run)
    child = redone(run)

    spec = child.get_spec()
    assert spec.redo is not None
    assert (spec.redo.content, spec.redo.attempt, spec.redo.instructions) == ("second", 2, "Half as long.")
    assert (spec.redo.verdict.value, spec.redo.score) == ("PASS", 90)
    assert (child.mode, spec.mode) == ("reflection_protocol", Mode.REFLECTION_PROTOCOL)
    assert (child.parent_id, child.task_id, child.forked_from_step) == (run.pk, run.task_id, None)
    assert (child.fork_note, child.forked_by_label) == ("Half as long.", spec.redo.by)
    assert spec.limits == run.get_spec().limits
    assert spec.models == run.get_spec().models
    trail = AuditEntry.objects.get(action="run.redone")
    assert (trail.target_id, trail.after["parent"], trail.after["attempt"]) == (child.pk, str(run.pk), 2)
    told = Event.objects.get(run=run, type="run.redone")
    assert told.payload == {"redo": str(child.pk), "attempt": 2}
    told.delete()
    assert everything_of(run) == before


def test_another_attempt_can_be_named_and_one_that_is_not_there_cannot(run: Run) -> None:
    spec = redone(run, attempt=1).get_spec()
    assert spec.redo is not None
    assert (spec.redo.content, spec.redo.verdict.value, spec.redo.score) == ("first", "REVISE", 40)
    with pytest.raises(InvalidInput, match="Attempt not found") as refused:
        redone(run, attempt=7)
    assert refused.value.errors == [{"field": "attempt", "message": "the run has no attempt 7; it made 1, 2"}]


def test_work_with_a_real_signal_stays_in_its_mode_and_is_told_the_order() -> None:
    run = given.scripted_run({"attempt-1/answer": given.RIGHT}, tests=given.TESTS)
    when.advances(run)
    child = redone(run, "Write it without a loop.")
    assert child.mode == "external_loop"
    advance(child.pk)
    told = child.steps.get(key="attempt-1/answer").request["messages"]
    assert "def f(x)" in told[-2]["content"]
    assert "Write it without a loop." in told[-1]["content"]


@pytest.mark.parametrize("instructions", ["", " \n\t "])
def test_without_instructions_it_is_refused(run: Run, instructions: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        redone(run, instructions)
    assert refused.value.errors[0]["field"] == "instructions"
    assert not run.forks.exists()


def test_a_run_under_way_or_without_an_attempt_is_refused() -> None:
    run = given.scripted_run({"attempt-1/answer": "first", "attempt-1/critique": critique(40)}, project=given.project())
    with pytest.raises(CannotRedo, match="still under way"):
        redone(run)
    cancel_run(run, actor=Actor())
    run.refresh_from_db()
    with pytest.raises(CannotRedo, match="made no attempt"):
        redone(run)


@pytest.mark.parametrize("mode", [Mode.INLINE_REFLECTION, Mode.TOOL_DIAGNOSIS, Mode.COMPLETENESS_CHECK])
def test_what_was_handed_in_by_a_call_of_its_own_is_handed_in_again(run: Run, mode: Mode) -> None:
    Run.objects.filter(pk=run.pk).update(mode=mode.value)
    with pytest.raises(CannotRedo, match=r"again|new session"):
        redone(run)
