import time

import pytest
from django.test import Client

from reflection_app.adapters.live import is_watched
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams.models import Tool
from tests import given
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db
TESTS = '{"entry_point": "add", "cases": [{"args": [1, 2], "expected": 3}]}'


@pytest.fixture
def member(client: Client) -> Client:
    return given.logged_in(client, given.project("tasks"))


def test_a_task_is_handed_in_and_its_run_opened(member: Client) -> None:
    typed = {"objective": "Write add", "mode": "adaptive", "tests": TESTS, "max_iterations": "5", "external_id": "A-1"}
    response = member.post("/p/tasks/tasks/new/", typed)
    run = Run.objects.get()
    assert response.status_code == 302
    assert response["Location"] == f"/p/tasks/runs/{run.pk}/"
    assert run.mode == "external_loop"
    assert run.get_spec().limits.max_iterations == 5
    assert run.task.external_id == "A-1"
    assert run.task.created_by is not None


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"objective": "x", "mode": "nonsense"}, "error-mode"),
        (
            {"objective": "x", "tests": "{not json"},
            "Invalid JSON: Expecting property name enclosed in double quotes, line 1, column 2.",
        ),
        ({"objective": "x", "mode": "external_loop"}, "needs something that can check the answer"),
        ({"objective": "x", "mode": "external_loop"}, '<details class="more" open>'),
        ({"objective": "x", "max_iterations": "1.5"}, "A whole number from 1 to 20."),
        (
            {"objective": "x", "tests": '{"script": "def test_it(:\\n  assert f()"}'},
            "script: line 1, column 13: invalid syntax",
        ),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(member: Client, typed: dict[str, str], said: str) -> None:
    response = member.post("/p/tasks/tasks/new/", typed | {"external_id": "keep-me"})
    assert response.status_code == 400
    assert said in response.text
    assert 'value="keep-me"' in response.text
    assert not Task.objects.exists()


def test_the_first_answer_is_streamed_for_the_page_that_is_about_to_open(member: Client) -> None:
    member.post("/p/tasks/tasks/new/", {"objective": "x"})
    run = Run.objects.get()
    until = time.monotonic() + PATIENCE_S
    while not (watched := is_watched(run.pk)) and time.monotonic() < until:
        time.sleep(0.01)
    assert watched


def test_the_further_wishes_reach_the_run(member: Client) -> None:
    project = Project.objects.get(slug="tasks")
    Tool.objects.create(project=project, name="search", kind="builtin", description="Finds things.")
    assert "Finds things." in member.get("/p/tasks/tasks/new/").text
    schema = '{"type": "array"}'
    member.post("/p/tasks/tasks/new/", {"objective": "x", "output_schema": schema, "chain_of_thought": "on"})
    member.post("/p/tasks/tasks/new/", {"objective": "x", "tools": "search"})
    member.post("/p/tasks/tasks/new/", {"objective": "x", "kind": "reasoning"})
    data, planned, thought = (run.get_spec() for run in Run.objects.order_by("created_at"))
    assert (data.mode, data.output_schema, data.chain_of_thought) == ("external_loop", {"type": "array"}, True)
    assert (planned.mode, [tool.name for tool in planned.tools]) == ("planning", ["search"])
    assert thought.mode == "reflexion"


def test_a_review_that_the_form_requires_reaches_the_run_and_comes_back_with_a_refused_form(member: Client) -> None:
    member.post("/p/tasks/tasks/new/", {"objective": "x", "review": "required"})
    member.post("/p/tasks/tasks/new/", {"objective": "y"})
    assert [run.get_spec().requires_review for run in Run.objects.order_by("created_at")] == [True, False]
    page = member.post("/p/tasks/tasks/new/", {"objective": " ", "review": "required"}).text
    assert 'name="review" value="required" checked' in page
