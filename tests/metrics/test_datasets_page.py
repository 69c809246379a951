"""Data sets in the browser: the first rows, their files, and what is wrong with a filter."""

import json

import pytest
from django.test import Client

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.loops.verdicts import Verdict as VerdictName
from tests import given
from tests.metrics.settled import let_settle
from tests.reviews.reviewed import criticised, decide, review_of

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/p/sets/metrics/datasets/"


@pytest.fixture
def project() -> Project:
    return given.project("sets")


def decided(project: Project, objective: str = "Write a haiku.") -> None:
    run = criticised(project)
    run.task.objective = objective
    run.task.save()
    decide(review_of(run), VerdictName.REVISE)
    let_settle()


def test_the_first_rows_are_shown_and_the_file_has_them_all(client: Client, project: Project) -> None:
    decided(project)
    page = given.logged_in(client, project).get(f"{PAGE}?set=critic&anonymous=true").text
    assert "Write a haiku." in page
    assert 'metrics/datasets/critic.csv?anonymous=true"' in page
    assert 'Desk().dataset("critic", anonymous=True)' in page
    assert "/api/v1/datasets/critic/export?anonymous=true&amp;format=jsonl" in page
    answer = client.get(f"{PAGE}critic.jsonl?anonymous=true")
    assert answer["Content-Disposition"].startswith('attachment; filename="critic-sets-')
    [row] = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
    assert (row["objective"], row["human_verdict"]) == ("Write a haiku.", "REVISE")
    entry = AuditEntry.objects.get(action="dataset.exported")
    assert entry.after["dataset"] == "critic"
    assert client.get(f"{PAGE}runs.csv").getvalue().startswith(b"id,at,")


def test_a_filter_that_cannot_be_understood_is_named_and_gives_no_file(client: Client, project: Project) -> None:
    page = given.logged_in(client, project).get(f"{PAGE}?metadata=%7Bx&agent=kept")
    assert page.status_code == 400
    assert "must be a JSON object" in page.text
    assert 'value="kept"' in page.text
    sent_back = client.get(f"{PAGE}runs.csv?metadata=%7Bx&agent=kept")
    assert sent_back.status_code == 302
    assert "set=runs" in sent_back["Location"]
    assert "agent=kept" in sent_back["Location"]
    assert client.get(f"{PAGE}secrets.csv").status_code == 404
    assert client.get(f"{PAGE}runs.exe").status_code == 404
    assert client.get(f"{PAGE}?set=secrets").status_code == 200


def test_hostile_text_is_inert_and_another_project_has_no_rows(client: Client, project: Project) -> None:
    decided(project, given.HOSTILE)
    page = given.logged_in(client, project, Role.VIEWER).get(f"{PAGE}?set=critic&agent=%22%3E%3Cscript%3E").text
    assert "<script>alert" not in page
    assert '"><script>' not in page
    page = client.get(f"{PAGE}?set=critic").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    stranger = Client()
    given.logged_in(stranger, given.project("other"))
    assert stranger.get(PAGE).status_code == 404
    assert stranger.get(f"{PAGE}runs.csv").status_code == 404
    assert "No rows yet" in stranger.get("/p/other/metrics/datasets/?set=critic").text
