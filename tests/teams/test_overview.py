"""The overview's list of what waits for its reader: not what others hold, nor what the reader may not decide."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.claiming import claim_review, skip_review
from tests.factories import make_member
from tests.web.stories import logged_in, unsure_project, waiting_review

pytestmark = pytest.mark.django_db(transaction=True)


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
