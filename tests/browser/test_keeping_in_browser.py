"""Keeping in a browser: rules whose deletions are seen first, taking the project along, and deleting it."""

import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from reflection_app.core.models import Project, Role
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models import RetentionRun
from reflection_app.teams.retention import carry_out_retention
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import problems_of
from tests.runs.critiques import critique

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
PAGE = "/p/desk/settings/keeping/"


def is_clean(page: Page, path: Path) -> None:
    """No problem of accessibility, and nothing sticks out at 390 px."""
    page.screenshot(path=path.with_suffix(".wide.png"), full_page=True)
    assert problems_of(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=path.with_suffix(".narrow.png"), full_page=True)
    page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_are_seen_at_work_before_they_are_saved_and_the_project_goes_with_its_name(
    visit: Visit, scheme: str, tmp_path: Path
) -> None:
    project = given.scripted_project(
        "desk", {"attempt-1/answer": "x", "attempt-1/critique": critique(95, approved=True)}
    )
    run, then = given.advanced_run(project), timezone.now() - timedelta(days=40)
    Task.objects.filter(pk=run.task_id).update(created_at=then)
    Run.objects.filter(pk=run.pk).update(created_at=then, finished_at=then)
    Transcript.objects.create(project=project, ended_at=then)
    visitor = visit(given.member(project, Role.ADMIN), scheme=scheme)
    page = visitor.go(PAGE)
    page.get_by_label("Runs (days)").fill("30")
    page.get_by_label("Sessions (days)").fill("ever")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Sessions (days)")).to_have_accessible_description(
        "Enter a whole number from 1 to 3,650, or leave empty to retain data forever."
    )
    page.get_by_label("Sessions (days)").fill("20")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing was saved yet.")).to_be_visible()
    expect(page.get_by_role("row", name="Sessions 1 0")).to_be_visible()
    is_clean(page, tmp_path / f"asks-{scheme}")
    page.get_by_role("button", name="Save and delete").click()
    expect(page.get_by_text("Saved. What is older")).to_be_visible()
    page.get_by_role("button", name="Delete now").click()
    expect(page.get_by_text("The worker is deleting")).to_be_visible()
    carry_out_retention(RetentionRun.objects.get().pk)
    page.goto(page.url)
    expect(page.get_by_text("Runs: 1 · Sessions: 1")).to_be_visible()
    is_clean(page, tmp_path / f"kept-{scheme}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download project").click()
    assert download.value.suggested_filename == "project-desk.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None
    page.get_by_role("link", name="Delete project …").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_text("Type the project's name just as it is")).to_be_visible()
    is_clean(page, tmp_path / f"delete-{scheme}")
    page.get_by_label("To confirm, type the project's name").fill("Desk")
    assert visitor.complaints == []
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_text("Project “Desk” deleted.")).to_be_visible()
    assert Project.objects.get().deleted_at is not None
    # What a page that was left asked for meanwhile is refused: the project is nobody's any more.
    visitor.complaints[:] = [said for said in visitor.complaints if "Error Code 404" not in said]
