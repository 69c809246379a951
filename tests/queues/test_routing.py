"""Which queue a review is in: when it is opened, and when rules, their order, or a queue itself change."""

from datetime import timedelta

import pytest
from django.utils import timezone

from reflection_app.alerts.escalating import escalate, escalate_due
from reflection_app.alerts.models import Escalation
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.queues import changing
from reflection_app.queues.changing import (
    QueueChange,
    QueueInput,
    QueueOrder,
    change_queue,
    create_queue,
    delete_queue,
    order_queues,
)
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.routing import reroute
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.goals import overdue_reviews, review_due
from reflection_app.reviews.models import Review
from tests import given
from tests.queues.queues import make_queue, reviewer
from tests.reviews.test_reviews import together
from tests.reviews.waiting_rows import waiting_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committing")]


def queue_of(review: Review) -> str | None:
    queue = Review.objects.select_related("queue").get(pk=review.pk).queue
    return queue.name if queue else None


def test_a_review_is_put_into_the_queue_whose_rule_it_fits_as_it_is_opened() -> None:
    project = given.unsure_project("routed")
    make_queue(project, "Chinese", rule={"metadata_key": "language", "metadata_value": "zh"})
    make_queue(project, "Planner", rule={"agent": "PLANNER"})
    assert queue_of(given.waiting_review(project, metadata={"language": "zh"}, agent="planner")) == "Chinese"
    assert queue_of(given.waiting_review(project, agent="planner")) == "Planner"
    assert queue_of(given.waiting_review(project, metadata={"language": "en"}, agent="writer")) is None


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ({}, [0, 1, 2, 3]),
        ({"min_score": 1, "max_score": 2}, [1, 2]),
        ({"reason": "audit"}, []),
        ({"verdict": "REJECT", "kind": "Creative_Writing"}, [0, 1, 2, 3]),
        ({"mode": "reflection_protocol"}, []),
        ({"metadata_key": "nothing"}, []),
    ],
)
def test_what_waits_already_is_put_into_a_queue_that_comes_later(
    rule: dict[str, object], fits: list[int], project: Project
) -> None:
    reviews = waiting_rows(project, 4)
    make_queue(project, "New", rule=rule)
    assert [number for number, review in enumerate(reviews) if queue_of(review)] == fits


def test_of_two_queues_that_fit_the_first_has_it_until_the_order_is_another(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    first, second = make_queue(project, "First", rule={"agent": "porter"}), make_queue(project, "Second")
    assert queue_of(review) == "First"
    order_queues(project, QueueOrder(queues=(second.pk, first.pk)), actor=Actor())
    assert queue_of(review) == "Second"
    trail = AuditEntry.objects.get(action="queue.ordered")
    assert (trail.before["order"], trail.after["order"]) == (["First", "Second"], ["Second", "First"])
    with pytest.raises(InvalidInput):
        order_queues(project, QueueOrder(queues=(second.pk,)), actor=Actor())
    with pytest.raises(InvalidInput):
        order_queues(project, QueueOrder(queues=(second.pk, make_queue(given.project()).pk)), actor=Actor())


def test_another_rule_moves_what_waits_and_a_deleted_queue_lets_it_go_and_keeps_what_was_decided(
    project: Project,
) -> None:
    porter, writer, decided = waiting_rows(project, 3)
    queue = make_queue(project, "Porter", rule={"agent": "porter"})
    Review.objects.filter(pk=decided.pk).update(queue=queue, state="decided")
    change_queue(queue, QueueChange.model_validate({"rule": {"agent": "writer"}}), actor=Actor())
    assert (queue_of(porter), queue_of(writer)) == (None, "Porter")
    delete_queue(queue, actor=Actor())
    assert (queue_of(porter), queue_of(writer), queue_of(decided)) == (None, None, "Porter")
    with pytest.raises(NotFound):
        delete_queue(queue, actor=Actor())
    with pytest.raises(NotFound):
        change_queue(queue, QueueChange(name="Again"), actor=Actor())
    assert make_queue(project, "porter").position == 1


def test_who_holds_a_review_keeps_it_when_the_rules_move_it(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    held = claim_review(review, actor=reviewer(project))
    make_queue(project, "Legal")
    review.refresh_from_db()
    assert (queue_of(review), review.lease_token, review.state) == ("Legal", held.lease_token, "claimed")


def test_a_rule_that_names_what_is_no_more_takes_nothing_and_breaks_nothing() -> None:
    project = given.unsure_project("broken")
    queue = make_queue(project, "Old")
    ReviewQueue.objects.filter(pk=queue.pk).update(rule={"reason": "no_longer", "agent": "x"})
    assert queue_of(given.waiting_review(project)) is None
    assert reroute(project.pk) == 0


def test_names_are_one_queues_alone_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    queue = make_queue(project, "Legal")
    with pytest.raises(InvalidInput):
        make_queue(project, "  LEGAL ")
    with pytest.raises(InvalidInput):
        change_queue(make_queue(project, "Other"), QueueChange(name="legal"), actor=Actor())
    change_queue(queue, QueueChange(name="legal"), actor=Actor())
    make_queue(given.project(), "Legal")
    monkeypatch.setattr(changing, "MOST_QUEUES", 2)
    with pytest.raises(Conflict):
        make_queue(project, "Third")


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_add_the_same_name_at_once_make_one_queue(project: Project) -> None:
    results = together(*[lambda: create_queue(project, QueueInput(name="Legal"), actor=Actor())] * 2)
    assert sorted(type(result).__name__ for result in results) == ["InvalidInput", "ReviewQueue"]
    assert ReviewQueue.objects.filter(project=project).count() == 1


def test_only_people_who_may_review_are_members_of_a_queue(project: Project) -> None:
    given.member(project, user=given.user("anna"))
    given.user("stranger")
    make_queue(project, "Ours", members=["anna"])
    with pytest.raises(InvalidInput) as refused:
        make_queue(project, "Theirs", members=["anna", "stranger"])
    assert refused.value.errors[0]["field"] == "members"
    assert not ReviewQueue.objects.filter(name="Theirs").exists()


def test_a_queue_has_a_goal_of_its_own_and_what_is_late_by_it_escalates_once(project: Project) -> None:
    late, other = waiting_rows(project, 2)
    Review.objects.filter(project=project).update(created_at=timezone.now() - timedelta(minutes=90))
    make_queue(project, "Fast", rule={"agent": "porter"}, goal_minutes=60)
    now = timezone.now()
    late, other = (Review.objects.select_related("queue").get(pk=review.pk) for review in (late, other))
    due = review_due(late, project=project, now=now)
    assert due is not None
    assert due.is_overdue
    assert review_due(other, project=project, now=now) is None
    assert [one.pk for one in overdue_reviews(project, now=now)] == [late.pk]
    assert escalate_due(now) == 1
    assert escalate(project.pk, now=now) == 0
    assert Escalation.objects.get().review_id == late.pk


def test_the_projects_goal_holds_where_the_queue_has_none() -> None:
    project = given.project(waiting={"review_goal_minutes": 60})
    slow, usual, none = waiting_rows(project, 3)
    Review.objects.filter(project=project).update(created_at=timezone.now() - timedelta(minutes=90))
    make_queue(project, "Slow", rule={"agent": "porter"}, goal_minutes=600)
    make_queue(project, "Usual", rule={"agent": "writer"})
    assert {one.pk for one in overdue_reviews(project, now=timezone.now())} == {usual.pk, none.pk}
    assert slow.pk not in {one.pk for one in overdue_reviews(project, now=timezone.now())}
