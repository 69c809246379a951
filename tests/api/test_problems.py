from typing import NoReturn

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import Http404, UnreadablePostError
from django.test import Client
from psycopg.errors import DiskFull
from rest_framework.exceptions import Throttled, ValidationError

from reflection_app.api.problems import problem_of, problem_response
from reflection_app.core import errors
from reflection_app.runs.models import Run
from reflection_app.tasks import api as tasks_api
from reflection_app.tasks import pages as tasks_pages
from tests import given, then
from tests.api.caller import Caller

SECRET = "host=10.0.0.1 password=hunter2"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidInput("x"), 400),
        (errors.NotFound("x"), 404),
        (errors.AlreadyDecided("x"), 409),
        (errors.RunFinished("x"), 409),
        (RequestDataTooBig(SECRET), 413),
        (TooManyFieldsSent(SECRET), 400),
        (UnreadablePostError(SECRET), 400),
        (Http404(SECRET), 404),
        (PermissionDenied(SECRET), 403),
        (Throttled(), 429),
        (ValidationError({"a": ["wrong", "bad"]}), 400),
        (OperationalError(SECRET), 503),
        (RuntimeError(SECRET), 500),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int) -> None:
    problem = problem_of(error)
    assert problem.status == status
    assert problem.title
    assert problem.type.startswith("urn:")
    assert SECRET not in problem.detail


def test_an_unexpected_error_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    response = problem_response(RuntimeError(SECRET), {})
    assert response.status_code == 500
    assert response.content_type == "application/problem+json"
    assert SECRET not in str(response.data)
    assert SECRET in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_database_that_went_away_is_a_problem_that_passes(caller: Caller) -> None:
    with connection.execute_wrapper(_lose_connection):
        then.refused(caller.get("tasks"), 503)
    assert caller.get("tasks").status == 200


def _lose_connection(*_: object) -> NoReturn:
    raise OperationalError(SECRET)


@pytest.mark.django_db
def test_a_database_that_can_only_be_read_is_told_as_such() -> None:
    with pytest.raises(DatabaseError) as raised, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY; DELETE FROM reflection_app_lookbackdue")
    problem = problem_of(raised.value)
    assert (problem.status, "read-only" in problem.detail) == (503, True)


def test_a_full_disk_is_told_as_such() -> None:
    error = OperationalError(SECRET)
    error.__cause__ = DiskFull(SECRET)
    problem = problem_of(error)
    assert (problem.status, "disk is full" in problem.detail) == (503, True)
    assert SECRET not in problem.detail


@pytest.mark.django_db(transaction=True)
def test_what_was_deleted_after_it_was_found_is_not_found(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = given.caller()
    run = given.finished_run(caller.project)
    found = Run.objects.get(pk=run.pk)
    run.task.delete()
    monkeypatch.setattr(tasks_api, "get_run_for", lambda *_: found)
    monkeypatch.setattr(tasks_pages, "get_run_for", lambda *_: found)
    refused = caller.post(f"runs/{run.pk}/redo", {"instructions": "Again."})
    assert (refused.status, refused.body["detail"]) == (404, "Deleted in the meantime.")
    address = f"/p/{caller.project.slug}/runs/{run.pk}/redo/"
    assert given.logged_in(client, caller.project).post(address, {"instructions": "Again."}).status_code == 404
