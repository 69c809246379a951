"""Minimum requirements in headless Chromium: accessible, and fitting a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.runs.critiques import critique
from tests.tasks.test_requirements_pages import WANTED, papers
from tests.web.stories import project_with, waiting_review

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
WIDTHS = (1400, 390)


def check(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    is_clean(page, widths=WIDTHS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_with_requirements_are_accessible_and_fit_a_phone(visit: Visit, scheme: str) -> None:
    answers = {"attempt-1/answer": papers(3, 2), "attempt-1/critique": critique(10, completeness=5)}
    review = waiting_review(project_with("desk", answers), requirements=WANTED)
    visitor = visit(make_member(review.project), scheme=scheme)
    check(visitor.go(f"/p/desk/runs/{review.run_id}/"))
    check(visitor.go(f"/p/desk/reviews/{review.pk}/"))
    check(visitor.go("/p/desk/tasks/new/"))
