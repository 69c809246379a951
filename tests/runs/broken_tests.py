"""Runs whose task came with broken tests, made by the loop that makes such runs in life."""

from typing import Any

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from tests import when

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
WRONG = "```python\ndef add(a, b):\n    return a - b\n```"


def run_with_script(project: Project, script: str, *answers: str, **submission: Any) -> Run:
    """The run of a task with this test script, as far as it goes; its models answer RIGHT where nothing is given."""
    told = {f"attempt-{number}/answer": text for number, text in enumerate(answers or (RIGHT, RIGHT, RIGHT), 1)}
    model = register_script(f"broken-{project.slug}-{Run.objects.count()}", told)
    task = read_submission({"objective": "Write add(a, b).", "tests": {"script": script}} | submission)
    run = submit_task(project, task, actor=Actor(), models={"default": model})
    when.advances(run)
    return run
