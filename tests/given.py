"""Given: users, projects, runs and reviews for a test, made by the actions that make them in life."""

from collections.abc import Sequence
from itertools import count
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.test import Client

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import ApiKey, Membership, OwnWork, Project, Role, Scope
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from reflection_app.teams.projects import USUAL_SCOPES, create_api_key
from tests import when
from tests.api.caller import Caller
from tests.runs.critiques import critique

PASSWORD = "a-long-test-password"
# The scopes of a key that submits and decides.
BOTH = (*USUAL_SCOPES, Scope.REVIEWS_WRITE)
# What decides by itself which loop a task gets; without any of it, a classifier would be asked.
WAYS = {"mode", "kind", "tests", "output_schema", "requirements", "tools", "tool_call"}
HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(2)> [go](javascript:alert(3)) "><b onclick=alert(4)>x</b>'
TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}, {"args": [5], "expected": 6}]}
WRONG = "```python\ndef f(x):\n    return 2\n```"
RIGHT = "```python\ndef f(x):\n    return x + 1\n```"
_numbers = count(1)


# Users, projects and keys.


def user(username: str | None = None, **fields: Any) -> User:
    """Return a new user who logs in with PASSWORD."""
    return User.objects.create_user(username or f"person-{next(_numbers)}", password=PASSWORD, **fields)


def project(slug: str | None = None, **fields: Any) -> Project:
    """Return a new project; without `models_by_role` its runs call the models of the settings."""
    slug = slug or f"project-{next(_numbers)}"
    fields.setdefault("name", slug.replace("-", " ").title())
    return Project.objects.create(slug=slug, **fields)


def scripted_project(name: str, answers: dict[str, str], **fields: Any) -> Project:
    """Return a project whose every model is the script `name`, and which samples no audits."""
    fields.setdefault("review_policy", {"audit_share": 0})
    return project(name, models_by_role={"default": register_script(name, answers)}, **fields)


def unsure_project(name: str, *, text: str = "A first text.", said: str | None = None) -> Project:
    """Return a project whose critic is unsure of the first attempt, so that its runs wait for a review."""
    said = said or critique(
        80, approved=True, confidence=0.2, issues=[{"description": "No title", "suggested_fix": "Add one"}]
    )
    return scripted_project(
        name,
        {
            "attempt-1/answer": text,
            "attempt-1/critique": said,
            "attempt-2/answer": "A second text.",
            "attempt-2/critique": critique(95, approved=True),
        },
    )


def member(project: Project, role: Role = Role.REVIEWER, *, user: User | None = None) -> User:
    """Return a user who is a member of `project` with `role`."""
    user = user or _new_user()
    Membership.objects.create(project=project, user=user, role=role)
    return user


def logged_in(client: Client, project: Project, role: Role = Role.ADMIN) -> Client:
    """Return `client`, logged in as a new member of `project`."""
    client.force_login(member(project, role))
    return client


def api_key(
    project: Project, scopes: Sequence[str] | None = None, *, made_by: User | None = None, **fields: Any
) -> tuple[ApiKey, str]:
    """Return a key and its secret, with the usual scopes unless others are named; `made_by` None is the command."""
    fields.setdefault("name", f"key {next(_numbers)}")
    return create_api_key(project, scopes=list(scopes or USUAL_SCOPES), actor=Actor(user=made_by), **fields)


def caller(
    project: Project | None = None, scopes: Sequence[str] | None = None, *, made_by: User | None = None
) -> Caller:
    """Return a REST client that submits and decides; a project made for it allows decisions on one's own work."""
    project = project or _new_project(own_work=OwnWork.EVERYBODY)
    key, secret = api_key(project, scopes or BOTH, made_by=made_by)
    return Caller(project, key, secret)


# Runs.


def submitted_run(
    project: Project, *, actor: Actor | None = None, by_role: dict[str, str] | None = None, **submission: Any
) -> Run:
    """Return the queued first run of a task submitted with these fields of REST; `by_role` names models."""
    submission.setdefault("objective", "Write a haiku about the sea.")
    if not WAYS & submission.keys():
        submission["kind"] = "creative_writing"
    return submit_task(project, read_submission(submission), actor=actor or Actor(), models=by_role)


def scripted_run(
    answers: dict[str, str], *, project: Project | None = None, actor: Actor | None = None, **submission: Any
) -> Run:
    """Return a queued run whose models answer with `answers`, by step key."""
    submission.setdefault("objective", "Write something.")
    by_role = {"default": register_script(f"test-{next(_numbers)}", answers)}
    return submitted_run(project or _new_project(), actor=actor, by_role=by_role, **submission)


def code_run(answers: dict[str, str], **submission: Any) -> Run:
    """Return a queued run of the external loop."""
    return scripted_run(answers, tests=TESTS, **submission)


def advanced_run(project: Project, **submission: Any) -> Run:
    """Return a new run of the project's own models, advanced as far as it goes without a reviewer."""
    return when.advances(submitted_run(project, **submission))


def finished_run(project: Project) -> Run:
    """Return a run that succeeded: the critic sent its first attempt back and passed the second."""
    run = when.advances(scripted_run(_judged(40), project=_without_audits(project)))
    assert run.outcome == "succeeded", run.error
    return run


def waiting_review(project: Project | None = None, *, score: float = 10, **submission: Any) -> Review:
    """Return the review that a new run waits for.

    The project's own models answer; without any, a critic gives the first attempt `score`.
    """
    project = project or _new_project()
    if project.models_by_role:
        run = submitted_run(project, **submission)
    else:
        run = scripted_run(_judged(score), project=_without_audits(project), **submission)
    when.advances(run)
    return Review.objects.get(run=run)


def task_of(run_id: UUID) -> Task:
    """Return the task of a run, read afresh."""
    return Task.objects.get(runs=run_id)


def _judged(score: float) -> dict[str, str]:
    return {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(score),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(90, approved=True),
    }


def _without_audits(project: Project) -> Project:
    project.review_policy = {"audit_share": 0}
    project.save(update_fields=["review_policy"])
    return project


_new_user, _new_project = user, project
