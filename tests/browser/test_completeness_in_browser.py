"""Completeness on the run page, the project's page and in the settings, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Project, Role
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.loops.completeness.scenes import checked, wanted
from tests.repairs.completeness import SAVE, reading_project, supplemented
from tests.repairs.past_supplements import past_supplement

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_supplemented_run_and_the_page_of_its_project(visit: Callable[..., Visitor], scheme: str) -> None:
    project = reading_project(slug=f"desk-{scheme}")
    dropped = checked(SAVE, wanted("订购一台咖啡机"), analysis="不完整：只读了一个文件", missing=["第二个文件"])
    for _ in range(2):
        supplemented(project)
    run = supplemented(project, {"attempt-1/completeness": dropped})
    visitor = visit(make_member(project, Role.ADMIN), scheme=scheme)
    page = visitor.go(f"/p/{project.slug}/runs/{run.pk}/")
    card = page.locator("#run-completeness")
    expect(card).to_contain_text("something missing")
    card.get_by_text("1 suggestion left out").click()
    expect(card.get_by_text("订购一台咖啡机")).to_be_visible()
    is_clean(page)

    page.get_by_role("link", name="Completeness", exact=True).click()
    recurring = page.get_by_role("region", name="What keeps being missing")
    expect(recurring).to_contain_text("读取第二个文件")
    expect(page.get_by_text("offered to the notebook: proposed")).to_be_visible()
    is_clean(page, f"recurring-{scheme}", widths=(390, 1280))


def test_records_and_the_sample_are_read_in_every_width(visit: Callable[..., Visitor]) -> None:
    project = reading_project(slug="records", completeness={"max_cost_usd": "0.5"})
    for number in range(6):
        past_supplement(project, tokens=1_000 + 150 * number)
    run = supplemented(project)
    visitor = visit(make_member(project, Role.ADMIN))
    page = visitor.go(f"/p/{project.slug}/runs/{run.pk}/")
    expect(page.locator("#run-completeness")).to_contain_text("Its tool completed 6 of 6 runs")
    is_clean(page, "records-run", widths=(390, 1280))
    page = visitor.go(f"/p/{project.slug}/settings/")
    expect(page.locator("#id_share")).to_have_value("10")
    is_clean(page, "records-settings", widths=(390, 1280))


def test_the_check_is_turned_off_in_the_settings(visit: Callable[..., Visitor]) -> None:
    project = reading_project(slug="desk-off")
    page = visit(make_member(project, Role.ADMIN)).go("/p/desk-off/settings/")
    page.get_by_label("Check", exact=True).select_option("off")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert Project.objects.get(pk=project.pk).get_completeness().when == "off"
    page.get_by_role("link", name="Completeness", exact=True).click()
    expect(page.get_by_text("The check is off.")).to_be_visible()
    is_clean(page)
