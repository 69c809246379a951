"""Comments: who may say, change and take back what; who is told; what a blind seat hides."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pydantic import ValidationError

from notebook_app.public import propose
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, NotFound, NotTheAuthor
from reflection_app.core.models import Membership, Project, Role, Scope
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, take_back_comment
from reflection_app.reviews.models import About, Comment, Panel, PanelState, Review
from reflection_app.runs.events import Event
from reflection_app.teams.models import Notification
from reflection_app.teams.notifications import (
    comments_seen_by,
    count_unread,
    notices_of,
    read_about,
    read_all,
    read_notice,
)
from tests import given, then
from tests.api.caller import Caller
from tests.reviews.panels import panel_of
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def review(project: Project) -> Review:
    return given.waiting_review(project)


def member(review: Review, name: str | None = None) -> User:
    return given.member(review.project, user=given.user(name))


def say(review: Review, text: str, *, actor: Actor) -> Comment:
    return add_comment(review.project, About.REVIEW, review.pk, CommentInput(text=text), actor=actor)


def told(user_id: int) -> list[str]:
    return [notice.kind for notice in notices_of(user_id)]


def test_a_comment_is_kept_told_to_its_run_and_audited_without_its_words_in_the_event(review: Review) -> None:
    actor = Actor(user=member(review))
    comment = say(review, " A **good** one. ", actor=actor)

    assert (comment.text, comment.author_label) == ("A **good** one.", actor.label)
    event = Event.objects.get(run=review.run, type="comment.added")
    assert event.payload == {"comment": str(comment.pk), "about": "review", "about_id": str(review.pk)}
    review.run.refresh_from_db()
    assert review.run.last_event_seq == event.seq
    assert AuditEntry.objects.get(action="comment.added").target_id == comment.pk


def test_members_who_are_mentioned_are_told_and_neither_strangers_nor_the_author(review: Review) -> None:
    names = ("anna", "b.o+b@x-y", "李雷")
    anna, bob, lilei = (member(review, name) for name in names)
    stranger = given.user("mallory")
    author = member(review, "author")
    text = "@anna, and (@b.o+b@x-y)! 请看@李雷。 @mallory @nobody @author `@decorator` mail@anna.example"
    say(review, text, actor=Actor(user=author))

    assert [told(user.pk) for user in (anna, bob, lilei)] == [["mentioned"]] * 3
    assert told(stranger.pk) == told(author.pk) == []
    assert Notification.objects.count() == 3


def test_who_holds_decided_or_is_assigned_is_told_once_of_a_comment(review: Review) -> None:
    holder, assignee, earlier, author = (member(review) for _ in range(4))
    Review.objects.filter(pk=review.pk).update(holder=holder, assignee=assignee)
    say(review, "First.", actor=Actor(user=earlier))
    Notification.objects.all().delete()
    say(review, f"Second, @{assignee.username}.", actor=Actor(user=author))

    assert told(holder.pk) == told(earlier.pk) == ["commented"]
    assert told(assignee.pk) == ["mentioned"]
    add_comment(review.project, About.RUN, review.run_id, CommentInput(text="Of the run."), actor=Actor(user=author))
    assert told(holder.pk) == ["commented", "commented"]


def test_an_edit_tells_who_is_new_and_nobody_twice_and_keeps_what_it_said(review: Review) -> None:
    anna, bea, author = (member(review, name) for name in ("anna", "bea", "author"))
    comment = say(review, "@anna look.", actor=Actor(user=author))
    edit_comment(comment, CommentInput(text="@anna @bea look."), actor=Actor(user=author))

    assert told(anna.pk) == told(bea.pk) == ["mentioned"]
    comment.refresh_from_db()
    assert comment.edited_at is not None
    trail = AuditEntry.objects.get(action="comment.edited")
    assert (trail.before["text"], trail.after["text"]) == ("@anna look.", "@anna @bea look.")


def test_only_the_author_changes_words_and_only_author_or_admin_take_them_back(review: Review) -> None:
    author, other = Actor(user=member(review)), Actor(user=member(review))
    comment = say(review, "Mine.", actor=author)
    with pytest.raises(NotTheAuthor):
        edit_comment(comment, CommentInput(text="Theirs."), actor=other)
    with pytest.raises(NotTheAuthor):
        take_back_comment(comment, actor=other, is_admin=False)
    assert take_back_comment(comment, actor=other, is_admin=True).text == ""
    assert AuditEntry.objects.get(action="comment.taken_back").before == {"text": "Mine."}
    with pytest.raises(Conflict):
        edit_comment(comment, CommentInput(text="Again."), actor=author)
    with pytest.raises(Conflict):
        take_back_comment(comment, actor=author, is_admin=False)


def test_a_key_is_the_author_of_its_own_comments_only(review: Review) -> None:
    first, second = (Actor(api_key=given.api_key(review.project)[0]) for _ in range(2))
    comment = say(review, "From a pipeline.", actor=first)
    with pytest.raises(NotTheAuthor):
        edit_comment(comment, CommentInput(text="x"), actor=second)
    assert edit_comment(comment, CommentInput(text="Corrected."), actor=first).text == "Corrected."


def test_a_comment_that_is_taken_back_leads_nobody_to_it(review: Review) -> None:
    anna = member(review, "anna")
    author = Actor(user=member(review))
    comment = say(review, "@anna", actor=author)
    assert count_unread(anna.pk) == 1
    take_back_comment(comment, actor=author, is_admin=False)
    assert count_unread(anna.pk) == 0


def test_what_cannot_be_stored_is_replaced_and_what_is_too_long_is_refused(review: Review) -> None:
    comment = say(review, "a\x00b", actor=Actor(user=member(review)))
    comment.refresh_from_db()
    assert comment.text == "a\N{REPLACEMENT CHARACTER}b"
    with pytest.raises(ValidationError):
        CommentInput(text="x" * 10_001)


def test_things_of_other_projects_and_things_that_are_not_cannot_be_commented_on(review: Review) -> None:
    other = given.project()
    actor = Actor(user=given.member(other))
    entry = propose(review.project_id, kind="lesson", name="Look twice", source="t")
    for about, thing in ((About.REVIEW, review.pk), (About.RUN, review.run_id), (About.ENTRY, entry.id)):
        for wanted in (thing, uuid4()):
            with pytest.raises(NotFound):
                add_comment(other, about, wanted, CommentInput(text="x"), actor=actor)
    insider = Actor(user=member(review))
    add_comment(review.project, About.ENTRY, entry.id, CommentInput(text="x"), actor=insider)
    assert Comment.objects.get().about == "entry"


def test_at_a_blind_seat_nobody_else_reads_it_and_the_mention_comes_when_the_opinions_are_in(review: Review) -> None:
    panel = panel_of(review)
    anna = member(review, "anna")
    author = member(review)
    comment = say(review, "@anna it is plainly wrong.", actor=Actor(user=author))

    assert list(comments_seen_by(author.username, project_id=review.project_id)) == [comment]
    assert not comments_seen_by("anna", project_id=review.project_id).exists()
    assert count_unread(anna.pk) == 0
    edit_comment(comment, CommentInput(text="@anna wrong."), actor=Actor(user=author))
    assert "wrong" not in str(AuditEntry.objects.get(action="comment.edited").before)
    assert "wrong" not in str(Event.objects.filter(run=review.run).values_list("payload", flat=True))

    Panel.objects.filter(pk=panel.pk).update(state=PanelState.SETTLED)
    assert list(comments_seen_by("anna", project_id=review.project_id)) == [comment]
    assert told(anna.pk) == ["mentioned"]


def test_notifications_of_a_project_that_somebody_left_are_not_theirs_any_more(review: Review) -> None:
    anna = member(review, "anna")
    say(review, "@anna", actor=Actor(user=member(review)))
    notice = Notification.objects.get()
    Membership.objects.filter(user=anna).delete()
    assert (count_unread(anna.pk), told(anna.pk)) == (0, [])
    assert not read_notice(anna, notice.pk)
    assert read_all(anna) == 0
    notice.refresh_from_db()
    assert notice.read_at is None


def test_reading_one_all_or_what_they_are_about(review: Review) -> None:
    anna, other = (member(review, name) for name in ("anna", "other"))
    author = Actor(user=member(review))
    for _ in range(3):
        say(review, "@anna @other", actor=author)
    first = Notification.objects.filter(user=anna).first()
    assert first is not None
    assert read_notice(anna, first.pk)
    assert not read_notice(author.user or other, first.pk)
    assert count_unread(anna.pk) == 2
    assert read_about(anna, project_id=review.project_id, about=About.RUN, about_id=review.pk) == 0
    assert read_about(anna, project_id=review.project_id, about=About.REVIEW, about_id=review.pk) == 2
    assert (read_all(anna), count_unread(other.pk)) == (0, 3)


@pytest.mark.django_db(transaction=True)
def test_ten_comments_at_once_are_ten_with_events_without_gaps(review: Review) -> None:
    actors = [Actor(user=member(review)) for _ in range(10)]
    together(*[lambda actor=actor: say(review, "At once.", actor=actor) for actor in actors])
    assert Comment.objects.count() == 10
    seqs = list(Event.objects.filter(run=review.run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


# Over REST.


def add(caller: Caller, review: Review, text: str) -> str:
    answer = caller.call("POST", f"comments?about=review&id={review.pk}", data=f'{{"text": "{text}"}}')
    assert answer.status == 201, answer.body
    return str(answer.body["id"])


def test_at_a_blind_seat_other_keys_do_not_read_it(caller: Caller) -> None:
    review = given.waiting_review(caller.project)
    panel_of(review)
    comment = add(caller, review, "Plainly wrong.")
    other = given.caller(caller.project, [Scope.ADMIN])
    assert other.get("comments", about="review", id=review.pk).body["results"] == []
    then.refused(other.call("DELETE", f"comments/{comment}"), 404)
    assert len(caller.get("comments", about="review", id=review.pk).body["results"]) == 1
    assert "Plainly" not in str(other.get(f"runs/{review.run_id}/events").body)


# As browsers ask for them: the thread, the bell, the notifications, assigning.


HTMX = {"HX-Request": "true"}


def thread(review: Review) -> str:
    return f"/p/desk/comments/review/{review.pk}/"


def said(review: Review, text: str, *, name: str | None = None) -> Comment:
    return say(review, text, actor=Actor(user=member(review, name)))


def test_a_comment_is_added_by_an_ordinary_form_and_comes_back_where_it_is_refused(
    client: Client, review: Review
) -> None:
    given.logged_in(client, review.project, Role.REVIEWER)
    response = client.post(thread(review), {"text": "Is it **long** enough?"})
    comment = Comment.objects.get()
    assert response["Location"] == f"/p/desk/reviews/{review.pk}/#comment-{comment.pk}"
    assert "<strong>long</strong>" in client.get(f"/p/desk/reviews/{review.pk}/").text
    too_long = "word " * 2001
    refused = client.post(thread(review), {"text": too_long})
    assert (refused.status_code, too_long in refused.text) == (400, True)
    assert client.post(thread(review), {"text": "  "}, headers=HTMX).status_code == 400


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


def test_the_bell_counts_and_the_page_tells_and_opening_the_item_reads(client: Client, review: Review) -> None:
    given.logged_in(client, review.project, Role.REVIEWER)
    reader = Membership.objects.get(user_id=client.session["_auth_user_id"]).user
    comment = said(review, f"@{reader.username} please", name="zoe")
    assert ">1<" in client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode()
    page = client.get("/notifications/").content.decode()
    assert "zoe mentioned you in a comment on" in page
    assert f"/p/desk/reviews/{review.pk}/#comment-{comment.pk}" in page
    client.get(f"/p/desk/reviews/{review.pk}/")
    assert client.get("/notifications/count/", headers={"HX-Request": "true"}).content.decode().strip() == ""


def test_a_review_is_assigned_on_its_page_and_given_free_again(client: Client, review: Review) -> None:
    anna = member(review, "anna")
    given.logged_in(client, review.project, Role.REVIEWER)
    for to, assignee in (("anna", anna), ("", None)):
        client.post(f"/p/desk/reviews/{review.pk}/assign/", {"to": to, "note": "Please."})
        review.refresh_from_db()
        assert review.assignee == assignee


def test_the_bell_leads_to_a_list_inside_the_project_that_one_is_in(client: Client, review: Review) -> None:
    user = member(review, "eve")
    given.member(given.project("aaa-first"), user=user)
    said(review, "@eve look")
    client.force_login(user)
    here = "/notifications/?project=desk"
    assert here in client.get("/p/desk/reviews/").text
    page = client.get(here).text
    assert 'href="/p/aaa-first/reviews/"' not in page
    assert client.post("/notifications/read/?project=desk&other=1")["Location"] == here
    # Of what is nobody's of theirs they stay where they were.
    assert 'href="/p/desk/reviews/"' in client.get("/notifications/?project=somebody-elses").text
