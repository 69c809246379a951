"""The overview's list of what waits for its reader: not what others hold, nor what the reader may not decide."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.claiming import claim_review, skip_review
from tests.factories import make_api_key, make_member, make_project, submit
from tests.notebook.exposed import approved_lesson
from tests.web.stories import logged_in, unsure_project, waiting_review

pytestmark = pytest.mark.django_db


def test_waiting_for_you_is_what_you_could_decide_now(client: Client) -> None:
    project = unsure_project("desk")
    held, free, skipped, own = (
        waiting_review(project, objective=name) for name in ("Held by Ben", "Free", "Skipped", "Own")
    )
    logged_in(client, project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    claim_review(held, actor=Actor(user=make_member(project)))
    skip_review(skipped, actor=Actor(user=reader))
    own.handed_in_by = [str(Actor(user=reader).hand)]
    own.save(update_fields=["handed_in_by"])
    page = client.get("/p/desk/").text
    waiting = page.partition("Waiting for you")[2].partition("Under way")[0]
    assert "Free" in waiting
    assert not [name for name in ("Held by Ben", "Skipped", "Own") if name in waiting]
    claim_review(free, actor=Actor(user=reader))
    assert "Free" in client.get("/p/desk/").text.partition("Waiting for you")[2].partition("Under way")[0]


def test_first_steps_are_ticked_one_by_one_and_gone_when_all_are_done(client: Client) -> None:
    project = make_project("fresh")
    admin = logged_in(client, project, Role.ADMIN)
    page = admin.get("/p/fresh/").text
    assert "First steps" in page
    for address in ("tasks/new/", "settings/keys/", "reviews/", "notebook/", "settings/members/"):
        assert f'href="/p/fresh/{address}' in page.partition("First steps")[2].partition("</section>")[0], address
    make_api_key(project)
    submit(project)
    approved_lesson(project.pk, "Name the currency")
    make_member(project)
    page = admin.get("/p/fresh/").text.partition("First steps")[2].partition("</section>")[0]
    assert page.count("is-done") == 4
    viewer = Client()
    assert "First steps" not in logged_in(viewer, project, Role.VIEWER).get("/p/fresh/").text
