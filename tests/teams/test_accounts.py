"""What people do with their own account: passwords, addresses, the second factor, browsers, theme."""

import re
import time
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
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


def tell_again(client: Client) -> None:
    """The password, as pages ask for it that could make the account somebody else's."""
    client.post("/account/confirm/?next=/account/email/", {"password": given.PASSWORD})


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def link_in(letter: str) -> str:
    found = re.search(r"https://desk\.example(/\S+)", letter)
    assert found
    return found[1]


def set_up_totp(client: Client) -> tuple[str, list[str]]:
    """The secret of the app, and the recovery codes."""
    client.post("/account/confirm/?next=/account/two-factor/app/", {"password": given.PASSWORD})
    page = client.get("/account/two-factor/app/")
    secret = str(page.context["form"].secret)
    assert secret in page.text
    done = client.post("/account/two-factor/app/", {"code": code_of(secret)}, follow=True)
    assert "Keep them where you find them without your phone." in done.text
    assert "On: each login requires a code from your app." in client.get("/account/two-factor/").text
    return secret, list(done.context["unused_codes"])


def test_a_password_is_changed_and_other_browsers_are_logged_out(anna: User) -> None:
    here, there = log_in(anna), log_in(anna)
    wrong = here.post("/account/password/", {"oldpassword": "no", "password1": NEW, "password2": NEW})
    assert "error-oldpassword" in wrong.text
    page = here.post(
        "/account/password/", {"oldpassword": given.PASSWORD, "password1": NEW, "password2": NEW}, follow=True
    )
    assert "Password changed." in page.text
    assert page.redirect_chain[-1][0] == "/profile/"
    assert there.get("/profile/").status_code == 302
    assert here.get("/profile/").status_code == 200
    anna.refresh_from_db()
    assert anna.check_password(NEW)


def test_who_came_by_a_link_and_has_no_password_sets_one(client: Client) -> None:
    user = User.objects.create_user("first")
    client.post(one_time_login_path(user))
    assert client.get("/account/password/")["Location"] == "/account/password/set/"
    page = client.post("/account/password/set/", {"password1": NEW, "password2": NEW}, follow=True)
    assert "Password set." in page.text
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_a_lost_password_is_replaced_by_a_link_that_works_once(anna: User, server: MailServer) -> None:
    guest = Client()
    sent = guest.post("/account/password/lost/", {"email": "Anna@example.org"}, follow=True)
    assert "Check your email" in sent.text
    [letter] = server.letters
    path = link_in(letter.get_content())
    page = guest.get(path, follow=True)
    assert "New password" in page.text
    set_at = page.redirect_chain[-1][0]
    done = guest.post(set_at, {"password1": NEW, "password2": NEW}, follow=True)
    assert "Password changed" in done.text
    assert "Link expired or already used" in Client().get(path, follow=True).text
    assert Client().post("/login/", {"username": "anna", "password": NEW}).status_code == 302


def test_asking_for_a_password_tells_nobody_who_has_an_account(anna: User, server: MailServer) -> None:
    pages = [
        Client().post("/account/password/lost/", {"email": name}) for name in ("anna@example.org", "x@example.org")
    ]
    assert pages[0].status_code == pages[1].status_code == 302
    assert pages[0]["Location"] == pages[1]["Location"]
    assert len(server.letters) == 1


def test_an_address_is_added_and_confirmed(anna: User, server: MailServer) -> None:
    client = log_in(anna)
    tell_again(client)
    page = client.post("/account/email/", {"action_add": "", "email": "second@example.org"}, follow=True)
    assert "Email sent to second@example.org." in page.text
    assert "unconfirmed" in page.text
    path = link_in(server.letters[-1].get_content())
    assert "Confirm <strong>second@example.org</strong> as the address of anna?" in client.get(path).text
    assert not EmailAddress.objects.get(email="second@example.org").verified
    client.post(path)
    assert EmailAddress.objects.get(email="second@example.org").verified


def test_who_finds_a_browser_open_adds_no_address_without_the_password(anna: User, server: MailServer) -> None:
    client = log_in(anna)
    assert client.get("/account/email/").status_code == 200
    asked = client.post("/account/email/", {"action_add": "", "email": "thief@example.org"})
    assert asked["Location"].startswith("/account/confirm/?next=")
    assert not EmailAddress.objects.filter(email="thief@example.org").exists()
    assert not server.letters


