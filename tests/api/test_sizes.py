"""How much may be sent, and how much is answered."""

import pytest

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
