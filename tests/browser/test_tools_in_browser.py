"""Registering and trying a tool, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Role
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def test_the_built_in_tools_are_added_and_one_is_tried(visit: Callable[..., Visitor]) -> None:
    page = visit(make_member(make_project("desk"), Role.ADMIN)).go("/p/desk/tools/")
    is_clean(page)
    page.get_by_role("button", name="Add the built-in tools").click()
    expect(page.get_by_text("Added: python, read_file, grep_search.")).to_be_visible()
    is_clean(page)
    page.get_by_role("link", name="python").click()
    page.get_by_label("Arguments (JSON)").fill('{"code": "print(6 * 7)"}')
    page.get_by_role("button", name="Call it").click()
    expect(page.locator(".tool-result")).to_contain_text("it worked")
    expect(page.locator(".tool-result pre")).to_have_text("42")
    is_clean(page)


def test_an_address_inside_the_network_is_refused_and_what_was_typed_stays(visit: Callable[..., Visitor]) -> None:
    page = visit(make_member(make_project("desk"), Role.ADMIN), scheme="dark").go("/p/desk/tools/new/")
    page.get_by_label("Name").fill("metadata")
    page.get_by_label("Address").fill("http://169.254.169.254/latest/")
    page.get_by_role("button", name="Register it").click()
    expect(page.locator("#error-url")).to_contain_text("not on the public internet")
    expect(page.get_by_label("Address")).to_have_value("http://169.254.169.254/latest/")
    is_clean(page)
