"""Editing the answer on a review's page: offered where it can be given, nothing typed is lost, and shown afterwards."""

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from tests import given, when
from tests.reviews.editing import BETTER

pytestmark = pytest.mark.django_db


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


def test_the_text_decides_and_is_shown_with_what_was_changed(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    reviewer.post(address(held, "decision"), typed(held, reason="The title was missing."))
    review = Review.objects.get(pk=held.pk)
    assert (review.state, review.edited_answer) == (ReviewState.DECIDED, BETTER)
    advance(review.run_id)
    page = reviewer.get(address(review)).text
    assert "edited the answer" in page


def test_what_is_refused_comes_back_with_all_that_was_typed(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    page = reviewer.post(address(held, "decision"), typed(held, held.attempt.content, reason="Because."))
    assert page.status_code == 400
    assert "Because." in page.text
    assert "checked" in page.text.split("data-editing")[1][:60]
