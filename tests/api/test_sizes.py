"""How much may be sent, and how much is answered."""

import pytest
from pytest_django.fixtures import Settings

from reflection_app.core.audit import AuditEntry
from reflection_app.tasks.models import Task
from tests import then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def test_metadata_has_a_limit(caller: Caller) -> None:
    answer = caller.post("tasks", {"objective": "x", "metadata": {"note": "é" * 8_200}})
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["metadata"]
    assert "16,384" in answer.body["errors"][0]["message"]
    assert not Task.objects.exists()
    assert caller.post("tasks", {"objective": "x", "metadata": {"note": "é" * 8_100}}).status == 201


def test_tests_have_a_limit(caller: Caller) -> None:
    tests = {"entry_point": "f", "cases": [{"args": ["x" * 100_000], "expected": number} for number in range(11)]}
    answer = caller.post("tasks", {"objective": "x", "tests": tests})
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["tests"]
    assert not Task.objects.exists()


def test_of_very_many_errors_the_first_are_told_and_how_many_there_are(caller: Caller) -> None:
    answer = caller.post("tasks", {"objective": "x"} | {f"unknown-{number}": 1 for number in range(20_000)})
    then.refused(answer, 400)
    assert len(answer.body["errors"]) == 51
    assert answer.body["errors"][-1] == {"field": "", "message": "and 19950 more"}


@pytest.mark.parametrize("said", ["abc", "1.2.3.4:80"])
def test_a_forwarded_address_that_is_none_is_not_audited(caller: Caller, settings: Settings, said: str) -> None:
    settings.PRODUCTION = True
    assert caller.post("tasks", {"objective": "x"}, x_forwarded_for=said).status == 201
    assert set(AuditEntry.objects.values_list("address", flat=True)) == {None}
