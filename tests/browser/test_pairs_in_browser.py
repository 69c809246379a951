"""Two answers side by side, judged with the keyboard, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.comparisons.models import PairJudgement
from reflection_app.core.models import Project, Role
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.comparisons.pairs import make_set
from tests.factories import make_member, make_project

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


@pytest.fixture
def project() -> Project:
    return make_project("desk")


def ready(page: Page) -> Page:
    page.wait_for_selector("body[data-keys=ready] [data-pair]")
    return page


def pressed(page: Page, key: str) -> Page:
    """The page of the next pair, once it takes keys."""
    page.evaluate("delete document.body.dataset.keys")
    page.keyboard.press(key)
    page.wait_for_selector("body[data-keys=ready]")
    return page


def test_each_key_says_what_stands_on_its_button(visit: Visit, project: Project) -> None:
    make_set(project, 8)
    page = visit(make_member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page)
    for key in ("1", "2", "3", "=", "0", "ArrowLeft", "ArrowRight"):
        pressed(page, key)
    wanted = ["left", "right", "tie", "tie", "both_bad", "left", "right"]
    judged = PairJudgement.objects.filter(state="judged").order_by("judged_at")
    assert list(judged.values_list("choice", flat=True)) == wanted
    expect(page.get_by_text("You found the right answer better.")).to_be_visible()
    pressed(page, "u")
    assert PairJudgement.objects.filter(state="judged").count() == 6
    pressed(page, "s")
    assert PairJudgement.objects.filter(state="skipped").count() == 1


def test_keys_that_are_typed_into_a_reason_judge_nothing(visit: Visit, project: Project) -> None:
    make_set(project, 2)
    page = visit(make_member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page).get_by_text("Say why").click()
    page.get_by_label("Reason").fill("0 of 2")
    page.get_by_label("Reason").press("1")
    assert not PairJudgement.objects.filter(state="judged").exists()
    page.keyboard.press("Escape")
    pressed(page, "2")
    assert list(PairJudgement.objects.filter(state="judged").values_list("choice", "reason")) == [("right", "0 of 21")]


def test_a_key_pressed_twice_judges_one_pair(visit: Visit, project: Project) -> None:
    make_set(project, 3)
    page = visit(make_member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page)
    page.evaluate("""() => { for (const _ of [1, 2])
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true, cancelable: true })); }""")
    expect(page.get_by_text("2 of 3")).to_be_visible()
    assert PairJudgement.objects.filter(state="judged").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_clean_in_every_width(visit: Visit, project: Project, scheme: str) -> None:
    admin = visit(make_member(project, Role.ADMIN), scheme=scheme)
    is_clean(admin.go("/p/desk/comparisons/"), f"comparisons-empty-{scheme}", widths=(1280, 390))
    make_set(project, 2)
    for name in ("", "new/", "ratings/"):
        page = admin.go(f"/p/desk/comparisons/{name}")
        is_clean(page, f"comparisons-{name.strip('/') or 'list'}-{scheme}", widths=(1280, 390))
    page = admin.go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    is_clean(ready(page), f"comparisons-pair-{scheme}", widths=(1280, 390))
