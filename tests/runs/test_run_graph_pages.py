import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.runs.models import Run, Step
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db
DRAWING = re.compile(r'<details id="run-graph".*?</svg>', re.DOTALL)


def drawing_of(client: Client, project: Project, run: Run) -> str:
    page = given.logged_in(client, project).get(f"/p/{project.slug}/runs/{run.pk}/").text
    found = DRAWING.search(page)
    assert found
    return found[0]


def add_step(run: Run, seq: int, kind: str, **fields: Any) -> None:
    values: dict[str, Any] = {"key": f"attempt-{seq}/x", "request": {}, "state": "done", "started_at": run.created_at}
    Step.objects.create(run=run, seq=seq, kind=kind, **(values | fields))


def test_each_node_leads_to_its_step(client: Client) -> None:
    project = given.scripted_project(
        "drawn", {"attempt-1/answer": "A text.", "attempt-1/critique": critique(91, approved=True)}
    )
    run = given.advanced_run(project, mode="actor_critic")
    drawing = drawing_of(client, project, run)
    assert re.findall(r'href="(/p/[^"]+)"', drawing) == [f"/p/drawn/runs/{run.pk}/steps/{seq}/" for seq in (1, 2)]
    assert all(client.get(address).status_code == 200 for address in re.findall(r'href="(/p/[^"]+)"', drawing))
    assert "style=" not in drawing
    assert 'role="group" aria-label="Graph of this run' in drawing


def test_hostile_labels_are_inert(client: Client) -> None:
    project = given.unsure_project("hostile-graph")
    run = given.submitted_run(project)
    add_step(
        run,
        1,
        "call_tool",
        request={"tool": given.HOSTILE},
        result={"ok": False, "error": given.HOSTILE},
        attempt_number=1,
    )
    add_step(run, 2, given.HOSTILE[:40], key=given.HOSTILE, attempt_number=1)
    add_step(run, 3, "generate", state="failed", error=given.HOSTILE, key=f"attempt-1/{uuid4()}")
    add_step(run, 4, "choose_loop", result={"mode": given.HOSTILE})
    add_step(run, 5, "record_verdict", request={"judgement": [given.HOSTILE]}, attempt_number=2)
    page = given.logged_in(client, project).get(f"/p/{project.slug}/runs/{run.pk}/").text
    assert "&lt;script&gt;" in page
    assert not re.search(r"<script(?! (?:(?:defer|type=\"module\") )?src=\"/static/)|<img|<b onclick", page)
