"""Rows for tests, made by the same actions that make them in life wherever there is one."""

from collections.abc import Sequence
from itertools import count
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from reflection_app.core.audit import Actor
from reflection_app.core.models import ApiKey, Membership, Project, Role, Scope
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from reflection_app.teams.projects import USUAL_SCOPES, create_api_key

PASSWORD = "a-long-test-password"
# Of a key that hands in and decides as well.
BOTH = (*USUAL_SCOPES, Scope.REVIEWS_WRITE)
# What decides by itself which loop a task gets; without any of it, a classifier would be asked.
WAYS = {"mode", "kind", "tests", "output_schema", "requirements", "tools", "tool_call"}
_numbers = count(1)


def make_user(username: str | None = None, **fields: Any) -> User:
    """A user who logs in with PASSWORD."""
    return User.objects.create_user(username or f"person-{next(_numbers)}", password=PASSWORD, **fields)


def make_project(slug: str | None = None, **fields: Any) -> Project:
    """A project; without `models_by_role` its runs ask the models of the settings."""
    slug = slug or f"project-{next(_numbers)}"
    fields.setdefault("name", slug.replace("-", " ").title())
    return Project.objects.create(slug=slug, **fields)


def make_member(project: Project, role: Role = Role.REVIEWER, *, user: User | None = None) -> User:
    """A user who is a member of `project` with `role`."""
    user = user or make_user()
    Membership.objects.create(project=project, user=user, role=role)
    return user


def make_api_key(
    project: Project, scopes: Sequence[str] | None = None, *, made_by: User | None = None, **fields: Any
) -> tuple[ApiKey, str]:
    """A key and its secret; with the usual scopes unless others are named, and without a maker as by the command."""
    fields.setdefault("name", f"key {next(_numbers)}")
    return create_api_key(project, scopes=list(scopes or USUAL_SCOPES), actor=Actor(user=made_by), **fields)


def submit(project: Project, *, actor: Actor | None = None, **submission: Any) -> Run:
    """The queued first run of a task handed in with these fields of the REST interface."""
    submission.setdefault("objective", "Write a haiku about the sea.")
    if not WAYS & submission.keys():
        submission["kind"] = "creative_writing"
    return submit_task(project, read_submission(submission), actor=actor or Actor())


def task_of(run_id: UUID) -> Task:
    """The task of a run, read afresh."""
    return Task.objects.get(runs=run_id)
