"""The overview and the list of runs follow what happens, and leave alone what somebody is in."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from tests import given
from tests.browser.conftest import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


def test_the_list_of_runs_shows_a_run_that_came_and_how_it_goes_on(visit: Visit, project: Project) -> None:
    visitor = visit(given.member(project))
    page = visitor.go("/p/desk/runs/")
    page.wait_for_selector("body[data-bell-state=open]")
    expect(page.get_by_text("No runs yet")).to_be_visible()
    run = given.submitted_run(project, objective="It came by itself")
    advance(run.pk)
    row = page.get_by_role("row").filter(has_text="It came by itself")
    expect(row).to_be_visible()
    expect(row.get_by_text("Waiting for review")).to_be_visible()


def test_the_overview_follows_too_and_leaves_what_has_the_focus(visit: Visit, project: Project) -> None:
    given.submitted_run(project, objective="The first one")
    visitor = visit(given.member(project))
    page = visitor.go("/p/desk/")
    page.wait_for_selector("body[data-bell-state=open]")
    first = page.get_by_role("link", name="The first one")
    first.focus()
    run = given.submitted_run(project, objective="The second one")
    advance(run.pk)
    page.evaluate("document.body.dispatchEvent(new CustomEvent('desk:rang'))")
    expect(first).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    expect(page.get_by_role("link", name="The second one").first).to_be_visible()
