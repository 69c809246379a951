"""The keys of a project: made, shown once, revoked; and those that a person made, in all their projects."""

import pytest
from django.test import Client

from reflection_app.core.models import ApiKey, Project, digest_of
from tests import given

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    return given.logged_in(client, given.project("set"))


def test_a_new_key_is_shown_once_and_kept_hashed(admin: Client) -> None:
    made = admin.post("/p/set/settings/keys/new/", {"name": "ci", "days": "30", "scopes": ["tasks:write"]})
    assert made["Location"] == "/p/set/settings/keys/"
    assert admin.head("/p/set/settings/keys/").status_code == 200
    page = admin.get("/p/set/settings/keys/")
    secret = page.context["secret"]
    assert secret in page.text
    assert "no-store" in page["Cache-Control"]
    key = ApiKey.objects.get()
    assert key.digest == digest_of(secret)
    assert key.expires_at is not None
    assert secret not in admin.get("/p/set/settings/keys/").text


@pytest.mark.parametrize(
    "typed",
    [{"name": "", "scopes": ["tasks:write"]}, {"name": "x"}, {"name": "x", "scopes": ["admin"], "days": "²"}],
)
def test_a_key_that_makes_no_sense_is_refused(admin: Client, typed: dict[str, object]) -> None:
    page = admin.post("/p/set/settings/keys/new/", typed)
    assert page.status_code == 400
    assert "field-error" in page.text
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_after_asking(admin: Client) -> None:
    key, _ = given.api_key(Project.objects.get(slug="set"))
    path = f"/p/set/settings/keys/{key.pk}/revoke/"
    assert "cannot be undone" in admin.get(path).text
    assert "revoked." in admin.post(path, follow=True).text
    key.refresh_from_db()
    assert key.revoked_at is not None
