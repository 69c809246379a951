"""Completeness on the run page and on the project's own page."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Run
from tests import given, when
from tests.attachments.produced import TORN_CSV, file_part
from tests.loops.completeness.scenes import checked, wanted
from tests.repairs.completeness import SAVE, completeness_check, reading_project, supplemented
from tests.runs.test_run_pages import ACTIVE

pytestmark = pytest.mark.django_db


def page_of(client: Client, run: Run) -> str:
    return given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text


def project_page(client: Client, run: Run) -> str:
    return given.logged_in(client, run.project).get(f"/p/{run.project.slug}/completeness/").text


def test_a_faulty_file_is_told_once_and_before_the_models_word_that_all_is_there(client: Client) -> None:
    files = [file_part(TORN_CSV, name="sales.csv")]
    said = checked(analysis="All is there.")
    run = completeness_check(reading_project(), said, files=files, required_files=[{"path": "chart.pdf"}])
    when.advances(run)
    page = page_of(client, run)
    torn = "A row has a different number of fields."
    assert page.count(torn) == page.count("File not found.") == 1
    assert page.index(torn) < page.index("All is there.")
    of_project = project_page(client, run)
    assert "File not found." in of_project


def test_hostile_texts_of_models_are_shown_as_text(client: Client) -> None:
    answers = {
        "attempt-1/completeness": checked(
            wanted(
                f"文件 {given.HOSTILE}",
                given.HOSTILE,
                "read_file",
                given.HOSTILE[:60],
                quote="比较两个文件",
                missing=given.HOSTILE,
            ),
            wanted(
                given.HOSTILE,
                given.HOSTILE,
                quote=given.HOSTILE,
                repeat_quote=given.HOSTILE,
                arguments={given.HOSTILE: given.HOSTILE},
            ),
            analysis=given.HOSTILE,
            missing=[given.HOSTILE],
        )
    }
    run = supplemented(reading_project(), answers, kind="<b>kind</b>")
    for page in (page_of(client, run), project_page(client, run)):
        assert "&lt;script&gt;alert(1)" in page
        assert not ACTIVE.search(re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))


def test_the_page_asks_the_database_as_often_for_many_recurring_supplements_as_for_one(client: Client) -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(2)]
    with CaptureQueriesContext(connection) as few:
        assert SAVE["operation"] in project_page(client, runs[0])
    for check in CompletenessCheck.objects.filter(run__in=runs):
        Supplement.objects.bulk_create(
            Supplement(
                project=project,
                completeness_check=check,
                number=number,
                task_kind=check.task_kind,
                operation=f"missing {number}",
                operation_key=f"missing {number}",
            )
            for number in range(2, 12)
        )
    with CaptureQueriesContext(connection) as many:
        page = project_page(client, runs[0])
    assert all(f"missing {number}" in page for number in range(2, 12))
    assert len(many) <= len(few)
