"""The first login of a new desk, by the printed link and on to the overview."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from reflection_app.core.models import Profile
from reflection_app.teams.pages.login import one_time_login_path
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean

pytestmark = pytest.mark.django_db(transaction=True)

OWN = "a password of my own 1"


@pytest.fixture
def newcomer() -> User:
    user = given.member(given.project("fresh"), user=given.user("admin"))
    Profile.objects.create(user=user, must_change_password=True)
    return user


def test_a_newcomer_chooses_a_password_and_is_in(visit: Callable[..., Visitor], newcomer: User) -> None:
    visitor = visit(None)
    page = visitor.go(one_time_login_path(newcomer))
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading")).to_have_text("Set your password")
    page.get_by_label("New password", exact=True).fill(OWN)
    page.get_by_label("Confirm new password").fill("another")
    page.get_by_role("button", name="Set password").click()
    expect(page.locator(".field-error")).to_contain_text("same password")
    is_clean(page, "first-password-refused", widths=(1280, 360))

    visitor.go("/p/fresh/")
    expect(page.get_by_role("heading")).to_have_text("Set your password")
    page.get_by_label("New password", exact=True).fill(OWN)
    page.get_by_label("Confirm new password").fill(OWN)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Set your password")
    assert page.url.endswith("/p/fresh/")
    newcomer.refresh_from_db()
    assert newcomer.check_password(OWN)
