"""Minimum requirements over REST: handed in, refused by field, and told with the verdicts."""

import json
from typing import Any

import pytest

from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

WANTED: dict[str, Any] = {
    "schema": {"type": "object", "required": ["papers"]},
    "required_fields": ["papers[].标题"],
    "counts": [{"name": "关键论文", "path": "papers", "where": {"关键": True}, "min": 3}],
}


def judged_run(project: Project, said: str) -> Run:
    project.review_policy = {"audit_share": 0}
    project.save()
    answer = json.dumps(
        {"papers": [{"标题": "综述", "关键": True}, {"标题": "反思", "关键": True}]}, ensure_ascii=False
    )
    run = given.scripted_run(
        {"attempt-1/answer": answer, "attempt-1/critique": said},
        project=project,
        requirements=WANTED,
        limits={"max_iterations": 1},
    )
    advance(run.pk)
    return run


def test_a_task_is_answered_with_its_requirements_and_its_phase(caller: Caller) -> None:
    task = caller.post("tasks", {"objective": "收集论文", "requirements": WANTED, "phase": "Phase 1.2"}).body
    assert (task["requirements"], task["phase"]) == (WANTED, "Phase 1.2")
    assert task["run"]["mode"] == "reflection_protocol"
    assert caller.get(f"tasks/{task['id']}").body["requirements"] == WANTED
    plain = caller.post("tasks", {"objective": "x"}).body
    assert (plain["requirements"], plain["phase"]) == (None, "")


@pytest.mark.django_db
def test_a_verdict_is_answered_with_its_requirements_and_the_parts_of_its_score(caller: Caller) -> None:
    said = critique(80, approved=True, completeness=70, correctness=90)
    run = judged_run(caller.project, said)
    [attempt] = caller.get(f"runs/{run.pk}/attempts").body["results"]
    [verdict] = attempt["verdicts"]
    assert (verdict["referee"], verdict["verdict"], verdict["score"]) == ("critic", "REVISE", 80)
    assert (verdict["completeness"], verdict["correctness"]) == (70, 90)
    assert [(one["kind"], one["name"], one["met"]) for one in verdict["requirements"]["results"]] == [
        ("schema", "schema", True),
        ("field", "papers[].标题", True),
        ("count", "关键论文", False),
    ]
    short = verdict["requirements"]["results"][2]
    assert (short["expected"], short["actual"]) == ("at least 3 items in papers with 关键 = true", "2")
    assert [issue["category"] for issue in verdict["issues"]] == ["completeness"]
