"""The page that tells how long things are kept: rules, a look at what they would delete, and the ends of a project."""

import zipfile
from datetime import timedelta
from io import BytesIO

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client
from django.utils import timezone

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams.models import RetentionRun
from reflection_app.teams.retention import carry_out_retention
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db
PAGE = "/p/kept/settings/keeping/"
DAYS = {
    "runs_days": "30",
    "transcripts_days": "",
    "tool_failures_days": "",
    "deliveries_days": "30",
    "traces_days": "30",
    "notifications_days": "90",
}


@pytest.fixture
def admin(client: Client) -> Client:
    project = given.scripted_project(
        "kept", {"attempt-1/answer": "x", "attempt-1/critique": critique(95, approved=True)}
    )
    run = given.advanced_run(project)
    then = timezone.now() - timedelta(days=40)
    Task.objects.filter(pk=run.task_id).update(created_at=then)
    Run.objects.filter(pk=run.pk).update(created_at=then, finished_at=then)
    return given.logged_in(client, project)


def test_what_new_rules_would_delete_is_shown_before_they_are_saved(admin: Client) -> None:
    page = admin.post(PAGE, DAYS)
    assert page.status_code == 200
    assert "Nothing was saved yet." in page.text
    assert '<th scope="row">Runs</th><td class="num">1</td>' in page.text
    assert Project.objects.get().get_retention().runs_days is None
    admin.post(PAGE, DAYS | {"confirmed": "yes"})
    assert Project.objects.get().get_retention().runs_days == 30
    assert Run.objects.exists(), "a worker deletes, not the page"
    assert AuditEntry.objects.get(action="settings.changed").after["retention"]["runs_days"] == 30


def test_rules_that_delete_nothing_are_saved_at_once(admin: Client) -> None:
    admin.post(PAGE, DAYS | {"runs_days": "60"})
    assert Project.objects.get().get_retention().runs_days == 60
    assert "Nothing to delete." in admin.get(PAGE).text


def test_what_is_due_is_deleted_now_and_told(admin: Client) -> None:
    admin.post(PAGE, DAYS | {"confirmed": "yes"})
    assert (
        "Deletion in progress. Reload this page later." in admin.post("/p/kept/settings/keeping/now/", follow=True).text
    )
    carry_out_retention(RetentionRun.objects.get().pk)
    assert not Run.objects.exists()
    assert "Runs: 1" in admin.get(PAGE).text


@pytest.mark.parametrize("typed", ["3651", "ten"])
def test_a_number_of_days_that_is_none_is_told_at_its_field(admin: Client, typed: str) -> None:
    page = admin.post(PAGE, DAYS | {"runs_days": typed})
    assert page.status_code == 400
    assert "Enter a whole number from 1 to 3,650, or leave empty to retain data forever." in page.text
    assert f'value="{typed}"' in page.text
    assert Project.objects.get().get_retention().runs_days is None


def test_a_project_is_deleted_by_typing_its_name(admin: Client) -> None:
    page = "/p/kept/settings/keeping/delete-project/"
    refused = admin.post(page, {"typed_name": "kept"})
    assert refused.status_code == 400
    assert "Type the exact project name: Kept" in refused.text
    told = admin.post(page, {"typed_name": "Kept"}, follow=True)
    assert "Project “Kept” deleted." in told.text
    assert admin.get(PAGE).status_code == 404


def test_the_project_is_downloaded_whole(admin: Client) -> None:
    answer = admin.get(PAGE + "project.zip")
    assert answer["Content-Disposition"] == 'attachment; filename="project-kept.zip"'
    with zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:  # type: ignore[attr-defined]
        assert archive.testzip() is None
        assert len(archive.read("runs.jsonl").splitlines()) == 1
    assert AuditEntry.objects.filter(action="project.exported").count() == 1


@pytest.mark.django_db(transaction=True)
def test_it_is_sent_piece_by_piece_by_a_server_that_waits_for_nobody() -> None:
    project = given.project("kept")
    admin = given.member(project, Role.ADMIN)

    async def downloaded() -> bytes:
        client = AsyncClient()
        await client.aforce_login(admin)
        answer = await client.get(PAGE + "project.zip")
        return b"".join([piece async for piece in answer.streaming_content])  # type: ignore[attr-defined]

    with zipfile.ZipFile(BytesIO(async_to_sync(downloaded)())) as archive:
        assert "manifest.json" in archive.namelist()
