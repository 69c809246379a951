"""Runs that wait for a person to say which attempt to keep, made by the loop that makes such runs in life."""

from collections.abc import Sequence

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from tests import when

TESTS = "\n".join(f"assert f({number}) == {number * number}" for number in range(1, 8))


def answer(passes: int, *, otherwise: str = "-1", before: str = "") -> str:
    """An answer that passes the first tests, so many of them, and gives `otherwise` on the rest."""
    return f"Here it is.\n\n```python\n{before}def f(n):\n    return n * n if n <= {passes} else {otherwise}\n```"


OPEN_PICK = (answer(1), answer(1, otherwise="n + 100"))
"""Two answers that differ, each with most of the tests against it."""


def move_on(review: Review) -> None:
    """Lets the run of `review` go on as far as it goes."""
    advance(review.run_id)
    review.run.refresh_from_db()


def advanced_run(
    project: Project, *, answers: Sequence[str], tests: str = TESTS, objective: str = "Write f(n)."
) -> Run:
    """A run for code without tests, as far as it goes by itself."""
    script = {"tests/write": f"```python\n{tests}\n```"}
    script |= {f"attempt-{number}/answer": text for number, text in enumerate(answers, 1)}
    model = register_script(f"pick-{project.slug}", script)
    submission = read_submission(
        {"objective": objective, "kind": "code_generation", "limits": {"max_iterations": max(3, len(answers))}}
    )
    run = submit_task(project, submission, actor=Actor(), models={"default": model})
    when.advances(run)
    return run


def unsettled_pick(
    project: Project, *, answers: Sequence[str] = OPEN_PICK, tests: str = TESTS, objective: str = "Write f(n)."
) -> Review:
    """The review that asks which of the attempts to keep."""
    run = advanced_run(project, answers=answers, tests=tests, objective=objective)
    assert run.waiting_for == "unsettled_pick", (run.state, run.outcome, run.error)
    return Review.objects.get(run=run, reason="unsettled_pick", state="waiting")
