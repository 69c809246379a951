"""Asking for a look at an attempt: a person or a pipeline wants its verdict reviewed, whatever the policy says.

No run waits for it; a task that is submitted with `review: "required"` makes its runs wait. What is decided counts
as an audit's decision does.
"""

from typing import Annotated

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AskedAlready, InvalidInput, wrong
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import MOST_REVIEWERS
from reflection_app.loops.values import Value
from reflection_app.reviews.assigning import AssignInput, assign_review
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.rows import put_before_people
from reflection_app.runs.models import Attempt, Run, Verdict


class AskInput(Value):
    """The attempt to review and what to check. Default: the run's best attempt, else its last."""

    attempt: int | None = Field(default=None, ge=1, le=2**31 - 1, description="number of the attempt")
    note: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="what the reviewer should check; must not be blank"
    )
    reviewers: int = Field(default=1, ge=1, le=MOST_REVIEWERS, description="number of blind reviewers")
    assignee: Annotated[str, Field(max_length=150), AfterValidator(storable)] = Field(
        default="",
        description="name of a member who may review, to whom the review is assigned; only with one reviewer",
    )


@transaction.atomic
def ask_for_review(run: Run, data: AskInput, *, actor: Actor) -> list[Review]:
    """The open reviews: one, or a seat for each reviewer. Raises InvalidInput, and AskedAlready where one is open."""
    note = data.note.strip()
    if not note:
        raise wrong("note", _("Describe what the reviewer should check."))
    if data.assignee and data.reviewers > 1:
        raise wrong(
            "assignee",
            _("Blind reviews with several reviewers cannot be assigned. Remove the name, or request one reviewer."),
        )
    # Of two who ask at the same moment, the second waits here and finds what the first has opened.
    locked = Run.objects.select_for_update().get(pk=run.pk)
    made = Attempt.objects.filter(run=locked).order_by("number")
    if data.attempt is None:
        best = made.filter(pk=locked.best_attempt_id).first() if locked.best_attempt_id else None
        attempt = best or made.last()
    else:
        attempt = made.filter(number=data.attempt).first()
    if attempt is None:
        numbers = ", ".join(map(str, made.values_list("number", flat=True)))
        if not numbers:
            raise wrong("attempt", _("The run has no attempts yet."))
        there_are = {"number": data.attempt, "made": numbers}
        raise wrong("attempt", _("The run has no attempt %(number)s. Its attempts: %(made)s.") % there_are)
    # The verdict that counts: the strongest referee's, of two equal ones the later.
    verdict = Verdict.objects.filter(attempt=attempt).order_by("referee", "created_at", "id").last()
    if verdict is None:
        why = _("Attempt %(number)s has no verdict to review yet.")
        raise wrong("attempt", why % {"number": attempt.number})
    if waiting := Review.objects.filter(verdict=verdict, state__in=OPEN).order_by("created_at", "id").first():
        told = {"number": verdict.attempt.number, "review": waiting.pk}
        raise AskedAlready(_("Attempt %(number)s already has an open review: %(review)s.") % told)
    opened = put_before_people(
        locked,
        verdict,
        step=None,
        reason=ReviewReason.ASKED_FOR,
        holds_run=False,
        reviewers=data.reviewers,
        note=note,
        note_by=actor.label,
    )
    locked.save(update_fields=["last_event_seq"])
    for review in opened:
        after = {"attempt": verdict.attempt.number, "verdict": verdict.verdict, "note": note}
        audit(run.project_id, actor, "review.asked_for", target=review, after=after)
    if data.assignee:
        try:
            assign_review(opened[0], AssignInput(to=data.assignee), actor=actor)
        except InvalidInput as error:
            raise wrong("assignee", str(error)) from None
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    return opened
