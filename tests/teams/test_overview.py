"""The overview's list of what waits for its reader: not what others hold, nor what the reader may not decide."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.claiming import claim_review, skip_review
from reflection_app.reviews.models import Review
from reflection_app.teams.pages.overview import has_begun
from tests import given

pytestmark = pytest.mark.django_db


def test_waiting_for_you_is_what_you_could_decide_now(client: Client) -> None:
    project = given.unsure_project("desk")
    held, free, skipped, own = (
        given.waiting_review(project, objective=name) for name in ("Held by Ben", "Free", "Skipped", "Own")
    )
    given.logged_in(client, project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    claim_review(held, actor=Actor(user=given.member(project)))
    skip_review(skipped, actor=Actor(user=reader))
    own.handed_in_by = [str(Actor(user=reader).hand)]
    own.save(update_fields=["handed_in_by"])
    page = client.get("/p/desk/").text
    waiting = page.partition("Waiting for you")[2].partition("In progress")[0]
    assert "Free" in waiting
    assert not [name for name in ("Held by Ben", "Skipped", "Own") if name in waiting]
    claim_review(free, actor=Actor(user=reader))
    assert "Free" in client.get("/p/desk/").text.partition("Waiting for you")[2].partition("In progress")[0]


def test_get_started_is_offered_until_anyone_has_begun(client: Client) -> None:
    project = given.project("fresh")
    given.logged_in(client, project, Role.VIEWER)
    offer = '<section class="start-hint'
    assert offer in client.get("/p/fresh/").text
    given.submitted_run(project)
    assert offer not in client.get("/p/fresh/").text


def test_a_key_and_a_decided_review_count_as_begun() -> None:
    with_key, with_decision = given.project(), given.project()
    assert not has_begun(with_key)
    given.api_key(with_key)
    assert has_begun(with_key)
    review = given.waiting_review(with_decision)
    assert not has_begun(with_decision)
    Review.objects.filter(pk=review.pk).update(decided_by=given.member(with_decision))
    assert has_begun(with_decision)
