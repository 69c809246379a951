"""Many people in the same queue at the same moment: nothing is decided twice, nothing is lost, no run waits on.

REVIEWED_AT_ONCE=2000 makes the first of them as large as a bad day; each item takes some 30 ms of one core.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, ReviewHeld, ReviewLeaseLost
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import Decision
from reflection_app.reviews.claiming import claim_next, claim_review, skip_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import OPEN, Review, ReviewState
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, RunState, Step, StepState, Verdict
from tests import given
from tests.reviews.panels import another_seat, panel_of
from tests.reviews.test_reviews import together
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)

ITEMS, REVIEWERS = int(os.environ.get("REVIEWED_AT_ONCE", "400")), 16


def approve(review: Review, *, actor: Actor) -> Review:
    told = DecisionInput(lease_token=review.lease_token, decision=Decision.APPROVE)
    return decide_review(Review.objects.get(pk=review.pk), told, actor=actor)


def work_off(project: Project, actor: Actor, decided: list[Review], failures: list[BaseException]) -> None:
    """Claims and decides until nothing is left."""
    try:
        while (review := claim_next(project, actor=actor)) is not None:
            decided.append(approve(review, actor=actor))
    except BaseException as failure:  # noqa: BLE001 - whatever it is, the test tells it
        failures.append(failure)
    finally:
        connection.close()


@pytest.mark.exhaustive("sixteen at once, for a while")
def test_sixteen_reviewers_decide_all_items_each_of_them_once() -> None:
    project = given.project(review_policy={"audit_share": 0})
    reviews = waiting_rows(project, ITEMS)
    actors = [Actor(user=given.member(project)) for _ in range(REVIEWERS)]
    decided: list[list[Review]] = [[] for _ in actors]
    failures: list[BaseException] = []
    threads = [
        threading.Thread(target=work_off, args=(project, actor, done, failures))
        for actor, done in zip(actors, decided, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    done = Counter(review.pk for mine in decided for review in mine)
    assert done == Counter(review.pk for review in reviews)
    assert not Review.objects.exclude(state=ReviewState.DECIDED).exists()
    by_whom = {review.pk: actor.label for actor, mine in zip(actors, decided, strict=True) for review in mine}
    assert dict(Review.objects.values_list("pk", "decided_by_label")) == by_whom
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.QUEUED}
    assert Step.objects.filter(state=StepState.WAITING).count() == 0
    for told, many in (("review.claimed", ITEMS), ("review.decided", ITEMS)):
        trail = Counter(AuditEntry.objects.filter(action=told).values_list("target_id", flat=True))
        assert (len(trail), max(trail.values())) == (many, 1), told
    resumed = Counter(Event.objects.filter(type="run.resumed").values_list("run", flat=True))
    assert (len(resumed), max(resumed.values())) == (ITEMS, 1)
    assert Verdict.objects.filter(referee=6).count() == ITEMS
    assert set(Run.objects.values_list("last_event_seq", flat=True)) == {2}


def seats_of_one_panel(project: Project, many: int) -> list[Review]:
    """An open panel with as many free seats."""
    (first,) = waiting_rows(project, 1)
    panel_of(first)
    return [first, *(another_seat(first) for _ in range(many - 1))]


@pytest.mark.parametrize("_", range(4))
def test_one_person_in_many_tabs_gets_one_seat_of_a_panel(_: int, project: Project) -> None:
    seats = seats_of_one_panel(project, 3)
    actor = Actor(user=given.member(project))
    by_name: list[Callable[[], object]] = [
        lambda seat=seat: claim_review(seat, actor=actor)  # type: ignore[misc]
        for seat in seats
    ]
    found = together(*[lambda: claim_next(project, actor=actor)] * 3, *by_name)
    assert Review.objects.filter(state=ReviewState.CLAIMED, holder_label=actor.label).count() == 1
    assert {type(one) for one in found} <= {Review, type(None), ReviewHeld}
    assert claim_next(project, actor=actor) is None
    assert claim_next(project, actor=Actor(user=given.member(project))) is not None


def test_a_hold_that_ran_out_is_taken_over_by_one_of_many_and_the_late_decision_is_refused(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    late = Actor(user=given.member(project))
    held = claim_next(project, actor=late)
    assert held is not None
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    others = [Actor(user=given.member(project)) for _ in range(4)]
    found = together(
        *[lambda one=one: claim_next(project, actor=one) for one in others],
        lambda: approve(held, actor=late),
    )
    taken = [one for one in found if isinstance(one, Review)]
    assert len(taken) == 1
    assert [type(one) for one in found if isinstance(one, ActionError)] == [ReviewLeaseLost]
    approve(taken[0], actor=next(one for one in others if one.label == taken[0].holder_label))
    assert Event.objects.filter(type="run.resumed").count() == 1


def test_what_is_skipped_while_others_claim_is_decided_by_them(project: Project) -> None:
    waiting_rows(project, 12)
    picky, others = Actor(user=given.member(project)), [Actor(user=given.member(project)) for _ in range(3)]

    def skip_all() -> None:
        while (review := claim_next(project, actor=picky)) is not None:
            skip_review(review, actor=picky, lease_token=review.lease_token)

    def decide_all(actor: Actor) -> None:
        while (review := claim_next(project, actor=actor)) is not None:
            approve(review, actor=actor)

    together(skip_all, *[lambda one=one: decide_all(one) for one in others])
    for actor in others:
        decide_all(actor)
    assert not Review.objects.filter(state__in=OPEN).exists()
    assert not Review.objects.filter(decided_by=picky.user).exists()
