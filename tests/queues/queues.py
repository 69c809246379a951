"""Queues for tests, made by the action that makes them in life."""

from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project, Role
from reflection_app.queues.changing import QueueInput, SkillsInput, create_queue, set_skills
from reflection_app.queues.models import ReviewQueue
from tests.factories import make_member, make_user


def make_queue(project: Project, name: str = "Legal", **fields: Any) -> ReviewQueue:
    """A queue; what waits and fits is in it."""
    return create_queue(project, QueueInput.model_validate({"name": name, **fields}), actor=Actor())


def reviewer(project: Project, *skills: str, name: str | None = None, role: Role = Role.REVIEWER) -> Actor:
    """A member with these skills."""
    user = make_member(project, role, user=make_user(name))
    if skills:
        set_skills(project, user.pk, SkillsInput(skills=skills), actor=Actor())
    return Actor(user=user)


def skills_of(project: Project, actor: Actor) -> list[str]:
    return Membership.objects.get(project=project, user=actor.user).skills
