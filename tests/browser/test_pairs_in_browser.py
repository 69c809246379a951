"""Two answers side by side, judged with the keyboard, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.comparisons.models import PairJudgement
from reflection_app.core.models import Project
from tests import given
from tests.browser.conftest import Visitor
from tests.comparisons.pairs import make_set

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


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
    page = visit(given.member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page)
    for key in ("1", "2", "3", "=", "0", "ArrowLeft", "ArrowRight"):
        pressed(page, key)
    wanted = ["left", "right", "tie", "tie", "both_bad", "left", "right"]
    judged = PairJudgement.objects.filter(state="judged").order_by("judged_at")
    assert list(judged.values_list("choice", flat=True)) == wanted
    expect(page.get_by_text("You preferred the right answer.")).to_be_visible()
    pressed(page, "u")
    assert PairJudgement.objects.filter(state="judged").count() == 6
    pressed(page, "s")
    assert PairJudgement.objects.filter(state="skipped").count() == 1


def test_a_key_pressed_twice_judges_one_pair(visit: Visit, project: Project) -> None:
    make_set(project, 3)
    page = visit(given.member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page)
    page.evaluate("""() => { for (const _ of [1, 2])
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true, cancelable: true })); }""")
    expect(page.get_by_text("2 of 3")).to_be_visible()
    assert PairJudgement.objects.filter(state="judged").count() == 1
