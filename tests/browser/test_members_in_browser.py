"""Members, keys and the account's pages in the browser: an invitation from its making to the joining, and looks."""

import time
from collections.abc import Callable

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from playwright.sync_api import expect

from reflection_app.core.models import Membership, Role
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def test_an_invitation_is_made_copied_and_followed_by_somebody_new(visit: Callable[..., Visitor]) -> None:
    project = given.project("team", name="The Team")
    page = visit(given.member(project, Role.ADMIN, user=given.user("anna"))).go("/p/team/settings/members/")
    page.get_by_label("As", exact=True).select_option("curator")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("alert")).to_contain_text("Copy it now")
    is_clean(page)
    link = page.locator("#secret").inner_text()

    guest = visit(None)
    joining = guest.go(link.removeprefix(guest.address))
    expect(joining.get_by_role("heading")).to_have_text("Join The Team")
    is_clean(joining)
    joining.get_by_role("link", name="Create account").click()
    joining.get_by_label("Username").fill("ben")
    joining.get_by_label("Password", exact=True).fill(given.PASSWORD)
    joining.get_by_label("Confirm password").fill(given.PASSWORD)
    is_clean(joining)
    joining.get_by_role("button", name="Create account and join").click()
    expect(joining).to_have_url(f"{guest.address}/p/team/")
    assert Membership.objects.get(user__username="ben").role == Role.CURATOR

    # A page left open would ask for its counts after the removal, and be refused.
    joining.goto("about:blank")
    page.reload()
    expect(page.locator("#secret")).to_have_count(0)
    page.get_by_label("Role of ben").select_option("viewer")
    page.get_by_role("button", name="Change ben").click()
    expect(page.get_by_text("ben is Viewer now.")).to_be_visible()
    page.get_by_role("link", name="Remove ben").click()
    is_clean(page)
    page.get_by_role("button", name="Remove member").click()
    expect(page.get_by_text("ben is no longer a member.")).to_be_visible()


def test_a_key_is_made_shown_once_and_revoked(visit: Callable[..., Visitor]) -> None:
    project = given.project("team")
    page = visit(given.member(project, Role.ADMIN)).go("/p/team/settings/keys/")
    page.get_by_label("Name").fill("pipeline")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#secret")).to_contain_text("rd_")
    is_clean(page)
    page.reload()
    expect(page.locator("#secret")).to_have_count(0)
    page.get_by_role("link", name="Revoke pipeline").click()
    page.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("API key “pipeline” revoked.")).to_be_visible()


def test_a_theme_is_there_before_the_first_paint(visit: Callable[..., Visitor]) -> None:
    visitor = visit(given.member(given.project("team")), scheme="light")
    page = visitor.go("/profile/")
    page.get_by_label("Dark").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    is_clean(page)


def test_an_authenticator_app_is_set_up(visit: Callable[..., Visitor]) -> None:
    user = given.member(given.project("team"))
    # As the server makes them, which knows nothing of the tests' quick ones.
    User.objects.filter(pk=user.pk).update(password=make_password(given.PASSWORD, hasher="pbkdf2_sha256"))
    user.refresh_from_db()
    visitor = visit(user, scheme="dark")
    visitor.page.set_viewport_size({"width": 390, "height": 900})
    page = visitor.go("/account/two-factor/")
    page.get_by_role("link", name="Set up").click()
    expect(page.get_by_role("heading", name="Confirm your identity")).to_be_visible()
    is_clean(page)
    page.get_by_label("Password").fill(given.PASSWORD)
    page.get_by_role("button", name="Go on").click()
    picture = page.get_by_role("img", name="QR code for the app")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 0
    is_clean(page)
    secret = page.locator("form code").inner_text()
    page.get_by_label("Code").fill(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_text("Two-factor login turned on.")).to_be_visible()
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    is_clean(page)
