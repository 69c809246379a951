"""The thread of comments, the bell, the notifications, assigning, as browsers ask for them."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Comment, Review
from reflection_app.teams.models import Notification
from tests.factories import make_member, make_project, make_user
from tests.reviews.test_comments import blind_seat
from tests.web.stories import HOSTILE, logged_in, unsure_project, waiting_review

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def review() -> Review:
    return waiting_review(unsure_project("talked"))


def thread(review: Review) -> str:
    return f"/p/talked/comments/review/{review.pk}/"


def said(review: Review, text: str, *, name: str = "") -> Comment:
    user = make_member(review.project, user=make_user(name or None))
    return add_comment(review.project, About.REVIEW, review.pk, CommentInput(text=text), actor=Actor(user=user))


def test_a_comment_is_added_by_an_ordinary_form_and_stands_on_the_items_page(client: Client, review: Review) -> None:
    logged_in(client, review.project, Role.REVIEWER)
    response = client.post(thread(review), {"text": "Is it **long** enough?"})
    comment = Comment.objects.get()
    assert response["Location"] == f"/p/talked/reviews/{review.pk}/#comment-{comment.pk}"
    page = client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    assert "<strong>long</strong>" in page
    assert f'id="comment-{comment.pk}"' in page


def test_hostile_words_and_names_stay_text(client: Client, review: Review) -> None:
    said(review, HOSTILE)
    logged_in(client, review.project)
    page = client.get(thread(review)).content.decode()
    for part in ("<script>alert", "<img src=x", "<b onclick", 'href="javascript'):
        assert part not in page


def test_what_is_refused_comes_back_with_all_that_was_typed(client: Client, review: Review) -> None:
    logged_in(client, review.project)
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
    logged_in(client, review.project)
    first = client.get(thread(review), headers=HTMX).content.decode()
    assert "<textarea" not in first
    assert "<html" not in first
    stamp = first.split("?seen=")[1].split('"')[0]
    assert client.get(f"{thread(review)}?seen={stamp}", headers=HTMX).status_code == 204
    comment.edited_at = comment.created_at
    comment.save()
    assert client.get(f"{thread(review)}?seen={stamp}", headers=HTMX).status_code == 200


def test_an_htmx_form_is_answered_with_the_list_and_the_new_count(client: Client, review: Review) -> None:
    logged_in(client, review.project)
    answer = client.post(thread(review), {"text": "Quick."}, headers=HTMX).content.decode()
    assert "Quick." in answer
    assert 'id="comment-count" hx-swap-oob="innerHTML"' in answer


def test_own_comments_are_edited_and_taken_back_and_an_admin_takes_back_any(client: Client, review: Review) -> None:
    logged_in(client, review.project, Role.REVIEWER)
    client.post(thread(review), {"text": "Mine."})
    own, other = Comment.objects.get(), said(review, "Theirs.")
    at = "/p/talked/comments"
    assert "Mine." in client.get(f"{at}/{own.pk}/edit/").content.decode()
    assert client.post(f"{at}/{own.pk}/edit/", {"text": ""}).status_code == 400
    assert client.post(f"{at}/{own.pk}/edit/", {"text": "Better."}).status_code == 302
    assert client.get(f"{at}/{other.pk}/edit/").status_code == 302
    assert client.post(f"{at}/{other.pk}/edit/", {"text": "Forged."}).status_code == 403
    assert client.post(f"{at}/{other.pk}/take-back/").status_code == 403
    admin = Client()
    logged_in(admin, review.project, Role.ADMIN)
    assert admin.post(f"{at}/{other.pk}/take-back/").status_code == 302
    texts = Comment.objects.order_by("created_at").values_list("text", flat=True)
    assert list(texts) == ["Better.", ""]
    page = client.get(thread(review)).content.decode()
    assert "was deleted" in page
    assert "Theirs." not in page


def test_a_viewer_reads_and_does_not_write(client: Client, review: Review) -> None:
    comment = said(review, "To be read.")
    logged_in(client, review.project, Role.VIEWER)
    page = client.get(f"/p/talked/reviews/{review.pk}/").content.decode()
    assert "To be read." in page
    assert "data-comment-form" not in page
    assert client.post(thread(review), {"text": "x"}).status_code == 403
    assert client.post(f"/p/talked/comments/{comment.pk}/edit/", {"text": "x"}).status_code == 403
    assert client.post(f"/p/talked/reviews/{review.pk}/assign/", {"to": "x"}).status_code == 403


def test_at_a_blind_seat_the_page_shows_a_comment_to_its_author_alone(client: Client, review: Review) -> None:
    blind_seat(review)
    logged_in(client, review.project)
    client.post(thread(review), {"text": "Plainly wrong."})
    comment = Comment.objects.get()
    assert "only you see" in client.get(thread(review)).content.decode()
    other = Client()
    logged_in(other, review.project)
    for page in (thread(review), f"/p/talked/reviews/{review.pk}/", f"/p/talked/runs/{review.run_id}/"):
        assert "Plainly wrong." not in other.get(page).content.decode()
    assert other.get(f"/p/talked/comments/{comment.pk}/edit/").status_code == 404


def test_the_bell_counts_and_the_page_tells_and_opening_the_item_reads(client: Client, review: Review) -> None:
    logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    comment = said(review, f"@{reader.username} please", name="zoe")
    assert ">1<" in client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode()
    page = client.get("/notifications/").content.decode()
    assert "zoe mentioned you in a comment on" in page
    assert f"/p/talked/reviews/{review.pk}/#comment-{comment.pk}" in page
    client.get(f"/p/talked/reviews/{review.pk}/")
    assert client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode().strip() == ""


def test_notifications_are_marked_one_by_one_or_all_and_only_ones_own(client: Client, review: Review) -> None:
    logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    for _ in range(3):
        said(review, f"@{reader.username}")
    first = Notification.objects.filter(user=reader).first()
    assert first is not None
    stranger = Client()
    logged_in(stranger, review.project)
    assert stranger.post(f"/notifications/{first.pk}/read/").status_code == 404
    assert client.get(f"/notifications/{first.pk}/read/").status_code == 302
    assert Notification.objects.filter(read_at=None, user=reader).count() == 3
    assert client.post(f"/notifications/{first.pk}/read/").status_code == 302
    assert Notification.objects.filter(read_at=None, user=reader).count() == 2
    client.post("/notifications/read/")
    assert not Notification.objects.filter(read_at=None, user=reader).exists()
    assert "Mark all as read" not in client.get("/notifications/").content.decode()


def test_the_notifications_of_nobody_and_of_a_project_that_was_left(client: Client, review: Review) -> None:
    assert Client().get("/notifications/")["Location"].startswith("/login/")
    logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    said(review, f"@{reader.username}")
    Membership.objects.filter(user=reader).delete()
    page = client.get("/notifications/").content.decode()
    assert "No notifications" in page
    assert "talked" not in page.lower()


def test_the_list_of_notifications_has_pages(client: Client, review: Review) -> None:
    logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    Notification.objects.bulk_create(
        Notification(
            project=review.project,
            user=reader,
            kind="assigned",
            about="review",
            about_id=review.pk,
            facts={"by": "zoe", "title": f"no {n}."},
        )
        for n in range(60)
    )
    first = client.get("/notifications/").content.decode()
    assert "no 59." in first
    assert "no 9." not in first
    older = first.split("?before=")[-1].split('"')[0]
    assert "no 9." in client.get(f"/notifications/?before={older}").content.decode()
    assert client.get("/notifications/?before=nonsense%00").status_code == 200


def test_a_review_is_assigned_and_the_page_says_to_whom(client: Client, review: Review) -> None:
    anna = make_member(review.project, user=make_user("anna"))
    logged_in(client, review.project, Role.REVIEWER)
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
    user = make_member(review.project, user=make_user("eve"))
    make_member(make_project("aaa-first"), user=user)
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
