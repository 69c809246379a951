"""Queues of reviews: made, changed, put in order, deleted.

All of it locks the project's row as nothing else does that opens reviews, so that each review is routed by the rules
before the change and moved after it, or routed by those after it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring_reviews
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.core.rights import review_right_ended, without_review_right
from reflection_app.loops.project_settings import GoalMinutes
from reflection_app.loops.storable import only_storable
from reflection_app.loops.values import Value
from reflection_app.queues.eligibility import reviewers_of
from reflection_app.queues.models import LONGEST_NAME, QueueMember, ReviewQueue, SavedView
from reflection_app.queues.routing import reroute_on_commit
from reflection_app.reviews.filters import ReviewFilter

MOST_QUEUES = 30
MOST_MEMBERS = 200


def some_name(text: str) -> str:
    name = " ".join(only_storable(text).split())
    if not name:
        raise ValueError("not empty")
    return name


Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(some_name)]
Username = Annotated[str, Field(min_length=1, max_length=150), AfterValidator(only_storable)]
Members = Annotated[tuple[Username, ...], Field(max_length=MOST_MEMBERS)]


class QueueInput(Value):
    """A queue: its rule, its reviewers and its response-time target."""

    name: Name = Field(description="display name", examples=["Legal"])
    rule: ReviewFilter = Field(
        default=ReviewFilter(), description="conditions that a review must meet; empty matches every review"
    )
    members: Members = Field(
        default=(), description="usernames of its reviewers; empty for everyone who may review", examples=[["anna"]]
    )
    goal_minutes: GoalMinutes | None = Field(
        default=None, description="response-time target in minutes; null uses the project's target"
    )


class QueueChange(Value):
    """Changes to a queue. Omitted fields are unchanged."""

    name: Name | None = None
    rule: ReviewFilter | None = None
    members: Members | None = None
    goal_minutes: GoalMinutes | None = Field(
        default=None, description="response-time target in minutes; null uses the project's target"
    )


class QueueOrder(Value):
    """IDs of all queues of the project, in order. A review that matches several is in the first."""

    queues: tuple[UUID, ...] = Field(max_length=MOST_QUEUES)


@transaction.atomic
def create_queue(project: Project, data: QueueInput, *, actor: Actor) -> ReviewQueue:
    """The queue, the last of all. Raises InvalidInput, or Conflict where there are too many."""
    present = _lock(project)
    if len(present) >= MOST_QUEUES:
        raise Conflict(_("A project has at most %(most)s queues.") % {"most": MOST_QUEUES})
    _refuse_taken_name(present, data.name)
    queue = ReviewQueue.objects.create(
        project=project,
        name=data.name,
        position=max((one.position for one in present), default=0) + 1,
        rule=_as_kept(data.rule),
        goal_minutes=data.goal_minutes,
    )
    _set_members(queue, data.members)
    audit(project.pk, actor, "queue.created", target=queue, after=audit_fields(queue))
    reroute_on_commit(project.pk)
    return queue


@transaction.atomic
def change_queue(queue: ReviewQueue, change: QueueChange, *, actor: Actor) -> ReviewQueue:
    """The changed queue. Raises InvalidInput, or NotFound where it was deleted meanwhile.

    What waits is put into the queues anew; who holds a review keeps it.
    """
    present = _lock(queue.project)
    locked = _the_one(present, queue.pk)
    before = audit_fields(locked)
    given = change.model_dump(exclude_unset=True)
    if change.name is not None:
        _refuse_taken_name((one for one in present if one.pk != locked.pk), change.name)
        locked.name = change.name
    if change.rule is not None:
        locked.rule = _as_kept(change.rule)
    if "goal_minutes" in given:
        locked.goal_minutes = change.goal_minutes
    locked.save()
    if change.members is not None:
        _set_members(locked, change.members)
    audit_changes(locked, "queue.changed", actor=actor, before=before, after=audit_fields(locked))
    reroute_on_commit(locked.project_id)
    return locked


@transaction.atomic
def order_queues(project: Project, order: QueueOrder, *, actor: Actor) -> list[ReviewQueue]:
    """The queues in the new order. Raises InvalidInput where these are not just the project's queues."""
    present = _lock(project)
    by_id = {queue.pk: queue for queue in present}
    if len(order.queues) != len(by_id) or set(order.queues) != by_id.keys():
        raise wrong(
            "queues", _("List each queue of the project exactly once; the queues may have changed in the meantime.")
        )
    ordered = [by_id[pk] for pk in order.queues]
    if ordered == present:
        return present
    for position, queue in enumerate(ordered, start=1):
        queue.position = position
    ReviewQueue.objects.bulk_update(ordered, ["position"])
    before, after = ({"order": [queue.name for queue in queues]} for queues in (present, ordered))
    audit(project.pk, actor, "queue.ordered", target=project, before=before, after=after)
    reroute_on_commit(project.pk)
    return ordered