def test_a_second_factor_is_set_up_and_asked_for(anna: User) -> None:
    client = log_in(anna)
    EmailAddress.objects.create(user=anna, email="not-confirmed@example.org")
    assert client.get("/account/two-factor/app/")["Location"].startswith("/account/confirm/?next=")
    _secret, codes = set_up_totp(client)
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


def test_codes_cannot_be_guessed_for_long(anna: User) -> None:
    set_up_totp(log_in(anna))
    thief = Client()
    thief.post("/login/", {"username": "anna", "password": given.PASSWORD})
    pages = [thief.post("/account/two-factor/login/", {"code": f"{number:06}"}).text for number in range(6)]
    assert "Incorrect code." in pages[0]
    assert "Too many failed login attempts." in pages[-1]


def test_the_second_factor_is_turned_off(anna: User) -> None:
    client = log_in(anna)
    set_up_totp(client)
    page = client.post("/account/two-factor/app/off/", follow=True)
    assert "Two-factor login turned off." in page.text
    assert not Authenticator.objects.exists()


def test_a_password_reset_does_not_pass_by_the_second_factor(anna: User, server: MailServer) -> None:
    set_up_totp(log_in(anna))
    guest = Client()
    guest.post("/account/password/lost/", {"email": "anna@example.org"})
    page = guest.get(link_in(server.letters[-1].get_content()), follow=True)
    guest.post(page.redirect_chain[-1][0], {"password1": NEW, "password2": NEW})
    assert guest.get("/profile/").status_code == 302


def test_browsers_are_listed_and_one_is_logged_out(anna: User) -> None:
    here, there = log_in(anna), Client(headers={"User-Agent": "<b>An old phone</b>"})
    log_in(anna, there)
    page = here.get("/account/sessions/")
    assert "&lt;b&gt;An old phone&lt;/b&gt;" in page.text
    assert "current" in page.text
    [other] = [session for session in page.context["sessions"] if "phone" in session.user_agent]
    stranger = log_in(given.user("eve"))
    stranger.post(f"/account/sessions/{other.pk}/end/")
    assert there.get("/profile/").status_code == 200
    assert "Browser logged out." in here.post(f"/account/sessions/{other.pk}/end/", follow=True).text
    assert there.get("/profile/").status_code == 302
    assert here.get("/profile/").status_code == 200


def test_all_other_browsers_are_logged_out_at_once(anna: User) -> None:
    here, others = log_in(anna), [log_in(anna) for _ in range(2)]
    by_link = Client()
    by_link.post(one_time_login_path(anna))
    here.post("/account/sessions/end/")
    assert [client.get("/profile/").status_code for client in (*others, by_link)] == [302] * 3
    assert here.get("/profile/").status_code == 200


def test_an_account_that_is_switched_off_does_not_come_in(anna: User) -> None:
    User.objects.filter(pk=anna.pk).update(is_active=False)
    page = Client().post("/login/", {"username": "anna", "password": given.PASSWORD}, follow=True)
    assert "_auth_user_id" not in page.client.session
    assert "Name and password do not match" in page.text or "Account disabled" in page.text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_theme_is_kept_and_comes_with_the_page(anna: User, theme: str) -> None:
    given.member(given.project("first"), user=anna)
    client = log_in(anna)
    assert "data-theme" not in client.get("/p/first/").text
    client.post("/profile/", {"language": "", "theme": theme})
    page = client.get("/p/first/").text
    assert f'data-theme="{theme}"' in page
    assert f'<meta name="color-scheme" content="{theme}">' in page
    client.post("/logout/")
    assert "data-theme" not in client.get("/login/").text
    assert f'data-theme="{theme}"' in log_in(anna).get("/p/first/").text
    client = log_in(anna)
    client.post("/profile/", {"language": "", "theme": ""})
    assert "data-theme" not in client.get("/p/first/").text


def test_a_theme_that_is_none_is_refused_and_a_forged_cookie_means_nothing(anna: User) -> None:
    client = log_in(anna)
    assert client.post("/profile/", {"language": "", "theme": "pink"}).status_code == 400
    assert not Profile.objects.exists()
    client.cookies[COOKIE] = '"><script>'
    assert "data-theme" not in client.get("/profile/").text


@pytest.mark.parametrize("removed", ["keyboard", "keys"])
def test_removed_pages_redirect_to_the_profile(anna: User, removed: str) -> None:
    answer = log_in(anna).get(f"/account/{removed}/?project=team")
    assert (answer.status_code, answer["Location"]) == (302, "/profile/?project=team")
