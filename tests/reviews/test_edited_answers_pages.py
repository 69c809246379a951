"""Editing the answer on a review's page: offered where it can be given, nothing typed is lost, and shown afterwards."""

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from tests import given, when
from tests.reviews.editing import BETTER

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "</textarea><script>alert(1)</script>\n\u202e{{ settings }} & 字"


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


def typed(review: Review, text: str = BETTER, **more: str) -> dict[str, str]:
    return {
        "lease_token": str(review.lease_token),
        "editing": "1",
        "edited_answer": text.replace("\n", "\r\n"),
        "score": "80",
        "reason": "",
    } | more


def address(review: Review, *parts: str) -> str:
    return "/".join((f"/p/{review.project.slug}/reviews/{review.pk}", *parts, ""))


def test_the_holder_is_offered_to_edit_and_nobody_else(reviewer: Client, project: Project) -> None:
    review = given.waiting_review(project)
    assert "Edit the answer" not in reviewer.get(address(review)).text
    held = when.claims(reviewer, review)
    page = reviewer.get(address(held)).text
    assert 'name="editing"' in page
    assert f">\n{review.attempt.content}</textarea>" in page
    assert "checked" not in page.split("data-editing")[1][:60]


def test_the_text_decides_and_is_shown_with_what_was_changed(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    reviewer.post(address(held, "decision"), typed(held, reason="The title was missing."))
    review = Review.objects.get(pk=held.pk)
    assert (review.state, review.edited_answer) == (ReviewState.DECIDED, BETTER)
    advance(review.run_id)
    page = reviewer.get(address(review)).text
    assert "edited the answer" in page
    assert "What was changed" in page
    run = reviewer.get(f"/p/desk/runs/{review.run_id}/").text
    assert "in the place of attempt 1" in run
    assert "What was changed" in run
    assert "edited the answer" in reviewer.get("/p/desk/reviews/?state=decided").text


@pytest.mark.parametrize("text", ["", "  ", "A first text."])
def test_what_is_refused_comes_back_with_all_that_was_typed(reviewer: Client, project: Project, text: str) -> None:
    review = given.waiting_review(project)
    text = text and (review.attempt.content if text.strip() else text)
    held = when.claims(reviewer, review)
    page = reviewer.post(address(held, "decision"), typed(held, text, reason="Because."))
    assert page.status_code == 400
    assert "Because." in page.text
    assert 'aria-invalid="true"' in page.text
    assert "checked" in page.text.split("data-editing")[1][:60]


def test_a_text_that_is_too_long_or_hostile_comes_back_whole(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    long = HOSTILE + "x" * 500_000
    page = reviewer.post(address(held, "decision"), typed(held, long))
    assert page.status_code == 400
    assert "<script>alert" not in page.text
    assert "x" * 500_000 in page.text
    assert Review.objects.get(pk=held.pk).state == ReviewState.CLAIMED


def test_a_lost_hold_keeps_the_text_and_claiming_again_brings_it_along(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    Review.objects.filter(pk=held.pk).update(lease_until="2020-01-01T00:00:00Z")
    page = reviewer.post(address(held, "decision"), typed(held))
    assert page.status_code == 409
    assert "each with its source" in page.text
    again = reviewer.post(address(held, "claim"), typed(held))
    assert "each with its source" in again.text
    assert "checked" in again.text.split("data-editing")[1][:60]
