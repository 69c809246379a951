import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from reflection_app.runs.models import Run, Step
from tests import given

pytestmark = pytest.mark.django_db


def add_step(run: Run, seq: int, kind: str, **fields: Any) -> None:
    values: dict[str, Any] = {"key": f"attempt-{seq}/x", "request": {}, "state": "done", "started_at": run.created_at}
    Step.objects.create(run=run, seq=seq, kind=kind, **(values | fields))


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
