"""People talk in the browser: a mention rings the other's bell, nothing typed is lost, and a hold changes hands."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Comment, Review
from reflection_app.teams.models import Notification
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def review() -> Review:
    return given.waiting_review(given.unsure_project("talking"))


def test_a_mention_rings_the_others_bell_and_leads_to_the_item(visit: Callable[..., Visitor], review: Review) -> None:
    writer, reader = (given.member(review.project, user=given.user(name)) for name in ("zoe", "anna"))
    waiting = visit(reader)
    page = waiting.go("/p/talking/runs/")
    bell = page.get_by_role("link", name="Notifications")
    expect(bell).not_to_contain_text("1")

    writing = visit(writer).go(f"/p/talking/reviews/{review.pk}/")
    field = writing.get_by_label("Your comment")
    field.click()
    field.press_sequentially("Hi @an")
    expect(writing.get_by_role("listbox", name="Members to mention").get_by_role("option")).to_have_text("anna")
    is_clean(writing)
    field.press("Enter")
    expect(field).to_have_value("Hi @anna ")
    field.press_sequentially("look at line 3.")
    field.press("Control+Enter")
    expect(writing.locator(".comment")).to_contain_text("look at line 3.")
    expect(field).to_have_value("")
    expect(writing.locator("#comment-count")).to_contain_text("1")
    assert Review.objects.get(pk=review.pk).state == "waiting"

    expect(bell).to_contain_text("1 unread")
    bell.click()
    is_clean(page)
    page.get_by_role("link", name="zoe mentioned you").click()
    expect(page.locator(".comment .at")).to_have_text("@anna")
    expect(page.get_by_role("link", name="Notifications")).not_to_contain_text("unread")
    assert Notification.objects.get().read_at is not None


def test_a_comment_of_another_appears_and_what_is_being_typed_stays(
    visit: Callable[..., Visitor], review: Review
) -> None:
    page = visit(given.member(review.project)).go(f"/p/talking/reviews/{review.pk}/")
    field = page.get_by_label("Your comment")
    field.fill("Half a sent")
    other = Actor(user=given.member(review.project, user=given.user("zoe")))
    add_comment(review.project, About.REVIEW, review.pk, CommentInput(text="Meanwhile."), actor=other)
    expect(page.locator(".comment")).to_contain_text("Meanwhile.")
    expect(field).to_have_value("Half a sent")
    expect(field).to_be_focused()


def test_what_could_not_be_sent_stays_in_the_field(visit: Callable[..., Visitor], review: Review) -> None:
    page = visit(given.member(review.project)).go(f"/p/talking/runs/{review.run_id}/")
    page.route("**/comments/**", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    field = page.get_by_label("Your comment")
    field.fill("Kept.")
    field.press("Control+Enter")
    expect(page.get_by_text("The comment was not sent.")).to_be_visible()
    expect(field).to_have_value("Kept.")
    assert not Comment.objects.exists()
