"""The thread of comments, the bell, the notifications, assigning, as browsers ask for them."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Comment, Review
from tests import given
from tests.reviews.test_comments import blind_seat

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def review() -> Review:
    return given.waiting_review(given.unsure_project("talked"))


def thread(review: Review) -> str:
    return f"/p/talked/comments/review/{review.pk}/"


def said(review: Review, text: str, *, name: str = "") -> Comment:
    user = given.member(review.project, user=given.user(name or None))
    return add_comment(review.project, About.REVIEW, review.pk, CommentInput(text=text), actor=Actor(user=user))


def test_a_comment_is_added_by_an_ordinary_form_and_stands_on_the_items_page(client: Client, review: Review) -> None:
    given.logged_in(client, review.project, Role.REVIEWER)
    response = client.post(thread(review), {"text": "Is it **long** enough?"})
    comment = Comment.objects.get()
    assert response["Location"] == f"/p/talked/reviews/{review.pk}/#comment-{comment.pk}"
    page = client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    assert "<strong>long</strong>" in page
    assert f'id="comment-{comment.pk}"' in page


def test_hostile_words_and_names_stay_text(client: Client, review: Review) -> None:
    said(review, given.HOSTILE)
    given.logged_in(client, review.project)
    page = client.get(thread(review)).content.decode()
    for part in ("<script>alert", "<img src=x", "<b onclick", 'href="javascript'):
        assert part not in page


def test_what_is_refused_comes_back_with_all_that_was_typed(client: Client, review: Review) -> None:
    given.logged_in(client, review.project)
    too_long = "word " * 2001
    response = client.post(thread(review), {"text": too_long})
    assert response.status_code == 400
    page = response.content.decode()
    assert "At most 10,000 characters." in page
    assert too_long in page
    assert client.post(thread(review), {"text": "  "}, headers=HTMX).content.decode().count("Write something.") == 1
    assert not Comment.objects.exists()


def test_an_open_page_is_given_the_list_only_when_it_has_changed(client: Client, review: Review) -> None:
    comment = said(review, "First.")
    given.logged_in(client, review.project)
    first = client.get(thread(review), headers=HTMX).content.decode()
    assert "<textarea" not in first
    assert "<html" not in first
    stamp = first.split("?seen=")[1].split('"')[0]
    assert client.get(f"{thread(review)}?seen={stamp}", headers=HTMX).status_code == 204
    comment.edited_at = comment.created_at
    comment.save()
    assert client.get(f"{thread(review)}?seen={stamp}", headers=HTMX).status_code == 200


def test_at_a_blind_seat_the_page_shows_a_comment_to_its_author_alone(client: Client, review: Review) -> None:
    blind_seat(review)
    given.logged_in(client, review.project)
    client.post(thread(review), {"text": "Plainly wrong."})
    comment = Comment.objects.get()
    assert "only you see" in client.get(thread(review)).content.decode()
    other = Client()
    given.logged_in(other, review.project)
    for page in (thread(review), f"/p/talked/reviews/{review.pk}/", f"/p/talked/runs/{review.run_id}/"):
        assert "Plainly wrong." not in other.get(page).content.decode()
    assert other.get(f"/p/talked/comments/{comment.pk}/edit/").status_code == 404


def test_the_bell_counts_and_the_page_tells_and_opening_the_item_reads(client: Client, review: Review) -> None:
    given.logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    comment = said(review, f"@{reader.username} please", name="zoe")
    assert ">1<" in client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode()
    page = client.get("/notifications/").content.decode()
    assert "zoe mentioned you in a comment on" in page
    assert f"/p/talked/reviews/{review.pk}/#comment-{comment.pk}" in page
    client.get(f"/p/talked/reviews/{review.pk}/")
    assert client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode().strip() == ""


def test_a_review_is_assigned_and_the_page_says_to_whom(client: Client, review: Review) -> None:
    anna = given.member(review.project, user=given.user("anna"))
    given.logged_in(client, review.project, Role.REVIEWER)
    page = client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    assert '<option value="anna">' in page
    client.post(f"/p/talked/reviews/{review.pk}/assign/", {"to": "anna", "note": "Please."})
    page = client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    assert "Assigned to anna. Take it only if they cannot." in page
    assert "Please." in page
    client.force_login(anna)
    assert "Assigned to you." in client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    client.post(f"/p/talked/reviews/{review.pk}/assign/", {"to": ""})
    review.refresh_from_db()
    assert review.assignee is None


def test_the_bell_leads_to_a_list_inside_the_project_that_one_is_in(client: Client, review: Review) -> None:
    user = given.member(review.project, user=given.user("eve"))
    given.member(given.project("aaa-first"), user=user)
    said(review, "@eve look")
    client.force_login(user)
    here = "/notifications/?project=talked"
    assert here in client.get("/p/talked/reviews/").text
    page = client.get(here).text
    assert 'href="/p/talked/reviews/"' in page
    assert 'href="/p/aaa-first/reviews/"' not in page
    assert 'action="/notifications/read/?project=talked"' in page
    assert client.post("/notifications/read/?project=talked&other=1")["Location"] == here
    # Of what is nobody's of theirs they stay where they were.
    assert 'href="/p/talked/reviews/"' in client.get("/notifications/?project=somebody-elses").text
