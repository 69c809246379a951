"""Recalling over REST in the name of a run: whoever asks cannot make its draws before the run does."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from notebook_app.models import Exposure
from reflection_app.core.models import Scope
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.repairs.tickets import external_run
from tests.runs.test_lessons import TASK, haiku_run, lesson, project_telling

pytestmark = pytest.mark.django_db


def asked(caller: Caller, subject: str) -> Any:
    answer = caller.get("notebook/recall", q=TASK, **{"for": subject})
    assert answer.status == 200
    return answer.body


@pytest.mark.parametrize("write", [str, lambda run_id: run_id.hex.upper()])
def test_what_a_run_will_be_told_by_the_desk_is_not_drawn_by_another(write: Callable[[UUID], str]) -> None:
    project = project_telling(0.5)
    for number in range(5):
        lesson(project, f"Haiku rule {number}", f"{TASK} Rule {number}.")
    run = haiku_run(project)
    caller = given.caller(project, [Scope.NOTEBOOK_READ])
    assert len(asked(caller, write(run.pk))["entries"]) == 5
    assert not Exposure.objects.exists()
    advance(run.pk)
    draws = {one.entry_id: one.is_withheld for one in Exposure.objects.filter(subject=str(run.pk))}
    assert len(draws) == 5
    told = asked(caller, write(run.pk))
    assert {one["id"] for one in told["entries"]} == {str(entry) for entry, withheld in draws.items() if not withheld}
    assert Exposure.objects.count() == 5


def test_a_run_of_an_outside_agent_is_known_however_its_id_is_written() -> None:
    run: Run = external_run()
    lesson(run.project, TASK)
    caller = given.caller(run.project, [Scope.NOTEBOOK_READ])
    asked(caller, str(run.pk).upper())
    asked(caller, run.pk.hex)
    assert [one.subject for one in Exposure.objects.all()] == [str(run.pk)]
