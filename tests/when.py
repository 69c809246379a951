"""When: what workers, pipelines and reviewers do in a test."""

from typing import Any

from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run


def advances(run: Run) -> Run:
    """Advance the run as far as it goes now, and return it read afresh."""
    advance(run.pk)
    run.refresh_from_db()
    return run


def claims(client: Client, review: Review) -> Review:
    """Return the review, claimed by the user whom `client` is logged in as."""
    membership = Membership.objects.get(user_id=client.session["_auth_user_id"], project=review.project)
    return claim_review(review, actor=Actor(user=membership.user))


def decides(review: Review, verdict: Verdict | None = None, *, actor: Actor, **more: Any) -> Review:
    """Claim and decide the review as `actor`: approved, or overruled with `verdict`."""
    held = claim_review(review, actor=actor)
    assert held.lease_token is not None
    decision = Decision.APPROVE if verdict is None else Decision.OVERRULE
    return decide_review(
        held, DecisionInput(lease_token=held.lease_token, decision=decision, verdict=verdict, **more), actor=actor
    )
