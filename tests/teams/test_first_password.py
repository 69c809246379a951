"""Who got in by what a first start printed chooses a password before anything else is open to them."""

from collections.abc import Iterator
from importlib import import_module

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern

from reflection_app.core.models import Profile
from reflection_app.runs.views.live import is_logged_in
from reflection_app.teams.pages.login import one_time_login_path
from reflection_app.teams.urls import urlpatterns
from tests import given

pytestmark = pytest.mark.django_db

PAGE = "/account/password/first/"
OWN = "a password of my own 1"


@pytest.fixture
def newcomer() -> User:
    user = given.member(given.project("team"))
    Profile.objects.create(user=user, must_change_password=True)
    return user


@pytest.fixture
def inside(client: Client, newcomer: User) -> Client:
    client.post(one_time_login_path(newcomer))
    return client


def choose(client: Client, password: str, again: str | None = None) -> int:
    return client.post(PAGE, {"password1": password, "password2": again or password}).status_code


def test_the_page_names_an_initial_password_only_if_there_was_one(client: Client, newcomer: User) -> None:
    for has_password in (True, False):
        if not has_password:
            newcomer.set_unusable_password()
            newcomer.save()
        client.post(one_time_login_path(newcomer))
        assert ("The initial password may be in a log." in client.get(PAGE).text) is has_password


@pytest.mark.parametrize("way", ["link", "password"])
def test_whoever_logs_in_is_led_to_choose_a_password_first(client: Client, newcomer: User, way: str) -> None:
    if way == "link":
        client.post(one_time_login_path(newcomer))
    else:
        client.post("/login/", {"username": newcomer.username, "password": given.PASSWORD})
    for path in ("/", "/p/team/", "/p/team/settings/keys/", "/profile/", "/account/password/", "/notifications/"):
        assert client.get(path).headers["Location"] == PAGE, path
        assert client.post(path).headers["Location"] == PAGE, path
    page = client.get(PAGE).text
    assert newcomer.username in page

    assert choose(client, OWN) == 302
    assert client.get("/p/team/").status_code == 200
    assert client.get(PAGE).headers["Location"] == "/"
    newcomer.refresh_from_db()
    assert newcomer.check_password(OWN)
    assert not Profile.objects.get(user=newcomer).must_change_password


def addresses() -> Iterator[str]:
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        if pattern.name not in {"first_password", "logout", "account_logout"} and "<" not in str(pattern.pattern):
            yield f"/{pattern.pattern}"


def test_no_page_of_accounts_leads_around_it(inside: Client) -> None:
    for path in set(addresses()):
        assert inside.get(path).headers.get("Location") == PAGE, path
        assert inside.post(path, {"password1": OWN, "password2": OWN}).headers.get("Location") == PAGE, path


def test_a_part_of_a_page_leads_the_whole_page_there(inside: Client) -> None:
    assert inside.get("/p/team/reviews/", headers={"HX-Request": "true"}).headers["HX-Redirect"] == PAGE


def test_logging_out_and_another_language_are_open(inside: Client) -> None:
    assert inside.post("/language/", {"language": "zh-hans", "next": PAGE}).headers["Location"] == PAGE
    assert "设置密码" in inside.get(PAGE).text
    inside.post("/logout/")
    assert inside.get(PAGE).headers["Location"].startswith("/login/")


def test_the_printed_password_and_weak_ones_are_refused(inside: Client, newcomer: User) -> None:
    assert [choose(inside, given.PASSWORD), choose(inside, "short"), choose(inside, OWN, again="another one 2")] == [
        400
    ] * 3
    assert inside.get("/").headers["Location"] == PAGE
    newcomer.refresh_from_db()
    assert newcomer.check_password(given.PASSWORD)


def test_other_sessions_end_and_later_logins_are_as_ever(inside: Client, newcomer: User) -> None:
    other = Client()
    other.force_login(newcomer)
    assert other.get("/").headers["Location"] == PAGE
    choose(inside, OWN)
    assert other.get("/").headers["Location"].startswith("/login/")
    later = Client()
    later.post("/login/", {"username": newcomer.username, "password": OWN})
    assert later.get("/p/team/").status_code == 200


def test_a_socket_shows_nothing_before(inside: Client, newcomer: User) -> None:
    def key() -> str | None:
        store = import_module(settings.SESSION_ENGINE).SessionStore(inside.cookies[settings.SESSION_COOKIE_NAME].value)
        return str(store.session_key)

    assert not is_logged_in(newcomer, session_key=key())
    choose(inside, OWN)
    newcomer.refresh_from_db()
    assert is_logged_in(newcomer, session_key=key())
