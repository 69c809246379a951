"""Minimum requirements on the pages: handed in, checked, and told with every verdict."""

import json
from typing import Any

import pytest
from django.test import Client

from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

WANTED: dict[str, Any] = {
    "required_fields": ["papers[].title"],
    "counts": [
        {"name": "论文数量", "path": "papers", "min": 5},
        {"name": "关键论文", "path": "papers", "where": {"关键": True}, "min": 3},
    ],
}
TYPED = {"objective": "收集论文", "mode": "reflection_protocol", "max_iterations": "1"}


def papers(total: int, key: int) -> str:
    listed = [{"title": f"论文 {number}", "关键": number <= key} for number in range(1, total + 1)]
    return json.dumps({"papers": listed}, ensure_ascii=False)


def test_requirements_of_the_form_reach_the_run(client: Client) -> None:
    member = given.logged_in(client, given.project("asked"))
    assert member.post("/p/asked/tasks/new/", TYPED | {"requirements": json.dumps(WANTED)}).status_code == 302
    run = Run.objects.get()
    assert (run.mode, run.task.requirements) == ("reflection_protocol", WANTED)
    required = run.get_spec().requirements
    assert required is not None
    assert [count.name for count in required.counts] == ["论文数量", "关键论文"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ('{"files": [{"path": "a.csv", "kind": "wav"}]}', "files.0.kind: "),
        ('{"counts": [{"path": "a..b", "min": 1}]}', "counts.0.path: &#x27;a..b&#x27; is no path"),
    ],
)
def test_requirements_that_cannot_be_used_are_told_at_their_field(client: Client, typed: str, said: str) -> None:
    member = given.logged_in(client, given.project("wrong"))
    response = member.post("/p/wrong/tasks/new/", TYPED | {"requirements": typed, "external_id": "keep-me"})
    assert response.status_code == 400
    assert said in response.text
    assert 'id="error-requirements"' in response.text
    assert 'value="keep-me"' in response.text
    assert '<details class="more" open>' in response.text
    assert not Task.objects.exists()


def test_hostile_text_in_requirements_and_answers_stays_text(client: Client) -> None:
    wanted = {"schema": {"additionalProperties": False}, "counts": [{"name": given.HOSTILE, "path": "x", "min": 1}]}
    project = given.scripted_project(
        "hostile", {"attempt-1/answer": json.dumps({given.HOSTILE: given.HOSTILE}), "attempt-1/critique": critique(60)}
    )
    run = given.advanced_run(project, requirements=wanted, limits={"max_iterations": 1})
    page = given.logged_in(client, project).get(f"/p/hostile/runs/{run.pk}/").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<b onclick" not in page
