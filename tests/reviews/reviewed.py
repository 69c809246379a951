"""Critics' verdicts that people decided about, by really running the loop under a policy."""

from typing import Any

from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from tests import given, when
from tests.runs.critiques import critique

EVERY_TIME = {"rules": [], "audit_share": 1}


def criticised(
    project: Project, *, score: float = 80, confidence: float | None = 0.9, policy: dict[str, Any] | None = None
) -> Run:
    """A run whose critic gave the first attempt this score: PASS from 50, REJECT below 30. It counts as a real one."""
    answers = {
        "attempt-1/answer": "A first text.",
        "attempt-1/critique": critique(score, approved=score >= 50, confidence=confidence),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(95, approved=True),
    }
    run = given.scripted_run(answers, project=project)
    # What a script plays is neither audited nor counted, so the run is told to be, as one of a provider's models.
    run.spec["review_policy"] |= policy if policy is not None else EVERY_TIME
    run.is_scripted = False
    run.save(update_fields=["spec", "is_scripted"])
    when.advances(run)
    return run


def decide(review: Review, verdict: VerdictName | None = None) -> Review:
    """The review, approved or overruled with `verdict` by a reviewer of its project."""
    return claim_and_decide(review, "overrule" if verdict else "approve", verdict=verdict, reason="So.")


def review_of(run: Run) -> Review:
    """The first review that the run asked for."""
    return Review.objects.filter(run=run).order_by("created_at", "id")[0]


def decide_held(review: Review, actor: Actor, decision: str = "approve", **more: Any) -> Review:
    """The review that `actor` holds, decided."""
    said = {"lease_token": review.lease_token, "decision": decision} | more
    return decide_review(review, DecisionInput.model_validate(said), actor=actor)


def claim_and_decide(review: Review, decision: str = "approve", *, actor: Actor | None = None, **more: Any) -> Review:
    """The same, claimed before by `actor`, or by some reviewer of its project."""
    actor = actor or Actor(user=given.member(review.project))
    return decide_held(claim_review(review, actor=actor), actor, decision, **more)


def client_of(actor: Actor) -> Client:
    """The browser of the person."""
    client = Client()
    assert actor.user is not None
    client.force_login(actor.user)
    return client
