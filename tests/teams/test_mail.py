"""Mail about what is unread, over a real SMTP connection: bundled, once, in the reader's words, and nothing to leak."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Profile, Project
from reflection_app.reviews.models import About
from reflection_app.teams.models import Notification, NotificationKind
from reflection_app.teams.notifications import MOST_FAILURES, notify, read_all, send_waiting_mail
from tests import given
from tests.reviews.test_reviews import together
from tests.teams.smtp_server import MailServer, mail_server, server

__all__ = ["server"]
pytestmark = pytest.mark.django_db


def reader(project: Project, name: str = "anna") -> User:
    return given.member(project, user=given.user(name, email=f"{name}@example.org"))


def tell(project: Project, *users: User, title: str = "A haiku", minutes_ago: float = 3) -> None:
    sender = Actor(user=given.user())
    assert sender.user is not None
    notify(
        NotificationKind.ASSIGNED,
        users=[user.pk for user in users],
        project_id=project.pk,
        about=About.REVIEW,
        about_id=project.pk,
        actor=sender,
        title=title,
    )
    older(Notification.objects.filter(mailed_at=None, read_at=None), minutes=minutes_ago)


def older(rows: Any, *, minutes: float) -> None:
    rows.update(created_at=F("created_at") - timedelta(minutes=minutes))


def test_one_letter_tells_a_person_of_all_that_is_unread_and_only_once(server: MailServer) -> None:
    project = given.project("mailed")
    anna = reader(project)
    tell(project, anna)
    tell(project, anna, title="Two lines\r\nBcc: evil@example.org")

    assert (send_waiting_mail(), send_waiting_mail()) == (1, 0)
    (letter,) = server.letters
    assert (letter["To"], letter["From"]) == ("anna@example.org", "Reflection Desk <desk@example.org>")
    assert (letter["Subject"], letter["Bcc"]) == ("Reflection Desk: 2 notifications", None)
    body = letter.get_content()
    assert "assigned the review of “A haiku” to you." in body
    assert "“Two lines Bcc: evil@example.org”" in body
    assert f"https://desk.example/p/mailed/reviews/{project.pk}/" in body
    assert "https://desk.example/profile/" in body


def test_a_title_with_a_line_break_cannot_forge_a_header(server: MailServer) -> None:
    project = given.project()
    tell(project, reader(project), title="x\r\nBcc: evil@example.org\r\n\r\nClick here")
    assert send_waiting_mail() == 1
    assert server.letters[0]["Bcc"] is None
    assert "x Bcc: evil@example.org Click here" in server.letters[0]["Subject"]


def test_what_is_new_waits_and_what_is_read_is_not_told(server: MailServer) -> None:
    project = given.project()
    anna, bea = reader(project), reader(project, "bea")
    tell(project, bea)
    read_all(bea)
    tell(project, anna, minutes_ago=1)
    assert send_waiting_mail() == 0
    older(Notification.objects.filter(user=anna), minutes=2)
    assert send_waiting_mail() == 1


def test_who_left_wants_none_is_inactive_or_has_no_address_gets_none(server: MailServer) -> None:
    project = given.project()
    left, unwilling, inactive = (reader(project, name) for name in ("left", "unwilling", "inactive"))
    nowhere = given.member(project, user=given.user("nowhere"))
    tell(project, left, unwilling, inactive, nowhere)
    Membership.objects.filter(user=left).delete()
    Profile.objects.create(user=unwilling, wants_mail=False)
    User.objects.filter(pk=inactive.pk).update(is_active=False)
    assert Notification.objects.count() == 4
    assert send_waiting_mail() == 0
    Profile.objects.update(wants_mail=True)
    assert send_waiting_mail() == 1


def test_without_a_mail_server_nothing_is_sent_and_nothing_is_marked(settings: Any) -> None:
    settings.MAIL_OPTIONS = {}
    project = given.project()
    tell(project, reader(project))
    assert send_waiting_mail() == 0
    assert Notification.objects.get().mailed_at is None


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_each_letter_once(server: MailServer) -> None:
    project = given.project()
    people = [reader(project, f"person{number}") for number in range(6)]
    tell(project, *people)
    assert sum(together(*[send_waiting_mail] * 4)) == 6  # type: ignore[arg-type]
    assert sorted(letter["To"] for letter in server.letters) == sorted(user.email for user in people)


def test_an_address_that_is_refused_is_tried_later_and_later_and_given_up_and_hurts_nobody_else(
    server: MailServer,
) -> None:
    project = given.project()
    lost, anna = reader(project, "lost"), reader(project)
    server.refused.add(lost.email)
    tell(project, lost, anna, minutes_ago=2.1)
    assert send_waiting_mail() == 1
    notice = Notification.objects.get(user=lost)
    assert (notice.mail_failures, notice.mailed_at) == (1, None)
    # The second try comes after eight minutes, not at once.
    assert send_waiting_mail() == 0
    notice.refresh_from_db()
    assert notice.mail_failures == 1
    now = timezone.now()
    for minutes in (8, 32, 128, 512, 1500):
        send_waiting_mail(now=now + timedelta(minutes=minutes))
    notice.refresh_from_db()
    assert (notice.mail_failures, notice.mailed_at) == (MOST_FAILURES, None)
    assert [letter["To"] for letter in server.letters] == [anna.email]


def test_a_server_that_is_away_is_nobodys_failure_and_all_is_sent_when_it_is_back(settings: Any) -> None:
    project = given.project()
    tell(project, reader(project), reader(project, "bea"))
    with mail_server() as gone:
        settings.MAIL_OPTIONS = gone.options
    assert send_waiting_mail() == 0
    assert list(Notification.objects.values_list("mail_failures", "mailed_at")) == [(0, None), (0, None)]
    with mail_server() as back:
        settings.MAIL_OPTIONS = back.options
        assert send_waiting_mail() == 2


def test_a_server_that_breaks_off_gives_the_claim_back(server: MailServer) -> None:
    project = given.project()
    tell(project, reader(project))
    server.is_broken = True
    assert send_waiting_mail() == 0
    server.is_broken = False
    assert Notification.objects.get().mail_failures == 1
    assert send_waiting_mail(now=timezone.now() + timedelta(minutes=10)) == 1


def test_what_is_days_old_is_no_news_when_mail_is_set_up(server: MailServer) -> None:
    project = given.project()
    tell(project, reader(project), minutes_ago=60 * 49)
    assert send_waiting_mail() == 0
