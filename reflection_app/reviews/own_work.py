"""Nobody decides on what they handed in: not by their own hand, nor by a key that they made, nor a key on its own.

A person and the keys that they made are one here (`Actor.hand`). A project may allow it (`Project.own_work`), and
a person who is its admin has to say so: no key can. What is refused is every judgement of the work that others rely on:
claiming and deciding its reviews, being assigned them, the verdicts and decisions that a fork is edited to have, the
class of its errors, instructions that came of it, and words proposed to the notebook.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor, audit, hand_of
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.models import Membership, OwnWork, Project
from reflection_app.core.permissions import GRANTS, Permission, key_may, member_may
from reflection_app.queues.eligibility import reviewers_of
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from reflection_app.teams.members import PeopleOnly


class OwnWorkRefused(ActionError):
    """Whoever handed the work in, or a key of theirs, would decide on it."""

    status = 403
    title = gettext_noop("Self-review not allowed")
    slug = "your-own-work"


class MayNotDecide(ActionError):
    """The key's scopes do not allow to decide."""

    status = 403
    title = gettext_noop("Not allowed")


def refuse_own_work(handed_in_by: Collection[str], *, project_id: UUID, actor: Actor) -> None:
    """Raises OwnWorkRefused where `actor` is among those who handed it in and the project does not allow it."""
    if is_own(handed_in_by, actor=actor) and not allows_own_work(project_id, actor=actor):
        raise OwnWorkRefused(why_refused(actor))


def refuse_deciding(run: Run, *, actor: Actor) -> None:
    """Raises MayNotDecide or OwnWorkRefused where `actor` may not say what holds of the run's work."""
    if actor.api_key is not None and not key_may(actor.api_key, Permission.REVIEW):
        scope = GRANTS[Permission.REVIEW].scope_words()
        why = _("Editing a verdict requires an API key with the scope %(scope)s.")
        raise MayNotDecide(why % {"scope": scope})
    refuse_own_work(run.handed_in_by, project_id=run.project_id, actor=actor)


def is_own(handed_in_by: Collection[str], *, actor: Actor) -> bool:
    """Whether `actor`, whoever made it where it is a key, or another key of theirs handed it in."""
    return actor.hand is not None and actor.hand in handed_in_by


def allows_own_work(project_id: UUID, *, actor: Actor) -> bool:
    """Whether the project lets `actor` decide on work of their own, as it is set now."""
    return may_decide_own(Project.objects.only("own_work").get(pk=project_id), actor=actor)


def may_decide_own(project: Project, *, actor: Actor) -> bool:
    """The same, as the project's row was when it was read."""
    return project.own_work == OwnWork.EVERYBODY or (project.own_work == OwnWork.PEOPLE and actor.api_key is None)


def work_of_others(project: Project, *, actor: Actor) -> Q:
    """The reviews that `actor` may be given: of work that is not theirs, unless the project allows that as well."""
    if actor.hand is None or may_decide_own(project, actor=actor):
        return Q()
    return ~Q(handed_in_by__contains=[actor.hand])


def why_refused(actor: Actor) -> str:
    """What to tell whoever may not decide on their own work."""
    if actor.api_key is None:
        return _("You or your API key submitted this. Another reviewer has to decide.")
    return _("This API key or its owner submitted this. Another reviewer has to decide.")


def hands_of(actor: Actor) -> tuple[str, ...]:
    """Whose work it is that `actor` hands in; nobody's where the system does."""
    return () if actor.hand is None else (actor.hand,)


def note_hand_in(run: Run, *, actor: Actor) -> None:
    """Adds whoever acts to those who handed the run's work in; the caller saves `handed_in_by`."""
    if actor.hand is not None and actor.hand not in run.handed_in_by:
        run.handed_in_by = [*run.handed_in_by, actor.hand]


@transaction.atomic
def change_own_work(project: Project, allowed: str, *, actor: Actor) -> Project:
    """The project with whom it lets decide on their own work; what holds already is no change.

    Raises InvalidInput, and PeopleOnly for a key: it would else allow itself what it is refused.
    """
    if allowed not in OwnWork.values:
        message = _("one of %(names)s") % {"names": ", ".join(OwnWork.values)}
        raise InvalidInput(_("Unknown option."), errors=[{"field": "own_work", "message": message}])
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.own_work == allowed:
        return locked
    if actor.api_key is not None:
        raise PeopleOnly(_("Only admins can change the self-review setting, not API keys."))
    before = locked.own_work
    locked.own_work = allowed
    locked.save(update_fields=["own_work"])
    audit(locked.pk, actor, "own_work.changed", target=locked, before={"own_work": before}, after={"own_work": allowed})
    return locked


def nobody_else_may(review: Review) -> bool:
    """Whether no member but those who handed it in may review in the project at all."""
    return all(hand_of(one.user_id) in review.handed_in_by for one in reviewers_of(review.project_id))


# Who may take back what somebody else decided, curated or began.


def may_undo_others(project_id: UUID, *, actor: Actor) -> bool:
    """Whether the matrix lets `actor` take back in this project what others did."""
    if actor.user is not None:
        membership = Membership.objects.filter(project=project_id, user=actor.user).first()
        return membership is not None and member_may(membership, Permission.UNDO_OTHERS)
    if actor.api_key is None or actor.api_key.project_id != project_id:
        return False
    return key_may(actor.api_key, Permission.UNDO_OTHERS)
