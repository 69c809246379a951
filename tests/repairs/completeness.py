"""Runs whose completeness is checked, made by really running them on scripted models."""

from itertools import count
from typing import Any

from reflection_app.adapters.llm.scripted import ScriptedAnswer, register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.completeness import CheckSubmission, check_completeness
from reflection_app.runs.models import Run
from reflection_app.teams.models import Tool
from reflection_app.teams.tools import ToolInput, create_tool
from tests import given, when
from tests.loops.completeness.scenes import call_of, checked, planned, wanted
from tests.runs.critiques import critique

_numbers = count(1)

SAVE = wanted("读取第二个文件", "任务要求比较两个文件", "read_file", quote="比较两个文件")
FILES = [{"path": "一.txt", "content": "门是蓝色的。"}, {"path": "二.txt", "content": "墙是白色的。"}]
INCOMPLETE = checked(SAVE, analysis="不完整：只读了一个文件", missing=["第二个文件"])
STORY: dict[str, Any] = {
    "attempt-1/plan/make": planned(("0", "读取第一个文件", "read_file")),
    "attempt-1/step-1/arguments": call_of("read_file", path="一.txt"),
    "attempt-1/completeness": ScriptedAnswer(
        text=INCOMPLETE, prompt_tokens=200, completion_tokens=50, cost_usd="0.001"
    ),
    "attempt-1/supplement/plan/make": planned(("s1-read", "读取第二个文件", "read_file")),
    "attempt-1/supplement/step-1/arguments": call_of("read_file", path="二.txt"),
    "attempt-1/second-look/completeness": checked(analysis="两个文件都读了"),
    "attempt-1/answer": "门是蓝色的，墙是白色的。",
    "attempt-1/critique": critique(90, approved=True),
}


def reading_project(**fields: Any) -> Project:
    """A project that can read files, and whose runs draw no audits."""
    fields.setdefault("review_policy", {"audit_share": 0})
    project = given.project(fields.pop("slug", f"complete-{next(_numbers)}"), **fields)
    create_tool(project, ToolInput(name="read_file", kind="builtin", config={"name": "read_file"}), actor=Actor())
    return project


def supplemented(project: Project, answers: dict[str, Any] | None = None, **submission: Any) -> Run:
    """A run that planned, was found incomplete, was supplemented, and answered; as far as it goes by itself."""
    run = planned_run(project, answers, **submission)
    when.advances(run)
    return run


def planned_run(project: Project, answers: dict[str, Any] | None = None, **submission: Any) -> Run:
    """Such a run, queued."""
    assert Tool.objects.filter(project=project, name="read_file").exists()
    submission = {
        "kind": "compare",
        "objective": "比较两个文件里的颜色。",
        "limits": {"token_budget": 50_000},
    } | submission
    return given.scripted_run(STORY | (answers or {}), project=project, tools=["read_file"], files=FILES, **submission)


def completeness_check(project: Project, said: str = INCOMPLETE, **submission: Any) -> Run:
    """The queued run of a handed-in history, which a script checks."""
    project.models_by_role = {"default": register_script(f"checker-{next(_numbers)}", {"history/completeness": said})}
    project.save(update_fields=["models_by_role"])
    body = {
        "objective": "比较两个文件里的颜色。",
        "history": [{"operation": "读取第一个文件", "tool": "read_file", "result": "门是蓝色的。"}],
        "tools": [{"name": "read_file"}],
    }
    return check_completeness(project, CheckSubmission.model_validate(body | submission), actor=Actor())
