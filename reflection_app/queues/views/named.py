"""Named queues as pages show them: in words, as tabs, and who is given what waits there."""

from dataclasses import dataclass
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.core.permissions import Permission
from reflection_app.core.registry import look_of
from reflection_app.queues.eligibility import is_closed, live_queues, person_of, why_closed
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.routing import read_rule
from reflection_app.reviews.goals import goal_within
from reflection_app.reviews.views.queue import AskedQueue
from reflection_app.web.access import DeskRequest

RULE_WORDS: dict[str, Promise] = {
    "reason": gettext_lazy("Reason"),
    "verdict": gettext_lazy("Verdict"),
    "kind": gettext_lazy("Task type"),
    "agent": gettext_lazy("Agent"),
    "mode": gettext_lazy("Mode"),
    "min_score": gettext_lazy("Minimum score"),
    "max_score": gettext_lazy("Maximum score"),
}
# How the registry calls what these fields hold.
KINDS = {"reason": "reason", "verdict": "verdict", "mode": "mode"}


@dataclass(frozen=True)
class QueueLine:
    """A queue with the names of its members. `rule` is in words; empty, it takes whatever comes."""

    queue: ReviewQueue
    rule: list[str]
    # The rule names what the desk does not know any more, so that nothing comes in.
    is_broken: bool
    members: list[str]


def in_words(queue: ReviewQueue) -> list[str]:
    """What a review has to be to come in, one condition each."""
    rule = read_rule(queue)
    if rule is None:
        return []
    given = rule.model_dump(mode="json", exclude_defaults=True)
    found = []
    for name, words in RULE_WORDS.items():
        if name in given:
            value = _value_words(name, given[name])
            found.append(f"{words}: {value}")
    if rule.metadata_key:
        found.append(f"{rule.metadata_key} = {rule.metadata_value}" if rule.metadata_value else rule.metadata_key)
    return found


def _value_words(name: str, value: object) -> str:
    if name in KINDS:
        return _(str(look_of(str(value), KINDS[name]).words))
    return f"{value:g}" if isinstance(value, float) else str(value)


def lines_of(project_id: UUID) -> list[QueueLine]:
    """The project's queues in their order."""
    return [
        QueueLine(
            queue=queue,
            rule=in_words(queue),
            is_broken=read_rule(queue) is None,
            members=sorted(one.user.get_username() for one in queue.members.all()),
        )
        for queue in live_queues(project_id).prefetch_related("members__user")
    ]


@dataclass(frozen=True)
class NamedQueue:
    """The queue whose reviews a page shows. `why_closed` says why the reader is not given them, else it is empty."""

    queue: ReviewQueue
    why_closed: str
    goal_minutes: int | None


def named_queue(request: DeskRequest, asked: AskedQueue) -> NamedQueue | None:
    """The queue that the address asks for; None where it asks for none, or for one that is no more."""
    if asked.filter.queue is None:
        return None
    project, actor = request.place.project, request.place.actor
    queue = live_queues(project.pk).filter(pk=asked.filter.queue).first()
    if queue is None:
        return None
    person = person_of(project.pk, actor=actor)
    closed = is_closed(queue, person.user_id) and not person.is_admin
    return NamedQueue(queue, why_closed(queue) if closed else "", goal_within(queue, project=project))


def queue_tabs(request: DeskRequest, wanted: UUID | None) -> list[ReviewQueue]:
    """The queues that the reader works from; an admin's are all, and the one that is `wanted` is among them."""
    queues = working_from(request)
    if wanted is not None and wanted not in {queue.pk for queue in queues}:
        queues += list(live_queues(request.place.project.pk).filter(pk=wanted))
    return queues


def working_from(request: DeskRequest) -> list[ReviewQueue]:
    """The queues that the reader is given reviews from, in their order; for admins, all."""
    if not hasattr(request, "worked_from"):
        request.worked_from = _working_from(request)
    return list(request.worked_from)


def _working_from(request: DeskRequest) -> list[ReviewQueue]:
    if not request.place.may(Permission.REVIEW):
        return []
    queues = list(live_queues(request.place.project.pk))
    if not queues or request.place.may(Permission.CHANGE_SETTINGS):
        return queues
    person = person_of(request.place.project.pk, actor=request.place.actor)
    return [queue for queue in queues if not is_closed(queue, person.user_id)]
