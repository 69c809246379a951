"""The whole project as a file, for a pipeline that may have it."""

import zipfile
from io import BytesIO

import pytest
from django.test import Client

from reflection_app.core.audit import AuditEntry
from tests import given

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/api/v1/export/project.zip"


def test_an_admins_key_gets_the_whole_of_its_own_project(client: Client) -> None:
    project = given.unsure_project("exported")
    run = given.advanced_run(project)
    given.advanced_run(given.unsure_project("another"))
    _key, secret = given.api_key(project, ["admin"])
    answer = client.get(PATH, headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
    with zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:  # type: ignore[attr-defined]
        [line] = archive.read("runs.jsonl").splitlines()
    assert str(run.pk) in line.decode()
    assert secret not in str(line)
    assert AuditEntry.objects.get(action="project.exported").actor_label.startswith("key ")
