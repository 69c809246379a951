"""Who is given what waits in a queue: its members, where it has any, and of them those with all of its skills.

A key is the person who made it. Admins are given what is theirs like everybody else, and may besides take from any
queue that they name, and claim any review. What is assigned to somebody is theirs, whichever queue it is in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from pydantic import AfterValidator, Field

from reflection_app.core.audit import Actor
from reflection_app.core.errors import ActionError
from reflection_app.core.models import LONGEST_SKILL, Membership
from reflection_app.core.permissions import Permission, key_may, member_may
from reflection_app.loops.storable import only_storable
from reflection_app.queues.models import ReviewQueue

MOST_SKILLS = 20


class NotYourQueue(ActionError):
    """The review is in a queue for people with a skill that you lack, or for its members."""

    status = 403
    title = gettext_noop("Not your queue")


def _one_skill(text: str) -> str:
    skill = " ".join(only_storable(text).split()).lower()
    if not skill or "," in skill:
        raise ValueError("a skill is a word or two, without a comma")
    return skill


def _each_once(skills: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(skills)))


Skill = Annotated[str, Field(max_length=LONGEST_SKILL), AfterValidator(_one_skill)]
Skills = Annotated[tuple[Skill, ...], Field(max_length=MOST_SKILLS), AfterValidator(_each_once)]


@dataclass(frozen=True)
class Person:
    """Who would take a review, as the project knows them; `user_id` is None of nobody known."""

    user_id: int | None
    skills: frozenset[str] = frozenset()
    is_admin: bool = False


def person_of(project_id: UUID, *, actor: Actor) -> Person:
    """The person whose judgement it would be."""
    membership = Membership.objects.filter(project=project_id, user=actor.person_id or 0).first()
    if actor.api_key is not None:
        is_admin = key_may(actor.api_key, Permission.CHANGE_SETTINGS)
    else:
        is_admin = membership is not None and member_may(membership, Permission.CHANGE_SETTINGS)
    skills = frozenset(membership.skills) if membership else frozenset[str]()
    return Person(membership.user_id if membership else None, skills, is_admin)


def live_queues(project_id: UUID) -> QuerySet[ReviewQueue]:
    """The project's queues in their order, each with the ids of its members as `people`."""
    people = ArrayAgg("members__user", filter=Q(members__isnull=False), default=[])
    return ReviewQueue.objects.filter(project=project_id, deleted_at=None).annotate(people=people)


def lacks(queue: ReviewQueue, person: Person) -> list[str]:
    """The skills of the queue that the person does not have."""
    return [skill for skill in queue.skills if skill not in person.skills]


def is_closed(queue: ReviewQueue, person: Person) -> bool:
    """Whether what waits in one of `live_queues` is for others."""
    people: list[int] = queue.people  # type: ignore[attr-defined]  # annotated by live_queues
    return bool(people and person.user_id not in people) or bool(lacks(queue, person))


def closed_to(project_id: UUID, *, actor: Actor, named: UUID | None = None) -> list[UUID]:
    """The queues whose reviews `actor` is not given as the next; an admin is given those of a queue that is named."""
    queues = list(live_queues(project_id))
    if not queues:
        return []
    person = person_of(project_id, actor=actor)
    closed = [queue.pk for queue in queues if is_closed(queue, person)]
    return [queue for queue in closed if queue != named] if person.is_admin else closed


def outside(queues: Iterable[UUID]) -> Q:
    """The reviews that are in none of the queues."""
    closed = list(queues)
    return Q(queue=None) | ~Q(queue__in=closed) if closed else Q()


def refuse_other_queue(queue_id: UUID | None, *, project_id: UUID, actor: Actor) -> None:
    """Raises NotYourQueue where the reviews of the queue are for others, and `actor` is no admin."""
    if queue_id is None:
        return
    queue = live_queues(project_id).filter(pk=queue_id).first()
    if queue is None:
        return
    person = person_of(project_id, actor=actor)
    if not person.is_admin and is_closed(queue, person):
        raise NotYourQueue(why_closed(queue, person))


def why_closed(queue: ReviewQueue, person: Person) -> str:
    """Why the person is not given what waits in the queue, and what to do about it."""
    if missing := lacks(queue, person):
        said = ngettext(
            "What is in the queue “%(queue)s” needs the skill %(skills)s, which you do not have yet. "
            "An admin can give it to you.",
            "What is in the queue “%(queue)s” needs the skills %(skills)s, which you do not have yet. "
            "An admin can give them to you.",
            len(missing),
        )
        return said % {"queue": queue.name, "skills": ", ".join(missing)}
    said = _("What is in the queue “%(queue)s” is for its members. An admin can make you one.")
    return said % {"queue": queue.name}
