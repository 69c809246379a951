"""What a model saw on produced files, in headless Chromium: wide, narrow, dark, and without JavaScript."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Role
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.pictures import pdf
from tests.repairs.looked import eyes, looked_check, looking_project, seen

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]

REPORT = pdf("Sales per region, first half", "Legend and notes")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_that_a_model_looked_at_are_shown_and_enlarged(
    visit: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    saw = "Page 1 has a title, page 2 a chart without a legend."
    with eyes("openai", lambda asked: seen(asked, holds="no", saw=saw), monkeypatch) as model:
        project = looking_project(model.model)
        run = looked_check(project, {"report.pdf": REPORT})
        project.models_by_role = looking_project().models_by_role
        project.save()
        unseen = looked_check(project, {"report.pdf": REPORT})
    visitor = visit(make_member(project, Role.ADMIN), scheme=scheme)
    page = visitor.go(f"/p/{project.slug}/runs/{run.pk}/")
    picture = page.get_by_role("img", name="Page 2 of report.pdf")
    picture.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.seen-page img')[1].naturalHeight > 1000")
    is_clean(page, f"seen-{scheme}", widths=(390, 1280))
    picture.click()
    expect(page.get_by_role("dialog", name="Page 2 of report.pdf")).to_be_visible()
    page.keyboard.press("Escape")

    page = visitor.go(f"/p/{project.slug}/runs/{unseen.pk}/")
    expect(page.locator(".seen")).to_contain_text("Nobody looked: no model that sees is configured")
    is_clean(page, f"unseen-{scheme}", widths=(390, 1280))
