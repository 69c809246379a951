import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reflection_app.runs.batch import Batch, RowGone
from reflection_app.runs.events import EventType, next_event
from reflection_app.runs.models import Run, Step
from tests import given
from tests.pace import within

pytestmark = pytest.mark.django_db


def step_of(run: Run, seq: int) -> Step:
    return Step(run=run, seq=seq, key=f"step-{seq}", kind="note", request={"it's": seq}, started_at=timezone.now())


def statements_of(batch: Batch) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        batch.write()
    (query,) = seen.captured_queries
    return [
        part.split()[0] + " " + part.split()[2 if part.startswith("INSERT") else 1] for part in query["sql"].split("; ")
    ]


def test_rows_of_one_table_go_in_one_statement() -> None:
    run, batch = given.submitted_run(given.project()), Batch()
    for seq in range(1, 4):
        batch.insert(step_of(run, seq))
        batch.insert(next_event(run, EventType.STEP_STARTED, step=seq))
    assert statements_of(batch) == ['INSERT "reflection_app_step"', 'INSERT "reflection_app_event"']
    kept = Step.objects.filter(run=run).values_list("seq", "key", "request", "cost_known", "result")
    assert list(kept) == [(seq, f"step-{seq}", {"it's": seq}, True, None) for seq in range(1, 4)]
    assert [event.payload["step"] for event in run.events.filter(type=EventType.STEP_STARTED)] == [1, 2, 3]


def test_no_row_is_written_before_what_was_added_before_it_and_could_meet_it() -> None:
    run, batch = given.submitted_run(given.project()), Batch()
    first, again = step_of(run, 1), step_of(run, 1)
    batch.insert(first)
    first.seq, first.key = 2, "step-2"
    batch.update(first, fields=("seq", "key"))
    batch.insert(again)
    batch.add("UPDATE reflection_app_step SET kind = 'seen' WHERE run_id = %s", run.pk)
    batch.insert(step_of(run, 3))
    batch.write()
    kept = Step.objects.filter(run=run).values_list("seq", "kind")
    assert list(kept) == [(1, "seen"), (2, "seen"), (3, "note")]


def test_a_value_that_cannot_be_stored_is_a_fault_of_the_database_as_elsewhere() -> None:
    with pytest.raises(DataError):
        Batch().insert(Step(seq=1, key="nul \0", kind="note", request={}, started_at=timezone.now()))


def test_signs_of_places_in_a_value_are_only_text() -> None:
    run, batch = given.submitted_run(given.project()), Batch()
    step = step_of(run, 1)
    step.error = "100 %s of it; '%(name)s' %%"
    batch.insert(step)
    step.model = "50 %"
    batch.update(step, fields=("model",))
    batch.write()
    assert Step.objects.values_list("error", "model").get(run=run) == (step.error, "50 %")


def test_many_rows_take_as_long_as_there_are_many() -> None:
    run, batch = given.submitted_run(given.project()), Batch()
    with within(paces=50):
        for seq in range(1, 501):
            step = step_of(run, seq)
            step.request = {"text": "x" * 4_000}
            batch.insert(step)
        batch.write()
    assert Step.objects.filter(run=run).count() == 500


def test_a_row_that_has_to_be_there_and_is_not_is_told() -> None:
    run, batch = given.submitted_run(given.project()), Batch()
    here, gone = step_of(run, 1), step_of(run, 2)
    batch.insert(here)
    batch.update(here, fields=("kind",), must_be_there=True)
    batch.update(gone, fields=("kind",))
    batch.write()
    batch.update(here, fields=("kind",), must_be_there=True)
    batch.update(gone, fields=("kind",), must_be_there=True)
    with pytest.raises(RowGone):
        batch.write()
