from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.task_spec import NOT_FOR_TASKS, Mode
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import OTHER_CALLS, TaskSubmission, check_it_can_run, read_submission
from reflection_app.tasks.submitting import submit_task
from tests import given
from tests.runs.critiques import critique
from tests.runs.forking import advanced, forked, step_of, text_run

WANTED: dict[str, Any] = {"counts": [{"path": "论文", "where": {"关键": True}, "min": 3, "name": "关键论文"}]}
CALL = {"tool": "search", "arguments": {}}


def complaints_of(**submission: Any) -> dict[str, str]:
    try:
        check_it_can_run(TaskSubmission.model_validate({"objective": "x", **submission}))
    except InvalidInput as error:
        return {problem["field"]: problem["message"] for problem in error.errors}
    return {}


@pytest.mark.parametrize(
    ("requirements", "field"),
    [
        ({"schema": {"type": "strin"}}, "requirements.schema"),
        (
            {"schema": {"$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}}},
            "requirements.schema",
        ),
        ({"required_fields": ["papers", "a..b"]}, "requirements.required_fields.1"),
        ({"counts": [{"path": "papers[", "min": 1}]}, "requirements.counts.0.path"),
        ({"counts": [{"of": "words", "where": {"a": 1}, "min": 1}]}, "requirements.counts.0.where"),
    ],
)
def test_requirements_that_nothing_can_be_checked_by_are_refused_with_their_field(
    requirements: dict[str, Any], field: str
) -> None:
    assert list(complaints_of(requirements=requirements)) == [field]


@pytest.mark.parametrize("mode", ["external_loop", "actor_critic", "reflexion", "planning"])
def test_a_mode_that_would_pass_over_requirements_refuses_them(mode: str) -> None:
    told = complaints_of(mode=mode, requirements=WANTED, kind="code_generation", tools=["search"])
    assert told["requirements"] == f"{mode} does not use it; choose adaptive or leave it out"


@pytest.mark.parametrize("mode", ["adaptive", "reflection_protocol"])
@pytest.mark.parametrize("more", [{}, {"tools": ["search"]}, {"execution": "external"}, {"chain_of_thought": True}])
def test_requirements_go_with_tools_and_with_an_outside_agent(mode: str, more: dict[str, Any]) -> None:
    assert complaints_of(mode=mode, requirements=WANTED, **more) == {}


@pytest.mark.parametrize(
    ("name", "value"), [("tests", {"script": "assert 1"}), ("output_schema", {}), ("tool_call", CALL)]
)
def test_requirements_do_not_go_with_what_decides_alone(name: str, value: Any) -> None:
    told = complaints_of(requirements=WANTED, **{name: value})
    assert told == {"requirements": f"cannot be given together with {name}: only one of them can decide"}
    assert "does not use it" in complaints_of(mode="reflection_protocol", **{name: value})[name]


@pytest.mark.parametrize("mode", sorted(NOT_FOR_TASKS))
def test_what_is_handed_in_by_a_call_of_its_own_is_no_task_and_the_call_is_named(mode: Mode) -> None:
    assert complaints_of(mode=mode.value)["mode"] == f"{mode.value} {OTHER_CALLS[mode]}"


@pytest.mark.django_db
def test_the_six_steps_need_something_to_judge_by() -> None:
    project = given.project(models_by_role={"critic": "none"})
    with pytest.raises(InvalidInput) as refused:
        submit_task(project, read_submission({"objective": "x", "mode": "reflection_protocol"}), actor=Actor())
    assert [problem["field"] for problem in refused.value.errors] == ["mode"]
    assert "Give minimum requirements" in refused.value.errors[0]["message"]
    assert not Task.objects.exists()


@pytest.mark.django_db
def test_only_a_person_passes_in_a_fork_what_does_not_meet_the_requirements() -> None:
    answers = {"attempt-1/answer": '{"论文": []}', "attempt-1/critique": critique(80, approved=True)}
    parent = text_run(answers, mode="reflection_protocol", requirements=WANTED, limits={"max_iterations": 1})
    verdict = step_of(parent, "attempt-1/verdict")
    with pytest.raises(InvalidInput) as refused:
        forked(parent, verdict.seq, result={"verdict": "PASS", "referee": "critic"})
    assert [problem["field"] for problem in refused.value.errors] == ["result.verdict"]
    assert advanced(forked(parent, verdict.seq, result={"verdict": "PASS"})).outcome == "succeeded"
