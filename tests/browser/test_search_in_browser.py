"""The search dialog in headless Chromium: its keys, what it shows as one types, and where the focus is afterwards."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.models import Role
from tests import given
from tests.browser.conftest import Visitor
from tests.notebook.entries import make_entry
from tests.search.things import Things, make_things

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
WIDTHS = (390, 1280)


@pytest.fixture
def things() -> Things:
    return make_things("desk")


def options(page: Page) -> list[str]:
    return page.locator("#search-options [role=option] .found-name").all_inner_texts()


def type_and_wait(page: Page, text: str) -> None:
    page.keyboard.type(text)
    expect(page.locator(f'#search-options [data-asked="{text}"]')).to_be_attached()


def test_keys_open_it_choose_and_lead_to_what_was_chosen(visit: Visit, things: Things) -> None:
    page = visit(given.member(things.project)).go("/p/desk/tickets/")
    dialog, field = page.locator("[data-search]"), page.get_by_role("combobox", name="Search project")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    type_and_wait(page, "kettle")
    assert options(page)[:2] == ["Judge the kettle", "Describe the kettle"]
    chosen = page.locator("#search-options [aria-selected=true]")
    expect(chosen).to_have_id("found-runs-1")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_id("found-runs-2")
    expect(field).to_have_attribute("aria-activedescendant", "found-runs-2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_have_id("found-tool_failures-1")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/p/desk/runs/{things.run.pk}/")
    expect(dialog).to_be_hidden()


def test_escape_closes_it_and_the_focus_is_where_it_was(visit: Visit, things: Things) -> None:
    page = visit(given.member(things.project)).go("/p/desk/runs/")
    dialog = page.locator("[data-search]")
    # A slash in a field is a slash; Ctrl-K opens it from there as well.
    page.locator("#filter-q").focus()
    page.keyboard.type("a/b")
    expect(dialog).to_be_hidden()
    expect(page.locator("#filter-q")).to_have_value("a/b")
    page.keyboard.press("Control+k")
    expect(dialog).to_be_visible()
    type_and_wait(page, "nothing has this")
    expect(page.locator("[data-search-said]")).to_have_text("No results")
    expect(page.get_by_role("listbox")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#filter-q")).to_be_focused()
    page.get_by_role("button", name="Search", exact=True).click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Control+k")
    expect(dialog).to_be_hidden()


def test_enter_before_an_answer_leads_to_the_page_of_all(visit: Visit, things: Things) -> None:
    page = visit(given.member(things.project)).go("/p/desk/transcripts/")
    # The answers to the dialog are lost on the way.
    page.route("**/p/desk/search/**", lambda route: route.abort() if route.request.headers.get("hx-request") else
               route.continue_())  # fmt: skip
    page.keyboard.press("Control+k")
    page.keyboard.type("kettle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/desk/search/?q=kettle")
    expect(page.get_by_role("link", name="Describe the kettle")).to_be_visible()
    page.unroute_all()
    page.locator("#main").focus()
    page.keyboard.press("/")
    expect(page.locator("#search-q")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("EXT-7")
    page.wait_for_url("**/p/desk/search/?q=EXT-7")
    expect(page.get_by_role("link", name="Judge the kettle")).to_have_count(0)


def test_a_page_with_a_search_of_its_own_keeps_its_key(visit: Visit, things: Things) -> None:
    make_entry(things.project)
    path = "/p/desk/notebook/inbox/"
    page = visit(given.member(things.project, Role.CURATOR)).go(path)
    # A key that comes before the page is on the screen does nothing.
    page.wait_for_selector("[data-keys=ready]")
    page.keyboard.press("/")
    expect(page.locator('[data-key="/"]').first).to_be_focused()
    expect(page.locator("[data-search]")).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.locator("[data-search]")).to_be_visible()
    # What the page does at a letter, it does not while one types into the dialog.
    type_and_wait(page, "ark")
    assert page.url.endswith(path)
