"""Completeness on the run page, the project's page and in the settings, in headless Chromium."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from reflection_app.core.models import Project, Role
from reflection_app.repairs.check_suggestions import suggest_due
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.loops.completeness.scenes import checked, wanted
from tests.repairs.check_rows import checked_runs, drawn_runs
from tests.repairs.completeness import SAVE, reading_project, supplemented
from tests.repairs.past_supplements import past_supplement
from tests.repairs.test_worth_run import FIRST_AGAIN, INCOMPLETE_STILL, TWO

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_supplemented_run_and_the_page_of_its_project(visit: Callable[..., Visitor], scheme: str) -> None:
    project = reading_project(slug=f"desk-{scheme}")
    dropped = checked(SAVE, wanted("订购一台咖啡机"), analysis="不完整：只读了一个文件", missing=["第二个文件"])
    for said in ("打开第二个文件并阅读", "Read the second file"):
        supplemented(project, {"attempt-1/completeness": checked(SAVE | {"operation": said}, missing=["第二个文件"])})
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
    expect(recurring).to_contain_text("打开第二个文件并阅读")
    expect(page.get_by_text("offered to the notebook: proposed")).to_be_visible()
    is_clean(page)
    recurring.get_by_text("Also in 2 other wordings").click()
    expect(recurring.get_by_text("读取第二个文件")).to_be_visible()
    is_clean(page, f"recurring-{scheme}", widths=(390, 1280))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_estimates_and_what_was_bought_are_read_in_every_width(visit: Callable[..., Visitor], scheme: str) -> None:
    lines = {"least_worth": 0.15, "max_cost_usd": "0.5"}
    project = reading_project(slug=f"worth-{scheme}", completeness=lines)
    for number in range(6):
        past_supplement(project, tokens=1_000 + 150 * number)
    for _ in range(30):
        past_supplement(project, FIRST_AGAIN["operation"], completed=False, tokens=9_000)
    runs = [supplemented(project, TWO) for _ in range(5)]
    supplemented(project, TWO | INCOMPLETE_STILL)
    visitor = visit(make_member(project, Role.ADMIN), scheme=scheme)
    page = visitor.go(f"/p/{project.slug}/runs/{runs[-1].pk}/")
    card = page.locator("#run-completeness")
    expect(card).to_contain_text("Estimate:")
    card.get_by_text("1 suggestion left out").click()
    expect(card.get_by_text("the line is 15 %")).to_be_visible()
    is_clean(page, f"worth-run-{scheme}", widths=(390, 1280))

    page.get_by_role("link", name="Completeness", exact=True).click()
    expect(page.get_by_role("region", name="What was left out")).to_contain_text("worth less than the line")
    expect(page.get_by_text("Cost of a run turned complete")).to_be_visible()
    is_clean(page, f"worth-project-{scheme}", widths=(390, 1280))

    page = visitor.go(f"/p/{project.slug}/settings/")
    expect(page.locator("#id_least_worth")).to_have_value("15")
    is_clean(page, f"worth-settings-{scheme}", widths=(390, 1280))


def test_the_check_is_turned_off_in_the_settings(visit: Callable[..., Visitor]) -> None:
    project = reading_project(slug="desk-off")
    page = visit(make_member(project, Role.ADMIN)).go("/p/desk-off/settings/")
    page.get_by_label("Check whether work with tools is complete").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert Project.objects.get(pk=project.pk).get_completeness().enabled is False
    page.get_by_role("link", name="Completeness", exact=True).click()
    expect(page.get_by_text("The check is off.")).to_be_visible()
    is_clean(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_suggestion_is_read_and_accepted_on_every_width(visit: Callable[..., Visitor], scheme: str) -> None:
    project = reading_project(slug=f"often-{scheme}", completeness={"holdout_share": 0.2})
    checked_runs(project, "news", "." * 40)
    checked_runs(project, "a-kind-with-a-very-long-name-that-has-no-place-to-be-broken", "x" * 30, supplements=3)
    drawn_runs(project, "maps", "GgGWw" * 12)
    suggest_due(timezone.now())
    visitor = visit(make_member(project, Role.ADMIN), scheme=scheme)
    page = visitor.go(f"/p/{project.slug}/completeness/")
    is_clean(page, f"how-often-{scheme}", widths=(1280, 390))
    news = page.locator("li").filter(has=page.get_by_role("heading", name="news", exact=True))
    expect(news).to_contain_text("A sample of 10 %")
    news.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Accepted. Runs that begin from now on are checked so.")).to_be_visible()
    assert Project.objects.get(pk=project.pk).get_completeness("news").checked_share == 0.1
    page.goto(page.url.split("completeness")[0] + "settings/")
    is_clean(page, f"how-often-settings-{scheme}", widths=(1280, 390))
