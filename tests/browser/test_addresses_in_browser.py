"""The address of a list is what was typed, after the list and everything that it requests have loaded."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Project, Role
from tests import given
from tests.browser.conftest import Visitor
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
# Each list that htmx filters, with a filter that is set.
LISTS = (
    "reviews/?agent=porter",
    "reviews/?view=unclaimed&min_score=4",
    "runs/?q=a",
    "search/?q=a",
    "tickets/?q=a",
    "reports/?q=a",
    "transcripts/?q=a",
    "tools/failures/?q=a",
    "tools/cheat-sheet/?tool=a",
    "notebook/?q=a",
    "notebook/inbox/?q=a",
    "notebook/conflicts/",
    "audit/?q=a",
    "metrics/?agent=a",
    "metrics/datasets/?set=runs&agent=a",
)


def test_every_list_keeps_its_address_while_it_loads(visit: Visit, project: Project) -> None:
    waiting_rows(project, 2)
    visitor = visit(given.member(project, Role.ADMIN))
    pages = {path: visitor.context.new_page() for path in LISTS}
    # All at once: each is waited for until it has requested nothing for half a second.
    for path, page in pages.items():
        page.goto(f"{visitor.address}/p/desk/{path}", wait_until="commit")
    changed = {}
    for path, page in pages.items():
        page.wait_for_load_state("networkidle")
        assert page.evaluate("htmx.config.disableInheritance"), path
        if page.evaluate("location.pathname + location.search") != f"/p/desk/{path}":
            changed[path] = page.url
    assert not changed


def test_the_suggestions_of_a_filter_leave_the_rows_and_the_address_alone(visit: Visit, project: Project) -> None:
    waiting_rows(project, 2)
    page = visit(given.member(project)).go("/p/desk/reviews/?agent=porter")
    expect(page.locator("#queue-agents option[value=porter]")).to_have_count(1)
    expect(page.locator(".queue > .row")).to_have_count(1)
    page.reload()
    expect(page.locator(".queue > .row")).to_have_count(1)
