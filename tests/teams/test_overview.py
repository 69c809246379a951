"""The overview's list of what waits for its reader: not what others hold, nor what the reader may not decide."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.claiming import claim_review, skip_review
from tests import given
from tests.notebook.exposed import approved_lesson

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


def test_first_steps_are_ticked_one_by_one_and_gone_when_all_are_done(client: Client) -> None:
    project = given.project("fresh")
    admin = given.logged_in(client, project, Role.ADMIN)
    page = admin.get("/p/fresh/").text
    assert "First steps" in page
    for address in ("tasks/new/", "settings/keys/", "reviews/", "notebook/", "settings/members/"):
        assert f'href="/p/fresh/{address}' in page.partition("First steps")[2].partition("</section>")[0], address
    given.api_key(project)
    given.submitted_run(project)
    approved_lesson(project.pk, "Name the currency")
    given.member(project)
    page = admin.get("/p/fresh/").text.partition("First steps")[2].partition("</section>")[0]
    assert page.count("is-done") == 4
    viewer = Client()
    assert "First steps" not in given.logged_in(viewer, project, Role.VIEWER).get("/p/fresh/").text
