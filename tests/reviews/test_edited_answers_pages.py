"""Editing the answer on a review's page: offered where it can be given, nothing typed is lost, and shown afterwards."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.factories import make_member
from tests.reviews.editing import BETTER, edited
from tests.reviews.review_items import audited, handed_in, rejected, seat
from tests.web.stories import claimed_by, logged_in, unsure_project, waiting_review

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "</textarea><script>alert(1)</script>\n\u202e{{ settings }} & 字"


@pytest.fixture
def project() -> Project:
    return unsure_project("desk")


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
    review = waiting_review(project)
    assert "Edit the answer" not in reviewer.get(address(review)).text
    held = claimed_by(reviewer, review)
    page = reviewer.get(address(held)).text
    assert 'name="editing"' in page
    assert f">\n{review.attempt.content}</textarea>" in page
    assert "checked" not in page.split("data-editing")[1][:60]
    # The address opens the field as well.
    assert "checked" in reviewer.get(address(held), {"edit": ""}).text.split("data-editing")[1][:60]


def test_the_text_decides_and_is_shown_with_what_was_changed(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
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
    review = waiting_review(project)
    text = text and (review.attempt.content if text.strip() else text)
    held = claimed_by(reviewer, review)
    page = reviewer.post(address(held, "decision"), typed(held, text, reason="Because."))
    assert page.status_code == 400
    assert "Because." in page.text
    assert 'aria-invalid="true"' in page.text
    assert "checked" in page.text.split("data-editing")[1][:60]


def test_a_text_that_is_too_long_or_hostile_comes_back_whole(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    long = HOSTILE + "x" * 500_000
    page = reviewer.post(address(held, "decision"), typed(held, long))
    assert page.status_code == 400
    assert "<script>alert" not in page.text
    assert "x" * 500_000 in page.text
    assert Review.objects.get(pk=held.pk).state == ReviewState.CLAIMED


def test_a_director_edits_as_well(client: Client) -> None:
    review = rejected("director")
    held = claimed_by(logged_in(client, review.project, Role.REVIEWER), review)
    page = client.get(address(held)).text
    assert "Decide with your text" in page
    client.post(address(held, "decision"), typed(held))
    assert Review.objects.get(pk=held.pk).is_edited
    advance(review.run_id)
    assert Run.objects.get(pk=review.run_id).outcome == "succeeded"


def test_a_seat_is_not_offered_a_text(client: Client) -> None:
    review = seat("seats")
    held = claimed_by(logged_in(client, review.project, Role.REVIEWER), review)
    assert "Edit the answer" not in client.get(address(held)).text


def test_an_audited_run_that_has_ended_is_offered_too_and_shows_the_correction(client: Client) -> None:
    review = audited("audited")
    held = claimed_by(logged_in(client, review.project, Role.REVIEWER), review)
    assert "takes the place of the answer" in client.get(address(held)).text
    client.post(address(held, "decision"), typed(held))
    run = client.get(f"/p/audited/runs/{review.run_id}/").text
    assert "in the place of attempt 1" in run


def test_the_difference_is_told_while_it_is_written_and_keeps_nothing(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    told = reviewer.post(address(held, "difference"), typed(held, HOSTILE), headers={"HX-Request": "true"})
    assert "<script>" not in told.text
    assert "&lt;script&gt;" in told.text
    assert "<html" not in told.text
    # Without a script the whole page comes back, with all that was typed.
    page = reviewer.post(address(held, "difference"), typed(held, HOSTILE, reason="Because."))
    assert page.status_code == 200
    assert "Because." in page.text
    assert "&lt;script&gt;" in page.text
    assert Review.objects.get(pk=held.pk).edited_answer is None
    unchanged = typed(held, held.attempt.content)
    same = reviewer.post(address(held, "difference"), unchanged, headers={"HX-Request": "true"})
    assert "Nothing is changed yet" in same.text


def test_a_lost_hold_keeps_the_text_and_claiming_again_brings_it_along(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    Review.objects.filter(pk=held.pk).update(lease_until="2020-01-01T00:00:00Z")
    page = reviewer.post(address(held, "decision"), typed(held))
    assert page.status_code == 409
    assert "each with its source" in page.text
    again = reviewer.post(address(held, "claim"), typed(held))
    assert "each with its source" in again.text
    assert "checked" in again.text.split("data-editing")[1][:60]


def test_after_undo_the_field_begins_with_the_text(client: Client) -> None:
    review = handed_in("outside")
    user = make_member(review.project)
    decided = edited(review, actor=Actor(user=user))
    advance(review.run_id)
    undo_decision(decided, actor=Actor(user=user))
    client.force_login(user)
    page = client.get(address(review)).text
    assert "each with its source" in page
    assert "checked" in page.split("data-editing")[1][:60]


def test_a_viewer_and_a_stranger_are_told_no_difference(client: Client, project: Project) -> None:
    review = waiting_review(project)
    viewer = logged_in(client, project, Role.VIEWER)
    assert viewer.post(address(review, "difference"), {"edited_answer": "x"}).status_code == 403
    stranger = logged_in(Client(), unsure_project("other"), Role.ADMIN)
    assert stranger.post(address(review, "difference"), {"edited_answer": "x"}).status_code == 404
