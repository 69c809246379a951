import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.runs import recorded_steps
from reflection_app.runs.models import Run, Step
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def test_a_very_long_run_is_bounded_and_takes_few_queries(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(recorded_steps, "MOST_STEPS", 50)
    run = given.code_run({}, project=caller.project)
    _make_steps(run, 55)
    caller.get("runs")
    with django_assert_max_num_queries(4):
        graph = caller.get(f"runs/{run.pk}/graph").body
    assert graph["steps_left_out"] == 5
    assert len(graph["nodes"]) == 51
    assert graph["nodes"][-1]["step"] == 55


def _make_steps(run: Run, count: int) -> None:
    Step.objects.bulk_create(
        Step(run=run, seq=seq, key=f"note-{seq}", kind="note", state="done", request={}, started_at=run.created_at)
        for seq in range(1, count + 1)
    )
