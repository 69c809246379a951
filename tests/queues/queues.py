"""Queues for tests, made by the action that makes them in life."""

from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.queues.changing import QueueInput, create_queue
from reflection_app.queues.models import ReviewQueue
from tests import given


def make_queue(project: Project, name: str = "Legal", **fields: Any) -> ReviewQueue:
    """A queue; what waits and fits is in it."""
    return create_queue(project, QueueInput.model_validate({"name": name, **fields}), actor=Actor())


def reviewer(project: Project, *, name: str | None = None, role: Role = Role.REVIEWER) -> Actor:
    """A member who may review."""
    return Actor(user=given.member(project, role, user=given.user(name)))
