"""Assigning a review to a person."""

from typing import Annotated, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ReviewHeld, wrong
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.queues.eligibility import closed_to, is_closed, live_queues, person_of, reviewers_of
from reflection_app.reviews.claiming import let_go, lock_open, tell_pages
from reflection_app.reviews.models import Review, ReviewSkip, ReviewState
from reflection_app.reviews.own_work import allows_own_work, is_own
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run
from reflection_app.teams.models import NotificationKind
from reflection_app.teams.notifications import tell_of_review

LONGEST_NOTE = 10_000
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(storable)]
Name = Annotated[str, Field(min_length=1, max_length=150)]


class AssignInput(Value):
    """The assignee of a review. Null removes the assignment."""

    to: Name | None = Field(description="name of a member who may review, or null")
    note: Note = ""


@transaction.atomic
def assign_review(review: Review, data: AssignInput, *, actor: Actor) -> Review:
    """The review, kept for somebody or for nobody; who holds it gives it back by that, unless it is for themselves.

    Raises InvalidInput, AlreadyDecided, or ReviewHeld where another person has it in their hands: nothing changed then.
    """
    # The run's lock comes first everywhere, so that nobody waits in a circle.
    run = Run.objects.select_for_update().get(pk=review.run_id)
    locked = lock_open(review, "run__task", "assignee", "project")
    to = _reviewer(locked, data.to, actor=actor) if data.to is not None else None
    if locked.is_held and (to is None or locked.holder_id != to.pk):
        if locked.holder_label != actor.label:
            raise ReviewHeld(
                _("%(holder)s has locked this review and can assign it. Nothing was changed.")
                % {"holder": locked.holder_label}
            )
        let_go(locked)
    _keep(locked, run, to=to, note=data.note, actor=actor)
    return locked


def assignable(review: Review, *, actor: Actor) -> list[User]:
    """The members whom `actor` may assign the review to, by name."""
    members = list(reviewers_of(review.project_id))
    taken, queue = seated(review), None
    if review.queue_id is not None and not person_of(review.project_id, actor=actor).is_admin:
        queue = live_queues(review.project_id).filter(pk=review.queue_id).first()
    if queue is not None:
        members = [one for one in members if not is_closed(queue, one.user_id)]
    users = [member.user for member in members]
    return [user for user in users if user.pk not in taken and not _is_own_of(review, user)]


def _is_own_of(review: Review, user: User) -> bool:
    """Whether the person handed the work in and may not decide on it."""
    actor = Actor(user=user)
    return is_own(review.handed_in_by, actor=actor) and not allows_own_work(review.project_id, actor=actor)


def seated(review: Review) -> set[int]:
    """Who has, had or is kept another seat of the review's panel, and may not have two."""
    if review.panel_id is None:
        return set()
    found: set[int] = set()
    for seat in Review.objects.filter(panel=review.panel_id).exclude(pk=review.pk):
        if seat.state in {ReviewState.CLAIMED, ReviewState.DECIDED} and seat.holder_person:
            found.add(seat.holder_person)
        if seat.is_open and seat.assignee_id:
            found.add(seat.assignee_id)
    return found


def _reviewer(review: Review, name: str, *, actor: Actor) -> User:
    """The member of that name. A stranger is told apart from nobody by nothing."""
    member = reviewers_of(review.project_id).filter(user__username=storable(name)).first()
    if member is None:
        raise wrong("to", _("No reviewer with this name in this project."))
    if member.user_id in seated(review):
        raise wrong("to", _("This reviewer already has an assignment on this panel. Each reviewer decides once."))
    if _is_own_of(review, member.user):
        raise wrong("to", _("This reviewer or their API key submitted the work. Assign another reviewer."))
    if not person_of(review.project_id, actor=actor).is_admin and _is_for_others(review, member.user):
        raise wrong("to", _("This reviewer is not a member of the queue. Only an admin can assign it anyway."))
    return member.user


def _is_for_others(review: Review, user: User) -> bool:
    """Whether the review is in a queue whose reviews the person is not given."""
    return review.queue_id is not None and review.queue_id in closed_to(review.project_id, actor=Actor(user=user))


def _keep(review: Review, run: Run, *, to: User | None, note: str, actor: Actor) -> None:
    """Writes who it is kept for, and all that tells of it."""
    before: dict[str, Any] = {"assignee": review.assignee.get_username() if review.assignee else None}
    after: dict[str, Any] = {"assignee": to.get_username() if to else None}
    review.assignee = to
    if note.strip():
        before["note"], after["note"] = review.note, note.strip()
        # Below it stays what was said before, by somebody else or of something else.
        earlier = f"\n\n{review.note_by_label}: {review.note}" if review.note else ""
        review.note = (note.strip() + earlier)[:LONGEST_NOTE]
        review.note_by_label = actor.label
    review.save(update_fields=["assignee", "note", "note_by_label"])
    if to is not None:
        # What they once passed over is theirs now all the same.
        ReviewSkip.objects.filter(review=review, by_label=to.get_username()).delete()
        tell_of_review(NotificationKind.ASSIGNED, review, users=[to.pk], actor=actor)
    add_event(run, EventType.REVIEW_ASSIGNED, review=str(review.pk), assignee=after["assignee"])
    run.save(update_fields=["last_event_seq"])
    audit(review.project_id, actor, "review.assigned", target=review, before=before, after=after)
    tell_pages(run.pk, project_id=run.project_id)
