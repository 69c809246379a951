"""Digests by mail, over a real SMTP connection: once a morning, of what concerns the reader, ended by one click."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from reflection_app.alerts.digests import digest_of
from reflection_app.alerts.letters import send_due_digests, token_of
from reflection_app.alerts.models import DigestLetter
from reflection_app.core.audit import Actor
from reflection_app.core.models import Digest, Profile, Project, Role
from reflection_app.reviews.claiming import claim_review, skip_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from tests import given
from tests.alerts.test_sending import at_once
from tests.notebook.entries import make_entry
from tests.runs.questions import waiting_question
from tests.teams.smtp_server import MailServer, server

__all__ = ["server"]
pytestmark = pytest.mark.django_db
# A Wednesday at half past eight in Shanghai, some days from now.
TODAY = datetime.now(UTC).replace(hour=0, minute=30, second=0, microsecond=0)
WEDNESDAY = TODAY + timedelta(days=7 + (2 - TODAY.weekday()))
MONDAY = WEDNESDAY + timedelta(days=5)


@pytest.fixture
def project() -> Project:
    return given.project("desk", name="Support", waiting={"time_zone": "Asia/Shanghai", "review_goal_minutes": 60})


def reader(project: Project, digest: str = "daily", *, role: Role = Role.REVIEWER, language: str = "") -> User:
    user = given.user(email=f"{digest}@example.org")
    Profile.objects.create(user=user, digest=digest, language=language)
    return given.member(project, role, user=user)


def test_a_digest_says_what_waits_what_is_overdue_what_was_decided_and_proposed(
    server: MailServer, project: Project
) -> None:
    anna = reader(project)
    mine, free, decided = (given.waiting_review(project) for _ in range(3))
    mine.assignee = anna
    mine.save()
    question = waiting_question(project)
    actor = Actor(user=anna)
    token = claim_review(decided, actor=actor).lease_token
    decide_review(decided, DecisionInput(lease_token=token, decision="approve"), actor=actor)
    type(decided).objects.filter(pk=decided.pk).update(decided_at=WEDNESDAY - timedelta(hours=3))
    entry = make_entry(project, state="proposed", name="Two\nlines")
    type(entry).objects.filter(pk=entry.pk).update(created_at=WEDNESDAY - timedelta(hours=3))

    assert [send_due_digests(WEDNESDAY), send_due_digests(WEDNESDAY + timedelta(minutes=5))] == [1, 0]
    (letter,) = server.letters
    assert (letter["To"], letter["Subject"]) == ("daily@example.org", "Support: 3 waiting, 2 overdue")
    body = letter.get_content().replace("\r\n", "\n")
    assert "2 reviews are waiting. 1 question is waiting. Past the SLA target: 2." in body
    yours, _, late = body.partition("Overdue, oldest first:")
    assert f"https://desk.example/p/desk/reviews/{mine.pk}/" in yours.partition("Assigned to you:")[2]
    assert f"https://desk.example/p/desk/reviews/{free.pk}/" in late
    assert "Decided in the last day: 1, 1 by you" in body
    assert "Lessons proposed in the last day: 1\n- Two lines\n" in body
    assert str(decided.pk) not in body
    assert question.text not in body


def test_a_decision_is_counted_on_one_day_whenever_the_letters_are_sent(project: Project) -> None:
    decided, on_the_hour = given.waiting_review(project), given.waiting_review(project)
    actor = Actor(user=reader(project))
    hour = WEDNESDAY.replace(hour=0, minute=0)
    for review, at in ((decided, hour + timedelta(minutes=90)), (on_the_hour, hour)):
        token = claim_review(review, actor=actor).lease_token
        decide_review(review, DecisionInput(lease_token=token, decision="approve"), actor=actor)
        type(review).objects.filter(pk=review.pk).update(decided_at=at)
    entry = make_entry(project, state="proposed", name="One")
    type(entry).objects.filter(pk=entry.pk).update(created_at=hour + timedelta(minutes=90))
    sent = hour + timedelta(hours=2)
    days = [
        digest_of(project, Digest.DAILY, day=(sent + timedelta(days=days)).date(), now=sent + timedelta(days=days))
        for days in (0, 1, 2)
    ]
    assert [day.decided for day in days] == [0, 2, 0]
    assert [day.proposed for day in days] == [0, 1, 0]


def test_what_the_reader_skipped_is_not_counted_for_them(project: Project) -> None:
    anna, ben = reader(project), reader(project)
    skipped, other = given.waiting_review(project), given.waiting_review(project)
    skip_review(skipped, actor=Actor(user=anna))
    told = [
        digest_of(project, Digest.DAILY, day=WEDNESDAY.date(), now=WEDNESDAY, reader=user.memberships.get())
        for user in (anna, ben)
    ]
    assert [(one.reviews, one.overdue) for one in told] == [(1, 1), (2, 2)]
    assert [review.pk for review in told[0].late] == [other.pk]


def test_it_comes_in_the_morning_of_the_project_and_weekly_on_mondays(server: MailServer, project: Project) -> None:
    reader(project, "daily")
    reader(project, "weekly")
    reader(project, "")
    given.waiting_review(project)
    assert send_due_digests(WEDNESDAY - timedelta(minutes=31)) == 0
    assert send_due_digests(WEDNESDAY + timedelta(hours=4)) == 0
    assert send_due_digests(WEDNESDAY) == 1
    assert send_due_digests(MONDAY) == 2
    assert [letter["To"] for letter in server.letters].count("weekly@example.org") == 1


def test_nothing_to_tell_is_no_letter(server: MailServer, project: Project) -> None:
    reader(project)
    assert send_due_digests(WEDNESDAY) == 0
    assert DigestLetter.objects.get().is_empty


def test_a_viewer_is_told_of_nothing_that_waits_for_others(server: MailServer, project: Project) -> None:
    reader(project, role=Role.VIEWER)
    given.waiting_review(project)
    assert send_due_digests(WEDNESDAY) == 0


def test_who_has_left_or_has_no_address_is_sent_nothing(server: MailServer, project: Project) -> None:
    gone, mute, inactive = reader(project), reader(project), reader(project)
    gone.memberships.all().delete()
    User.objects.filter(pk=mute.pk).update(email="")
    User.objects.filter(pk=inactive.pk).update(is_active=False)
    given.waiting_review(project)
    assert send_due_digests(WEDNESDAY) == 0
    assert not DigestLetter.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_several_workers_at_once_one_sends(server: MailServer, project: Project) -> None:
    reader(project)
    given.waiting_review(project)
    assert sorted(at_once(4, lambda: send_due_digests(WEDNESDAY))) == [0, 0, 0, 1]
    assert len(server.letters) == 1


def test_what_the_server_refuses_is_tried_again_the_same_morning(server: MailServer, project: Project) -> None:
    reader(project)
    given.waiting_review(project)
    server.is_broken = True
    assert send_due_digests(WEDNESDAY) == 0
    server.is_broken = False
    assert send_due_digests(WEDNESDAY + timedelta(minutes=5)) == 1
    assert DigestLetter.objects.get().failures == 1


def test_it_is_in_the_readers_language(server: MailServer, project: Project) -> None:
    reader(project, language="zh-hans")
    given.waiting_review(project)
    assert send_due_digests(WEDNESDAY) == 1
    assert server.letters[0]["Subject"] == "Support：1 项待处理，1 项逾期"


def test_one_post_without_a_login_ends_the_digests(server: MailServer, project: Project, client: Client) -> None:
    """RFC 8058: what a mail program posts has neither a cookie nor a token of the form."""
    anna, other = reader(project), reader(project, "weekly")
    given.waiting_review(project)
    assert send_due_digests(WEDNESDAY) == 1
    (letter,) = server.letters
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = letter["List-Unsubscribe"].strip("<>")
    assert address in letter.get_content()
    path = address.removeprefix("https://desk.example")
    mail_program = Client(enforce_csrf_checks=True)
    assert mail_program.get(path).status_code == 200
    assert Profile.objects.get(user=anna).digest == "daily"
    assert mail_program.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert [Profile.objects.get(user=user).digest for user in (anna, other)] == ["", "weekly"]
    assert send_due_digests(WEDNESDAY + timedelta(days=1)) == 0


def test_a_link_that_the_desk_did_not_write_ends_nothing(project: Project, client: Client) -> None:
    anna = reader(project)
    forged = f"{anna.pk}:{token_of(anna).partition(':')[2]}"
    for token in (forged, token_of(anna)[:-1], "x"):
        path = reverse("unsubscribe", args=(token,))
        assert client.get(path).status_code == 404
        assert client.post(path).status_code == 404
    assert Profile.objects.get(user=anna).digest == "daily"


def test_how_often_is_chosen_in_the_profile(client: Client, project: Project) -> None:
    anna = given.member(project)
    client.force_login(anna)
    typed = {"language": "", "theme": "", "wants_mail": "on"}
    assert client.post(reverse("profile"), typed | {"digest": "weekly"}).status_code == 302
    assert Profile.objects.get(user=anna).digest == "weekly"
    page = client.post(reverse("profile"), typed | {"digest": "hourly"})
    assert (page.status_code, "Choose daily, weekly or never." in page.content.decode()) == (400, True)
    assert client.post(reverse("profile"), typed | {"digest": ""}).status_code == 302
    assert Profile.objects.get(user=anna).digest == ""
