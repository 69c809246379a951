"""Scripted models for runner tests, and runs that use them."""

from itertools import count
from typing import Any

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from tests.factories import WAYS, make_project

_numbers = count(1)

TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}, {"args": [5], "expected": 6}]}
WRONG = "```python\ndef f(x):\n    return 2\n```"
RIGHT = "```python\ndef f(x):\n    return x + 1\n```"


def scripted_run(
    answers: dict[str, str], *, project: Project | None = None, actor: Actor | None = None, **submission: Any
) -> Run:
    """A queued run whose models answer with `answers`, by step key."""
    model = register_script(f"test-{next(_numbers)}", answers)
    submission.setdefault("objective", "Write something.")
    if not WAYS & submission.keys():
        submission["kind"] = "creative_writing"
    by, told = actor or Actor(), read_submission(submission)
    return submit_task(project or make_project(), told, actor=by, models={"default": model})


def code_run(answers: dict[str, str], **submission: Any) -> Run:
    """A queued run of the external loop."""
    return scripted_run(answers, tests=TESTS, **submission)
