"""How much may be sent, and how much is answered."""

import pytest
from pytest_django.fixtures import Settings

from reflection_app.core.audit import AuditEntry
from reflection_app.tasks.models import Task
from tests.api.caller import Caller, assert_problem, fields

pytestmark = pytest.mark.django_db


def test_metadata_has_a_limit(caller: Caller) -> None:
    answer = caller.post("tasks", {"objective": "x", "metadata": {"note": "é" * 8_200}})
    assert_problem(answer, 400)
    assert fields(answer) == ["metadata"]
    assert "16,384" in answer.body["errors"][0]["message"]
    assert not Task.objects.exists()
    assert caller.post("tasks", {"objective": "x", "metadata": {"note": "é" * 8_100}}).status == 201


def test_tests_have_a_limit(caller: Caller) -> None:
    tests = {"entry_point": "f", "cases": [{"args": ["x" * 100_000], "expected": number} for number in range(11)]}
    answer = caller.post("tasks", {"objective": "x", "tests": tests})
    assert_problem(answer, 400)
    assert fields(answer) == ["tests"]
    assert not Task.objects.exists()


def test_of_very_many_errors_the_first_are_told_and_how_many_there_are(caller: Caller) -> None:
    answer = caller.post("tasks", {"objective": "x"} | {f"unknown-{number}": 1 for number in range(20_000)})
    assert_problem(answer, 400)
    assert len(answer.body["errors"]) == 51
    assert answer.body["errors"][-1] == {"field": "", "message": "and 19950 more"}


def test_of_a_batch_as_well(caller: Caller) -> None:
    answer = caller.post("tasks/batch", {"tasks": [{f"unknown-{number}": 1 for number in range(9)}] * 20})
    assert_problem(answer, 400)
    assert len(answer.body["errors"]) == 51
    # Of each task nine unknown names and the missing objective.
    assert answer.body["errors"][-1]["message"] == "and 150 more"


def test_a_name_that_is_very_long_is_told_shortened(caller: Caller) -> None:
    answer = caller.post("tasks", {"objective": "x", "y" * 100_000: 1})
    assert_problem(answer, 400)
    assert len(fields(answer)[0]) == 200


@pytest.mark.parametrize("said", ["abc", "1.2.3.4:80"])
def test_a_forwarded_address_that_is_none_is_not_audited(caller: Caller, settings: Settings, said: str) -> None:
    settings.PRODUCTION = True
    assert caller.post("tasks", {"objective": "x"}, x_forwarded_for=said).status == 201
    assert set(AuditEntry.objects.values_list("address", flat=True)) == {None}