@transaction.atomic
def delete_queue(queue: ReviewQueue, *, actor: Actor) -> None:
    """Deletes the queue; what waits in it goes into the others, or into none. Raises NotFound the second time."""
    locked = _the_one(_lock(queue.project), queue.pk)
    audit(locked.project_id, actor, "queue.deleted", target=locked, before=audit_fields(locked))
    locked.deleted_at = timezone.now()
    locked.save(update_fields=["deleted_at"])
    reroute_on_commit(locked.project_id)


@receiver(review_right_ended, dispatch_uid="leave-queues")
def _leave_all(*, project_id: UUID, user_id: int, actor: Actor, **_signal: Any) -> None:
    """Delete the person's places in the queues. One without any other member becomes everybody's."""
    for queue in ReviewQueue.objects.filter(project=project_id, deleted_at=None, members__user=user_id):
        before = audit_fields(queue)["members"]
        QueueMember.objects.filter(queue=queue, user=user_id).delete()
        told = ({"name": queue.name, "members": names} for names in (before, audit_fields(queue)["members"]))
        audit(project_id, actor, "queue.changed", target=queue, before=next(told), after=next(told))
        transaction.on_commit(partial(ring_reviews, project_id))


def queues_without_right() -> set[tuple[UUID, int]]:
    """Return the project and person of each queue place of a person who may not review."""
    places = QueueMember.objects.filter(queue__deleted_at=None)
    return without_review_right(places, project="queue__project", person="user")


def audit_fields(queue: ReviewQueue) -> dict[str, Any]:
    """The queue for the trail."""
    members = queue.members.order_by("user__username").values_list("user__username", flat=True)
    return {
        "name": queue.name,
        "rule": queue.rule,
        "members": list(members),
        "goal_minutes": queue.goal_minutes,
    }


def audit_changes(
    row: ReviewQueue | SavedView, action: str, *, actor: Actor, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Tells the trail of the fields that differ; nothing where none does."""
    changed = [name for name in after | before if after.get(name) != before.get(name)]
    told = [{name: fields[name] for name in changed if name in fields} for fields in (before, after)]
    if changed:
        audit(row.project_id, actor, action, target=row, before=told[0], after=told[1])


def _lock(project: Project) -> list[ReviewQueue]:
    """The project's queues in their order, for a change in this transaction."""
    Project.objects.select_for_update().get(pk=project.pk)
    return list(ReviewQueue.objects.select_related("project").filter(project=project, deleted_at=None))


def _the_one(present: Sequence[ReviewQueue], pk: UUID) -> ReviewQueue:
    found = next((queue for queue in present if queue.pk == pk), None)
    if found is None:
        raise NotFound(_("Queue not found."))
    return found


def _as_kept(rule: ReviewFilter) -> dict[str, Any]:
    return rule.model_dump(mode="json", exclude_defaults=True)


def _refuse_taken_name(present: Iterable[ReviewQueue], name: str) -> None:
    if any(queue.name.lower() == name.lower() for queue in present):
        raise wrong("name", _("Another queue in this project has this name."))


def _set_members(queue: ReviewQueue, names: tuple[str, ...]) -> None:
    """Raises InvalidInput where one of them may not review in the project."""
    wanted = set(names)
    who_may = reviewers_of(queue.project_id)
    found = dict(who_may.filter(user__username__in=wanted).values_list("user__username", "user"))
    if missing := sorted(wanted - found.keys()):
        told = {"names": ", ".join(missing[:5])}
        raise wrong("members", _("Not reviewers of this project: %(names)s") % told)
    QueueMember.objects.filter(queue=queue).exclude(user__in=found.values()).delete()
    rows = [QueueMember(queue=queue, user_id=user_id) for user_id in found.values()]
    QueueMember.objects.bulk_create(rows, ignore_conflicts=True)
