"""Minimum requirements over REST: handed in, refused by field, and told with the verdicts."""

import json
from typing import Any

import pytest

from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from tests.api.caller import Caller, assert_problem, fields
from tests.runs.critiques import critique
from tests.runs.scripts import scripted_run

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
    run = scripted_run(
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


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"requirements": {}}, "requirements"),
        ({"requirements": {"counts": [{"path": "a", "min": 3, "max": 2}]}}, "requirements.counts.0"),
        ({"requirements": {"counts": [{"of": "pages", "min": 3}]}}, "requirements.counts.0.of"),
        ({"requirements": {"required_fields": ["a["]}}, "requirements.required_fields.0"),
        ({"requirements": {"schema": {"type": "strin"}}}, "requirements.schema"),
        ({"requirements": WANTED, "output_schema": {}}, "requirements"),
        ({"requirements": WANTED, "mode": "actor_critic"}, "requirements"),
        ({"phase": "x" * 121}, "phase"),
        ({"mode": "tool_diagnosis"}, "mode"),
        ({"mode": "completeness_check"}, "mode"),
    ],
)
def test_requirements_that_cannot_be_used_are_refused_with_the_field(
    caller: Caller, more: dict[str, Any], field: str
) -> None:
    answer = caller.post("tasks", {"objective": "x", **more})
    assert_problem(answer, 400)
    assert fields(answer) == [field]
    assert not Task.objects.exists()


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
def test_a_project_without_a_critic_judges_by_the_requirements(caller: Caller) -> None:
    caller.project.models_by_role = {"critic": "none"}
    run = judged_run(caller.project, "")
    [attempt] = caller.get(f"runs/{run.pk}/attempts").body["results"]
    [verdict] = attempt["verdicts"]
    assert (verdict["referee"], verdict["verdict"], verdict["score"]) == ("tests", "REVISE", 66.67)
    assert (verdict["confidence"], verdict["completeness"], verdict["tests"]) == (1.0, None, None)
    nodes = caller.get(f"runs/{run.pk}/graph").body["nodes"]
    assert [node["label"] for node in nodes if node["kind"] == "validation"] == ["Minimum requirements"]
