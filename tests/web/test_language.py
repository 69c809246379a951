"""Everybody reads the desk in a language of their own, and programs read it in English."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from reflection_app.core.models import Profile
from reflection_app.teams.pages.login import one_time_login_path
from tests import given

pytestmark = pytest.mark.django_db
CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
COOKIE = settings.LANGUAGE_COOKIE_NAME


@pytest.mark.parametrize(
    ("said", "language"), [("zh", "zh-hans"), ("zh-TW,en;q=0.4", "zh-hans"), ("de,fr;q=0.5", "en"), ("x" * 3000, "en")]
)
def test_a_page_is_in_the_browsers_language_or_in_english(client: Client, said: str, language: str) -> None:
    page = client.get("/login/", headers={"Accept-Language": said})
    assert f'<html lang="{language}">' in page.text
    assert page["Content-Language"] == language
    assert {"Accept-Language", "Cookie"} <= set(page["Vary"].split(", "))


def test_one_readers_language_is_not_the_next_ones(client: Client) -> None:
    client.get("/login/", headers=CHINESE)
    assert translation.get_language() == "en"
    assert ">Log in</button>" in client.get("/login/").text


def test_a_language_is_chosen_on_the_login_page_and_stays_after_it(client: Client) -> None:
    user = given.member(given.project("first"))
    answer = client.post("/language/", {"language": "zh-hans", "next": "/login/?next=/p/first/"})
    assert answer["Location"] == "/login/?next=/p/first/"
    page = client.post("/login/", {"username": user.username, "password": given.PASSWORD}, follow=True)
    assert '<html lang="zh-hans">' in page.text
    assert not Profile.objects.exists()


def test_the_profiles_language_wins_over_the_browsers_at_each_login(client: Client) -> None:
    user = given.member(given.project("first"))
    Profile.objects.create(user=user, language="en")
    name_and_password = {"username": user.username, "password": given.PASSWORD}
    page = client.post("/login/", name_and_password, headers=CHINESE, follow=True)
    assert '<html lang="en">' in page.text
    client.post("/logout/")
    assert '<html lang="zh-hans">' in client.get("/login/", headers=CHINESE).text
    Profile.objects.update(language="zh-hans")
    user.refresh_from_db()
    client.post(one_time_login_path(user))
    assert client.cookies[COOKIE].value == "zh-hans"
    assert client.cookies[COOKIE]["httponly"]
    assert client.cookies[COOKIE]["samesite"] == "Lax"


def test_a_profile_is_changed_and_the_next_page_is_in_its_language(client: Client) -> None:
    user = given.member(given.project("first"))
    client.force_login(user)
    page = client.post("/profile/?project=first", {"language": "zh-hans"}, follow=True)
    assert page.redirect_chain == [("/profile/?project=first", 302)]
    assert '<html lang="zh-hans">' in page.text
    assert 'value="zh-hans" checked' in page.text
    profile = Profile.objects.get(user=user)
    assert (profile.language, profile.wants_mail) == ("zh-hans", False)
    client.post("/profile/", {"language": "", "wants_mail": "on"})
    assert COOKIE not in client.cookies or not client.cookies[COOKIE].value
    assert Profile.objects.get(user=user).wants_mail


def test_the_profile_is_for_whoever_is_logged_in(client: Client) -> None:
    assert client.get("/profile/")["Location"] == "/login/?next=/profile/"
    client.force_login(given.user("lonely"))
    assert client.get("/profile/").status_code == 200
    stranger = given.project("strange")
    assert stranger.name not in client.get("/profile/?project=strange").text


def test_pages_of_errors_are_in_the_readers_language(client: Client) -> None:
    page = client.get("/nowhere/", headers=CHINESE)
    assert page.status_code == 404
    assert "页面不存在，或属于你未加入的项目。" in page.text
    guarded = Client(enforce_csrf_checks=True)
    assert "表单已过期" in guarded.post("/login/", {"username": "x"}, headers=CHINESE).text


def test_rest_answers_in_english_whatever_is_asked_for(client: Client) -> None:
    _, secret = given.api_key(given.project("rest"))
    headers = CHINESE | {"Authorization": f"Bearer {secret}"}
    for path in ("/api/v1/runs?state=odd", "/api/v1/nowhere"):
        chinese, english = (client.get(path, headers=headers | more) for more in ({}, {"Accept-Language": "en"}))
        assert chinese.content == english.content
        assert chinese["Content-Language"] == "en"
        assert "Accept-Language" not in chinese.get("Vary", "")
