"""Undo in the browser: the bar after a decision, the button on the decided item, and why some decisions stand."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project, Role
from reflection_app.reviews.claiming import skip_review
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given, when
from tests.reviews.test_reviews_pages import decision

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


@pytest.fixture
def review(reviewer: Client, project: Project) -> Review:
    """A review that the reviewer has overruled, after which its run went on."""
    review = when.claims(reviewer, given.waiting_review(project, objective="A text to look at"))
    said = decision(review, decision="overrule", verdict="REVISE", reason="Half as long.", then="queue")
    assert reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", said).status_code == 302
    advance(review.run_id)
    return review


def test_the_bar_says_what_was_decided_and_takes_it_back(reviewer: Client, review: Review) -> None:
    page = reviewer.get("/p/desk/reviews/").text
    assert "A text to look at" in page
    assert "You overruled the critic: Revise. The run goes on." in page
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' in page
    assert 'data-key="u"' in page

    page = reviewer.post(f"/p/desk/reviews/{review.pk}/undo/", follow=True).text
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED
    assert "Undone, with all that followed." in page
    assert "Half as long." in page, "what was decided is in the form"
    assert 'name="verdict" value="REVISE" data-key="2" checked' in page
    assert f'value="{review.lease_token}"' in page
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' not in page


def test_the_bar_goes_with_time_and_is_nobody_elses(reviewer: Client, project: Project, review: Review) -> None:
    other = Client()
    other.force_login(given.member(project, Role.REVIEWER))
    assert "You overruled" not in other.get("/p/desk/reviews/").text
    assert "You overruled" not in reviewer.get("/p/desk/runs/").text
    Review.objects.update(decided_at=timezone.now() - timedelta(hours=1))
    assert "You overruled" not in reviewer.get("/p/desk/reviews/").text
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' in reviewer.get(f"/p/desk/reviews/{review.pk}/").text


def test_what_the_agent_was_told_stands_and_a_rewind_is_offered(reviewer: Client, review: Review) -> None:
    Run.objects.update(told_seq=F("last_event_seq"))
    assert review.step is not None
    rewind = f'href="/p/desk/runs/{review.run_id}/fork/?step={review.step.seq}"'
    why = "The agent or a pipeline has been told of it."
    for page, words in (("/p/desk/reviews/", "The agent has it already."), (f"/p/desk/reviews/{review.pk}/", why)):
        told = reviewer.get(page).text
        assert words in told
        assert rewind in told
        assert f'action="/p/desk/reviews/{review.pk}/undo/"' not in told
    refused = reviewer.post(f"/p/desk/reviews/{review.pk}/undo/")
    assert refused.status_code == 409
    assert why in refused.text
    assert rewind in refused.text
    assert reviewer.get(f"/p/desk/runs/{review.run_id}/fork/?step={review.step.seq}").status_code == 200


def test_a_skip_is_taken_back_by_the_same_bar(reviewer: Client, project: Project, review: Review) -> None:
    other = given.waiting_review(project, objective="Passed over")
    member = Membership.objects.get(user_id=reviewer.session["_auth_user_id"])
    skip_review(other, actor=Actor(user=member.user))
    page = reviewer.get("/p/desk/reviews/").text
    assert "You skipped “Passed over”." in page
    assert "You overruled" not in page
    reviewer.post(f"/p/desk/reviews/{other.pk}/skip/", {"undo": "1"})
    page = reviewer.get("/p/desk/reviews/").text
    assert "You skipped" not in page
    assert "You overruled" in page
