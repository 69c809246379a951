from datetime import datetime, timedelta

import pytest
from django.test import Client

from reflection_app.teams.pages.login import LoginLinkTokens, one_time_login_path
from tests import given

pytestmark = pytest.mark.django_db


def test_a_user_without_a_project_is_told_what_to_do(client: Client) -> None:
    client.force_login(given.user("lonely"))
    response = client.get("/")
    assert response.status_code == 200
    assert "You are not a member of any project" in response.text
    assert "lonely" in response.text


def test_a_member_lands_in_the_first_project(client: Client) -> None:
    user = given.member(given.project("first"))
    response = client.post("/login/", {"username": user.username, "password": given.PASSWORD}, follow=True)
    assert response.redirect_chain[-1][0] == "/p/first/"


def test_a_login_link_works_once_and_only_by_post(client: Client) -> None:
    user = given.member(given.project("first"))
    path = one_time_login_path(user)
    assert f"Log in as {user.username}" in client.get(path).text
    assert "_auth_user_id" not in client.session
    assert client.post(path).status_code == 302
    assert client.session["_auth_user_id"] == str(user.pk)
    assert client.post(path).status_code == 404
    assert "Link expired or already used" in Client().get(path).text


def test_looking_at_a_login_link_by_head_does_not_use_it(client: Client) -> None:
    path = one_time_login_path(given.user())
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 302


@pytest.mark.parametrize(("age_min", "status"), [(14, 302), (16, 404)])
def test_a_login_link_lives_for_a_quarter_of_an_hour(
    client: Client, monkeypatch: pytest.MonkeyPatch, age_min: int, status: int
) -> None:
    path = one_time_login_path(given.user())
    # As Django's tokens have it.
    later = datetime.now() + timedelta(minutes=age_min)  # noqa: DTZ005
    monkeypatch.setattr(LoginLinkTokens, "_now", lambda self: later)
    assert client.get(path).status_code == (200 if status == 302 else 404)
    assert client.post(path).status_code == status


@pytest.mark.parametrize(
    "path", ["/login/link/MQ/x-y/", "/login/link/!!/x-y/", "/login/link/OTk5OTk5OTk5OTk5OTk5/x-y/"]
)
def test_a_forged_login_link_is_refused(client: Client, path: str) -> None:
    given.user()
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 404


def test_errors_have_the_same_look() -> None:
    assert "<h1>Not found</h1>" in Client().get("/nothing-here/").text
    expired = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert expired.status_code == 403
    assert "Form expired" in expired.text


def test_pages_are_kept_nowhere(client: Client) -> None:
    assert client.get("/nothing-here/").headers["Cache-Control"] == "private, no-store"
    client.force_login(given.member(given.project("first")))
    assert client.get("/p/first/").headers["Cache-Control"] == "private, no-store"
    assert "no-store" in Client().get("/login/").headers["Cache-Control"]


def test_static_files_may_not_act(client: Client) -> None:
    response = client.get("/static/css/base.css")
    response.close()
    assert response.status_code == 200
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in response.headers
    assert "no-store" not in response.headers.get("Cache-Control", "")
