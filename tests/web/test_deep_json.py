"""JSON in forms that is nested so deeply that code which recurses would give up, or worse."""

import json

import pytest
from django.test import Client

from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.tools.making import http_tool
from tests.runs.test_forks_pages import told_run

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
DEPTHS = (70, 20_000)


def nested(depth: int) -> str:
    return '{"not":' * depth + "true" + "}" * depth


@pytest.fixture(scope="module")
def scene(module_transaction: None) -> Run:
    return told_run("deep")


@pytest.fixture
def run(client: Client, scene: Run) -> Run:
    given.logged_in(client, scene.project)
    return scene


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("output_schema", '{"not": %s}'),
        ("output_schema", '{"const": %s}'),
        ("tests", '{"entry_point": "f", "cases": [{"args": [%s], "expected": 1}]}'),
    ],
)
def test_a_task_is_refused(client: Client, run: Run, depth: int, name: str, form: str) -> None:
    response = client.post("/p/deep/tasks/new/", {"objective": "x", name: form % nested(depth)})
    assert response.status_code == 400
    assert Task.objects.count() == 1


@pytest.mark.parametrize("name", ["tests", "requirements"])
def test_a_task_of_very_many_unknown_keys_is_refused(client: Client, run: Run, name: str) -> None:
    typed = json.dumps({f"k{number}": 1 for number in range(201_000)})
    response = client.post("/p/deep/tasks/new/", {"objective": "x", name: typed})
    assert response.status_code == 400
    # What was typed is in it again; of the errors there are few.
    assert len(response.content) < 20 * len(typed)
    assert Task.objects.count() == 1


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("form", ['{"type": "object", "properties": {"a": %s}}', '{"type": "object", "const": %s}'])
def test_a_tools_schema_is_refused(client: Client, run: Run, depth: int, form: str) -> None:
    typed = {"name": "t", "method": "GET", "url": "http://127.0.0.1:9/", "parameters": form % nested(depth)}
    assert client.post("/p/deep/tools/new/", typed).status_code == 400
    assert not run.project.tools.exists()


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_tool_is_not_called(client: Client, run: Run, depth: int) -> None:
    tool = http_tool(run.project, "http://127.0.0.1:9/")
    page = client.post(f"/p/deep/tools/{tool.pk}/try/", {"arguments": nested(depth)}).text
    assert "nest" in page
