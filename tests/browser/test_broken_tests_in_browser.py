"""A run with broken tests, its review, and a broken script on the form, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.reviews.models import Review
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.runs.broken_tests import run_with_script

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("pages with little script; their views are tested without a browser"),
]
SCRIPT = "def test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert add(2, 2) == wanted\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_broken_tests_are_accessible_and_fit_a_phone(visit: Callable[..., Visitor], scheme: str) -> None:
    project = make_project("desk")
    run = run_with_script(project, SCRIPT)
    visitor = visit(make_member(project), scheme=scheme)
    page = visitor.go(f"/p/desk/runs/{run.pk}/")
    expect(page.get_by_text("1 of 2 are broken").first).to_be_visible()
    is_clean(page, widths=(1400, 390))
    page = visitor.go(f"/p/desk/reviews/{Review.objects.get(run=run).pk}/")
    expect(page.get_by_text("1 of 2 tests are broken")).to_be_visible()
    is_clean(page, widths=(1400, 390))


def test_a_script_with_a_fault_is_kept_beside_what_is_wrong_with_it(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    page = visit(make_member(project)).go("/p/desk/tasks/new/")
    page.get_by_label("Objective").fill("Write add(a, b).")
    typed = '{"script": "def test_it(:\\n    assert add(1, 2) == 3"}'
    page.locator("#id_tests").fill(typed)
    page.get_by_role("button", name="Create and start").click()
    expect(page.get_by_text("script: line 1, column 13: invalid syntax")).to_be_visible()
    expect(page.locator("#id_tests")).to_have_value(typed)
    is_clean(page, widths=(1400, 390))
