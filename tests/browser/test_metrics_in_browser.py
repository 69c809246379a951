"""The metrics in headless Chromium: drawn in the page's colours, readable at any width, and every bar leads on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from reflection_app.core.models import Role
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.metrics.metric_rows import fill

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
METRICS = "/p/desk/metrics/"


def drawn(page: Page) -> None:
    """Waits until every chart of the page has been come near, and drawn."""
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("data-drawn", "")
    page.evaluate("scrollTo(0, 0)")


def first_bar(page: Page, chart: str) -> Locator:
    return page.locator(f"#chart-{chart} .trace.bars .point path").first


def test_charts_are_drawn_and_every_bar_leads_to_its_runs(visit: Callable[..., Visitor]) -> None:
    project = given.project("desk")
    fill(project, runs=300, is_scripted=False)
    page = visit(given.member(project, Role.REVIEWER)).go(METRICS)
    drawn(page)
    expect(page.locator("#chart-success .scatterlayer .trace")).to_have_count(2)
    is_clean(page, "metrics_wide")
    page.get_by_text("All metrics and definitions").click()
    page.locator("#chart-outcomes").get_by_text("View as table").click()
    is_clean(page, "metrics_opened")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(page.url)
    drawn(page)
    is_clean(page, "metrics_narrow")
    share = "chart => chart.querySelector('.bglayer .bg, .nsewdrag').getBoundingClientRect().width / chart.clientWidth"
    for name in ("tasks", "tokens", "models"):
        assert page.locator(f"#chart-{name} [data-plot]").evaluate(share) > 0.4, name
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(page.url)
    drawn(page)
    box = first_bar(page, "outcomes").bounding_box()
    assert box is not None
    page.locator("#chart-outcomes").scroll_into_view_if_needed()
    first_bar(page, "outcomes").hover(force=True)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/runs/?figure=outcomes&key=succeeded*")
    expect(page.get_by_text("Run outcomes: Succeeded")).to_be_visible()
    is_clean(page, "metrics_behind")
    page.get_by_role("link", name="Back to the metrics").click()
    expect(page.get_by_role("heading", name="Metrics", exact=True)).to_be_visible()


def test_charts_take_the_colours_of_a_dark_page_and_change_with_it(visit: Callable[..., Visitor]) -> None:
    project = given.project("desk")
    fill(project, runs=120)
    page = visit(given.member(project), scheme="dark").go(METRICS)
    drawn(page)
    is_clean(page, "metrics_dark")
    bar = first_bar(page, "modes")
    before = bar.evaluate("bar => getComputedStyle(bar).fill")
    page.emulate_media(color_scheme="light")
    expect(bar).not_to_have_css("fill", before)
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(page.url)
    drawn(page)
    is_clean(page, "metrics_narrow_dark")
