"""Calibration in headless Chromium: a file is imported by the page, and every cell leads to what is behind it."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.models import Role
from reflection_app.metrics.calibration import VERDICTS
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.metrics.judgements import imported, labels_of, lines, recorded_pairs, rows_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
PAGE = "/p/desk/metrics/calibration/"


def drawn(page: Page) -> None:
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("data-drawn", "")
    page.evaluate("scrollTo(0, 0)")


def made_rows() -> list[dict[str, Any]]:
    """Labels of a critic that is surer than it should be, and of a careful one under two versions of its prompt."""
    rng = Random(4)
    rows = []
    for number in range(200):
        right = rng.choices(VERDICTS, [6, 3, 1])[0]
        people = {"ann": right, "bob": right if rng.random() < 0.9 else rng.choice(VERDICTS), "eve": right}
        for model, version, skill in (
            ("big-judge", "v1", 0.7),
            ("small-judge", "v1", 0.55),
            ("small-judge", "v2", 0.8),
        ):
            said = right if rng.random() < skill else rng.choice(VERDICTS)
            sure = round(min(1.0, max(0.0, rng.gauss(0.85 if said == right else 0.75, 0.12))), 2)
            given = {"confidence": sure, "prompt_version": version, "text": f"Answer {number}."}
            rows += labels_of(people, f"answer-{number}", model=model, verdict=said, **given)
    return rows


def upload(page: Page, content: bytes, *, name: str) -> None:
    page.get_by_label("CSV or JSON Lines").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    page.get_by_role("button", name="Import labels").click()


def test_a_file_is_imported_and_its_cells_lead_to_its_items(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    page = visit(make_member(project, Role.CURATOR)).go(PAGE)
    is_clean(page, "calibration_empty")
    upload(page, lines([*made_rows(), b"not json"]), name="labels.jsonl")
    expect(page.get_by_text("line 1801")).to_be_visible()
    is_clean(page, "calibration_refused")
    upload(page, lines(made_rows()), name="labels.jsonl")
    expect(page.get_by_text("The labels are imported.")).to_be_visible()
    drawn(page)
    expect(page.get_by_role("row", name="small-judge")).to_have_count(2)
    is_clean(page, "calibration_wide")
    page.get_by_role("link", name="small-judge").last.click()
    page.wait_for_url("**critic=small-judge**")
    page.locator("#chart-confusion").get_by_text("As a table").click()
    page.locator("#chart-confusion table").get_by_role("link").nth(1).click()
    page.wait_for_url("**said=PASS&people=REVISE#behind")
    expect(page.get_by_role("heading", name="The critic said Pass, people said Revise")).to_be_visible()
    drawn(page)
    is_clean(page, "calibration_cell")
    page.locator("#behind summary").first.click()
    expect(page.locator("#behind .judged-content").first).to_be_visible()
    page.get_by_role("button", name="Delete labels.jsonl").click()
    expect(page.get_by_text("The import is deleted.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_on_a_narrow_window(visit: Callable[..., Visitor], scheme: str) -> None:
    project = make_project("desk")
    imported(project, made_rows())
    page = visit(make_member(project, Role.VIEWER), scheme=scheme).go(PAGE)
    drawn(page)
    is_clean(page, f"calibration_{scheme}")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(page.url)
    drawn(page)
    is_clean(page, f"calibration_narrow_{scheme}")


def test_a_click_on_a_cell_leads_to_what_is_behind_it(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    imported(project, made_rows())
    page = visit(make_member(project, Role.VIEWER)).go(PAGE)
    drawn(page)
    plot = page.locator("#chart-confusion .nsewdrag")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    # The middle of the middle cell.
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#chart-confusion [data-leads]")).to_have_count(1)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**said=REVISE&people=REVISE#behind")


def test_both_recorded_judges_of_pandalm_are_calibrated_by_the_page(visit: Callable[..., Visitor]) -> None:
    given = rows_of(recorded_pairs())
    project = make_project("desk")
    page = visit(make_member(project, Role.CURATOR)).go(PAGE)
    upload(page, "\n".join(json.dumps(one) for one in given).encode(), name="pandalm.jsonl")
    expect(page.get_by_text("The labels are imported.")).to_be_visible()
    drawn(page)
    table = page.get_by_role("region", name="Figures of each critic")
    expect(table.get_by_role("row", name="pandalm-7b")).to_be_visible()
    expect(table.get_by_role("row", name="gpt-3.5-turbo")).to_be_visible()
    is_clean(page, "calibration_pandalm")
