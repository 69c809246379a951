"""Files that were opened, on the pages of a run and of a review, wide, narrow and in both colours."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.reviews.models import Review
from tests.attachments.produced import TORN_CSV, file_part, workbook
from tests.attachments.samples import UNSEEN, pdf, png
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.reviews.review_items import handed_in

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


@pytest.fixture
def review(transactional_db: None) -> Review:
    files = {
        "sales.csv": TORN_CSV,
        "report.xlsx": workbook(),
        "a.pdf": pdf(1),
        "chart.png": png(400, 300),
        "odd.zzz": UNSEEN,
        "note.md": b"# Sales\n\nThe North sells most.\n",
    }
    return handed_in("desk", content=["Look at it.", *(file_part(one, name=name) for name, one in files.items())])


@pytest.mark.parametrize("page_of", ["runs", "reviews"])
def test_what_was_found_is_read_beside_the_attempt(visit: Visit, review: Review, page_of: str) -> None:
    number = review.run_id if page_of == "runs" else review.pk
    page = visit(make_member(review.project)).go(f"/p/desk/{page_of}/{number}/")
    files = page.get_by_role("region", name="Files that a program opened")
    expect(files.get_by_text("A row has another number of fields than the others.")).to_be_visible()
    files.get_by_text("How it begins", exact=False).nth(1).click()
    expect(files.get_by_text("North").last).to_be_visible()
    files.scroll_into_view_if_needed()
    is_clean(page, f"produced-{page_of}", widths=(1_280, 390))
    # Drawn anew: one colour passes into the other, and on the way is neither.
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.reload()
    expect(files).to_be_visible()
    is_clean(page, f"produced-{page_of}-dark")
