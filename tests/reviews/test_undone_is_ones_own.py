"""What somebody took back stands in their form alone, and so does the token of their hold."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review, ReviewState
from tests.factories import make_member
from tests.reviews.panels import SECRET_REASON, open_panel, panel_project, people, say
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)


def client_of(actor: Actor) -> Client:
    client = Client()
    assert actor.user is not None
    client.force_login(actor.user)
    return client


@pytest.fixture
def giver() -> Actor:
    return people(panel_project("desk"), 1)[0]


@pytest.fixture
def seat(giver: Actor) -> Review:
    """A blind seat whose opinion was taken back by its giver, who holds it again."""
    return undo_decision(say(open_panel(Project.objects.get()), giver, Verdict.REVISE), actor=giver)


def page(client: Client, seat: Review, part: str = "", **posted: str) -> str:
    path = f"/p/desk/reviews/{seat.pk}/{part}"
    return (client.post(path, posted) if part else client.get(path)).text


def test_no_other_reviewer_reads_it_or_gets_the_token(seat: Review) -> None:
    others = [client_of(people(seat.project, 1)[0]), logged_in(Client(), seat.project, Role.VIEWER)]
    for client in others:
        seen = [page(client, seat), page(client, seat, "claim/"), page(client, seat, "assign/", to="nobody")]
        assert SECRET_REASON not in "".join(seen)
        assert str(seat.lease_token) not in "".join(seen)


def test_its_giver_finds_it_in_the_form(seat: Review, giver: Actor) -> None:
    seen = page(client_of(giver), seat)
    assert SECRET_REASON in seen
    assert str(seat.lease_token) in seen


def test_it_is_not_fetched_ahead_once_the_hold_has_run_out(seat: Review) -> None:
    Review.objects.exclude(pk=seat.pk).update(state=ReviewState.WITHDRAWN)
    Review.objects.filter(pk=seat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    other = Actor(user=make_member(seat.project))
    ahead = client_of(other).get("/p/desk/reviews/peek/", headers={"X-Review-Peeked": "none"})
    assert str(seat.pk) in ahead.text
    assert SECRET_REASON not in ahead.text
