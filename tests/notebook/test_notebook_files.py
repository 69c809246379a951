"""The notebook as files, over REST."""

import base64
import json

import pytest

from notebook_app.models import Entry
from reflection_app.core.models import Project, Scope
from reflection_app.notebook.proposing import carry_out_import
from tests import given
from tests.api.caller import Caller
from tests.notebook.interchange.test_reading import MARKDOWN, NOTE, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return given.project()


@pytest.fixture
def admin(project: Project) -> Caller:
    return given.caller(project, [Scope.ADMIN])


def test_files_are_read_shown_and_carried_out(admin: Caller) -> None:
    files = [{"name": "nb.json", "content": json.dumps(NOTE)}, {"name": "x.txt", "content": "?"}]
    found = admin.post("notebook/imports", {"files": files})
    assert found.status == 201
    shown = found.body
    assert (shown["state"], shown["counts"]) == ("previewed", {"add": 1})
    assert [(one["kind"], one["step"]) for one in shown["entries"]] == [("error_note", "add")]
    assert shown["problems"][0]["file"] == "x.txt"
    begun = admin.post(f"notebook/imports/{shown['id']}/apply", {})
    assert (begun.status, begun.body["state"]) == (202, "applying")
    carry_out_import(shown["id"])
    done = admin.get(f"notebook/imports/{shown['id']}").body
    assert (done["state"], done["counts"], done["done"]) == ("applied", {"add": 1}, 1)
    assert Entry.objects.get().state == "proposed"


def test_an_archive_comes_in_base64(admin: Caller) -> None:
    packed = base64.b64encode(zipped({"a.md": MARKDOWN}).content).decode()
    shown = admin.post("notebook/imports", {"files": [{"name": "n.zip", "content_base64": packed}]}).body
    assert [one["name"] for one in shown["entries"]] == ["Stopping the search too early"]
