"""Logging in by an account of elsewhere: a real provider of OpenID Connect on loopback."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings

from reflection_app.config.sign_in import oidc_apps, origins_of
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.teams.members import create_invitation
from tests import given
from tests.teams.oidc_provider import CLIENT, Provider, oidc_provider

pytestmark = pytest.mark.django_db
TOLD = '{"id": "corp", "name": "Corp", "url": "https://id.corp.example/a", "client_id": "a", "client_secret": "b"}'


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with oidc_provider(preferred_username="erika", email="erika@corp.example", email_verified=True) as running:
        settings.OIDC_APPS = [running.app]
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [running.app], "OAUTH_PKCE_ENABLED": True}}
        yield running


def come_back(client: Client, start: str = "/account/oidc/corp/login/") -> str:
    """Where one lands after the provider sent one back."""
    leave = client.post(start)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(leave["Location"]).query).items()}
    assert asked["client_id"] == CLIENT
    assert asked["code_challenge_method"] == "S256"
    back = urlsplit(asked["redirect_uri"]).path
    answer = client.get(back, {"code": "a-code", "state": asked["state"]})
    return answer["Location"] if answer.status_code == 302 else answer.text


def test_who_was_not_invited_makes_no_account_this_way(client: Client, provider: Provider) -> None:
    assert "Log in with Corp" in client.get("/login/").text
    assert "Invitation required" in come_back(client)
    assert not User.objects.exists()


def test_an_invited_person_comes_in_by_the_provider_and_comes_again(client: Client, provider: Provider) -> None:
    project = given.project("team")
    made = create_invitation(project, role="curator", email="erika@corp.example", actor=Actor())
    assert "Log in with Corp" in client.get(f"/invitations/{made.secret}/", follow=True).text
    assert come_back(client) == "/p/team/"
    member = Membership.objects.get(project=project)
    assert (member.user.username, member.role) == ("erika", Role.CURATOR)
    assert provider.asked[-1]["code_verifier"]
    again = Client()
    assert come_back(again) == "/"
    assert again.get("/p/team/").status_code == 200


def test_a_person_connects_the_login_to_their_account_and_takes_it_away(client: Client, provider: Provider) -> None:
    user = given.user("erika-here")
    client.force_login(user)
    assert "No connected accounts. You log in with your password." in client.get("/account/providers/").text
    client.post("/account/confirm/?next=/account/providers/", {"password": given.PASSWORD})
    assert come_back(client, "/account/oidc/corp/login/?process=connect") == "/account/providers/"
    account = SocialAccount.objects.get(user=user)
    assert "Account connected." in client.get("/account/providers/").text
    guest = Client()
    assert come_back(guest) == "/"
    assert guest.session["_auth_user_id"] == str(user.pk)
    page = client.post("/account/providers/", {"account": account.pk}, follow=True)
    assert "Account disconnected." in page.text
    assert not SocialAccount.objects.exists()


def test_providers_are_read_from_the_environment() -> None:
    [app] = oidc_apps(f"[{TOLD}]")
    assert (app["provider_id"], app["secret"]) == ("corp", "b")
    assert origins_of([app]) == ["https://id.corp.example"]
    assert oidc_apps("") == []


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[1]",
        "[{}]",
        f"[{TOLD},{TOLD}]",
        f"[{TOLD}]".replace("https", "ftp"),
        f"[{TOLD}]".replace('"corp"', '"C orp"'),
    ],
)
def test_providers_that_make_no_sense_are_refused_at_start_without_a_word_of_secrets(told: str) -> None:
    told = told.replace('"b"', '"hush-hush"')
    with pytest.raises(ImproperlyConfigured, match="OIDC_PROVIDERS") as refused:
        oidc_apps(told)
    assert "hush-hush" not in str(refused.value)
