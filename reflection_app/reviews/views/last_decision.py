"""What the user did last at the desk, as long as it is fresh: a decision or a skip that one key takes back."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from reflection_app.core.permissions import Permission
from reflection_app.loops.effects import Decision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.decision_input import DecisionInput
from reflection_app.reviews.models.review import Review, ReviewSkip, ReviewState
from reflection_app.reviews.views.decision_words import said_of
from reflection_app.web.access import DeskRequest, Place

FRESH = timedelta(minutes=15)
# The pages of the queue and its items, and the addresses whose answers an open item's page takes in.
REVIEWING = frozenset({"reviews", "review", "decide_review", "skip_review", "claim_review", "peek_review"})
NO_LEASE = UUID(int=0)


@dataclass(frozen=True)
class LastDecision:
    """`said` is what was decided, in words; empty where the review was skipped. `is_told`: it is too late for undo."""

    review: Review
    said: SafeString | str
    is_told: bool = False

    @property
    def is_skip(self) -> bool:
        return not self.said

    @property
    def from_step(self) -> int | None:
        """Where a fork would begin that decides otherwise."""
        return self.review.step.seq if self.review.holds_run and self.review.step else None


def remember(request: DeskRequest, review: Review, told: DecisionInput) -> None:
    """Hands on what this very request has decided, so that its answer need not look for it.

    What was said at a blind seat is looked for all the same: its words depend on the seats of the others.
    """
    if not review.is_seat:
        request.last_decision = LastDecision(review, said=said_of(review, told, slug=request.place.project.slug))


def last_decision(request: HttpRequest) -> LastDecision | None:
    """The user's last decision or skip on the pages of reviews, where it is fresh and not taken back yet."""
    known: LastDecision | None = getattr(request, "last_decision", None)
    if known is not None:
        return known
    place: Place | None = getattr(request, "place", None)
    match = request.resolver_match
    if place is None or match is None or match.url_name not in REVIEWING or not place.may(Permission.REVIEW):
        return None
    since = timezone.now() - FRESH
    related = ("run__task", "step", "panel", "attempt", "verdict", "decided_verdict__attempt")
    reviews = Review.objects.filter(project=place.project).select_related(*related).defer("run__spec")
    decided = reviews.filter(decided_by=place.actor.user, state=ReviewState.DECIDED, decided_at__gt=since)
    review = decided.order_by("-decided_at", "-id").first()
    skips = ReviewSkip.objects.filter(by_label=place.actor.label, review__project=place.project, created_at__gt=since)
    if review is not None and review.decided_at is not None:
        skips = skips.filter(created_at__gt=review.decided_at)
    skip = skips.order_by("-created_at").first()
    if skip is not None:
        return LastDecision(reviews.get(pk=skip.review_id), said="")
    return _told(review, slug=place.project.slug) if review is not None else None


def _told(review: Review, *, slug: str) -> LastDecision:
    is_told = review.decided_seq is not None and review.run.told_seq >= review.decided_seq
    return LastDecision(review, said=said_of(review, as_told(review), slug=slug), is_told=is_told)


def as_told(review: Review) -> DecisionInput:
    """The decision of a decided review in the form in which it was handed in, as far as its words depend on it."""
    opinion, given = review.get_opinion(), review.decided_verdict
    verdict = opinion.verdict.value if opinion else given.verdict if given else review.verdict.verdict
    decision: Any = review.directors_decision_with(verdict) or Decision(review.decision or Decision.APPROVE)
    picked = (opinion.picked if opinion else given.attempt.number if given else None) if review.is_pick else None
    return DecisionInput(lease_token=NO_LEASE, decision=decision, verdict=Verdict(verdict), attempt=picked)
