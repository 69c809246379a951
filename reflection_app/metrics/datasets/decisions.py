"""Decisions of people, or of keys, that were in force at a moment.

What is said at a seat of an open blind panel is in force for nobody, and so it is in none of them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from reflection_app.loops.attempt_effects import Decision
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.rows import DatasetDecision
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Verdict


@dataclass(frozen=True)
class InForce:
    """One decision, of one reviewer or of all who sat on a panel; `seats` in the order in which they spoke."""

    seats: tuple[Review, ...]

    @property
    def review(self) -> Review:
        return self.seats[-1]

    @property
    def verdict(self) -> Verdict:
        given = self.review.decided_verdict
        assert given is not None, "only such are read"
        return given

    @property
    def decided_at(self) -> datetime:
        assert self.review.decided_at is not None, "only such are read"
        return self.review.decided_at

    @property
    def by_key(self) -> bool:
        return all(seat.decided_by_key_id is not None for seat in self.seats)

    @property
    def decision(self) -> Decision:
        """Of a panel, whether what it came to is what was there before."""
        if not self.review.is_seat and self.review.decision is not None:
            return Decision(self.review.decision)
        before, given = self.review.verdict, self.verdict
        is_same = (given.verdict, given.score, given.issues) == (before.verdict, before.score, before.issues)
        return Decision.APPROVE if is_same else Decision.OVERRULE

    def reason(self, people: People) -> str:
        said = [(people.name(seat.decided_by_label), people.text(seat.decision_reason)) for seat in self.seats]
        if len(said) == 1:
            return said[0][1]
        return "\n\n".join(f"{name}: {text}" for name, text in said if text.strip())

    def by(self, people: People) -> str:
        return ", ".join(people.name(seat.decided_by_label) for seat in self.seats)

    def as_column(self, people: People) -> DatasetDecision:
        given = self.verdict
        return DatasetDecision(
            review_id=self.review.pk,
            attempt=given.attempt.number,
            asked_because=self.review.reason,
            decision=self.decision,
            verdict=given.verdict,
            score=given.score,
            issues=people.value(given.issues),
            ratings=people.value(given.ratings),
            reason=self.reason(people),
            by=self.by(people),
            by_key=self.by_key,
            decided_at=self.decided_at,
        )


def decided_reviews(**among: Any) -> QuerySet[Review]:
    """The reviews whose decision is in force, with what the decision says."""
    rows = Review.objects.filter(state=ReviewState.DECIDED, decided_verdict__isnull=False, **among)
    heavy = [f"{verdict}__{name}" for verdict in ("verdict", "decided_verdict") for name in ("tests", "requirements")]
    return rows.select_related("verdict", "attempt", "decided_verdict__attempt").defer(
        "opinion", "edited_answer", "attempt__content", "decided_verdict__attempt__content", *heavy
    )


def in_force(rows: QuerySet[Review]) -> list[InForce]:
    """The decisions that the reviews came to, oldest first."""
    seats = defaultdict[UUID | None, list[Review]](list)
    for row in rows.order_by("decided_at", "id"):
        seats[row.decided_verdict_id].append(row)
    return sorted((InForce(tuple(some)) for some in seats.values()), key=lambda one: (one.decided_at, one.review.pk))


def decisions_by_run(runs: Iterable[UUID], *, until: datetime) -> dict[UUID, list[InForce]]:
    """What had been decided by then, by run, oldest first."""
    found = defaultdict[UUID, list[InForce]](list)
    for one in in_force(decided_reviews(run__in=runs, decided_at__lt=until)):
        found[one.review.run_id].append(one)
    return found
