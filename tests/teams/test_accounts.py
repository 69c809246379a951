"""What people do with their own account: passwords, addresses, the second factor, browsers, theme."""

import re
import time
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from reflection_app.core.models import Profile
from reflection_app.teams.pages.login import one_time_login_path
from reflection_app.web.language import COOKIE
from tests import given
from tests.teams.smtp_server import MailServer, server

__all__ = ["server"]
pytestmark = pytest.mark.django_db
NEW = "another-long-password"


@pytest.fixture(autouse=True)
def _nothing_counted(settings: Settings) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}


@pytest.fixture
def anna() -> User:
    return given.user("anna", email="anna@example.org")


def log_in(user: User, client: Client | None = None) -> Client:
    client = client or Client()
    assert client.post("/login/", {"username": user.username, "password": given.PASSWORD}).status_code == 302
    return client


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def link_in(letter: str) -> str:
    found = re.search(r"https://desk\.example(/\S+)", letter)
    assert found
    return found[1]


def set_up_totp(client: Client) -> list[str]:
    """Return the recovery codes."""
    client.post("/account/confirm/?next=/account/two-factor/app/", {"password": given.PASSWORD})
    page = client.get("/account/two-factor/app/")
    secret = str(page.context["form"].secret)
    done = client.post("/account/two-factor/app/", {"code": code_of(secret)}, follow=True)
    return list(done.context["unused_codes"])


def test_a_password_is_changed_and_other_browsers_are_logged_out(anna: User) -> None:
    here, there = log_in(anna), log_in(anna)
    changed = here.post("/account/password/", {"oldpassword": given.PASSWORD, "password1": NEW, "password2": NEW})
    assert changed["Location"] == "/profile/"
    assert there.get("/profile/").status_code == 302
    assert here.get("/profile/").status_code == 200
    anna.refresh_from_db()
    assert anna.check_password(NEW)


def test_who_came_by_a_link_and_has_no_password_sets_one(client: Client) -> None:
    user = User.objects.create_user("first")
    client.post(one_time_login_path(user))
    assert client.get("/account/password/")["Location"] == "/account/password/set/"
    client.post("/account/password/set/", {"password1": NEW, "password2": NEW})
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_a_lost_password_is_replaced_by_a_link_that_works_once(anna: User, server: MailServer) -> None:
    guest = Client()
    known, unknown = (
        guest.post("/account/password/lost/", {"email": name}) for name in ("Anna@example.org", "x@example.org")
    )
    assert known["Location"] == unknown["Location"], "nobody learns who has an account"
    [letter] = server.letters
    path = link_in(letter.get_content())
    set_at = guest.get(path, follow=True).redirect_chain[-1][0]
    guest.post(set_at, {"password1": NEW, "password2": NEW})
    assert "Link expired or already used" in Client().get(path, follow=True).text
    assert Client().post("/login/", {"username": "anna", "password": NEW}).status_code == 302


def test_an_address_is_added_by_the_password_and_confirmed_by_its_letter(anna: User, server: MailServer) -> None:
    client = log_in(anna)
    typed = {"action_add": "", "email": "second@example.org"}
    assert client.post("/account/email/", typed)["Location"].startswith("/account/confirm/?next=")
    assert not server.letters
    client.post("/account/confirm/?next=/account/email/", {"password": given.PASSWORD})
    client.post("/account/email/", typed)
    path = link_in(server.letters[-1].get_content())
    assert client.get(path).status_code == 200
    assert not EmailAddress.objects.get(email="second@example.org").verified
    client.post(path)
    assert EmailAddress.objects.get(email="second@example.org").verified


def test_a_second_factor_is_set_up_and_asked_for(anna: User) -> None:
    client = log_in(anna)
    EmailAddress.objects.create(user=anna, email="not-confirmed@example.org")
    assert client.get("/account/two-factor/app/")["Location"].startswith("/account/confirm/?next=")
    codes = set_up_totp(client)
    assert len(codes) == 10

    guest = Client()
    step = guest.post("/login/", {"username": "anna", "password": given.PASSWORD})
    assert step["Location"].startswith("/account/two-factor/login/")
    assert guest.get("/profile/").status_code == 302
    assert "Incorrect code." in guest.post("/account/two-factor/login/", {"code": "000000"}).text
    assert guest.post("/account/two-factor/login/", {"code": codes[0]}).status_code == 302
    assert guest.get("/profile/").status_code == 200

    thief = Client()
    thief.post("/login/", {"username": "anna", "password": given.PASSWORD})
    thief.post("/account/two-factor/login/", {"code": codes[0]})
    assert thief.get("/profile/").status_code == 302


def test_browsers_are_listed_and_one_or_all_others_are_logged_out(anna: User) -> None:
    here, there = log_in(anna), Client(headers={"User-Agent": "<b>An old phone</b>"})
    log_in(anna, there)
    page = here.get("/account/sessions/")
    assert "&lt;b&gt;An old phone&lt;/b&gt;" in page.text
    [other] = [session for session in page.context["sessions"] if "phone" in session.user_agent]
    stranger = log_in(given.user("eve"))
    stranger.post(f"/account/sessions/{other.pk}/end/")
    assert there.get("/profile/").status_code == 200
    here.post(f"/account/sessions/{other.pk}/end/")
    assert [one.get("/profile/").status_code for one in (there, here)] == [302, 200]
    log_in(anna, there)
    by_link = Client()
    by_link.post(one_time_login_path(anna))
    here.post("/account/sessions/end/")
    assert [one.get("/profile/").status_code for one in (there, by_link, here)] == [302, 302, 200]


def test_a_theme_is_kept_and_comes_with_the_page(anna: User) -> None:
    client = log_in(anna)
    client.post("/profile/", {"language": "", "theme": "dark"})
    assert 'data-theme="dark"' in client.get("/profile/").text
    client.post("/logout/")
    assert "data-theme" not in client.get("/login/").text
    client = log_in(anna)
    assert 'data-theme="dark"' in client.get("/profile/").text
    client.post("/profile/", {"language": "", "theme": ""})
    assert "data-theme" not in client.get("/profile/").text


def test_a_theme_that_is_none_is_refused_and_a_forged_cookie_means_nothing(anna: User) -> None:
    client = log_in(anna)
    assert client.post("/profile/", {"language": "", "theme": "pink"}).status_code == 400
    assert not Profile.objects.exists()
    client.cookies[COOKIE] = '"><script>'
    assert "data-theme" not in client.get("/profile/").text
