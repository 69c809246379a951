"""Bringing entries in from files by the page, and taking them along."""

import base64
import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from notebook_app.models import Entry, ImportBatch
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.notebook.proposing import carry_out_import
from tests import given
from tests.api.caller import Caller
from tests.notebook.interchange.test_reading import MARKDOWN, NOTE, zipped

pytestmark = pytest.mark.django_db
PAGE = "/p/nb/notebook/import/"


@pytest.fixture
def project() -> Project:
    return given.project("nb")


def uploaded(name: str, content: object) -> SimpleUploadedFile:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return SimpleUploadedFile(name, text.encode())


def handed_in(client: Client, *files: SimpleUploadedFile) -> str:
    """The page that shows the import."""
    response = client.post(PAGE, {"files": list(files)})
    assert response.status_code == 302, response.text
    return str(response["Location"])


def test_an_import_is_shown_then_carried_out_then_counted(client: Client, project: Project) -> None:
    given.logged_in(client, project, role=Role.CURATOR)
    shown = handed_in(client, uploaded("nb.json", NOTE), uploaded("p.md", MARKDOWN), uploaded("x.txt", "?"))
    page = client.get(shown).text
    assert "is none of .json, .jsonl, .md and .zip" in page
    assert not Entry.objects.exists()
    assert client.post(f"{shown}apply/").status_code == 302
    carry_out_import(ImportBatch.objects.get().pk)
    page = client.get(shown, headers={"HX-Request": "true"}).text
    assert "2 added" in page
    assert set(Entry.objects.values_list("state", flat=True)) == {"proposed"}
    assert {"import.previewed", "import.begun"} <= set(AuditEntry.objects.values_list("action", flat=True))


def test_without_a_file_or_with_too_much_nothing_is_kept(client: Client, project: Project) -> None:
    given.logged_in(client, project, role=Role.CURATOR)
    response = client.post(PAGE)
    assert (response.status_code, "choose at least one file" in response.text) == (400, True)
    large = SimpleUploadedFile("a.jsonl", b" " * 20_000_001)
    assert (
        "At most 200 files with 20 MB in total. Split them into several imports."
        in client.post(PAGE, {"files": [large]}).text
    )
    assert not ImportBatch.objects.exists()


def test_hostile_names_and_words_stay_words(client: Client, project: Project) -> None:
    given.logged_in(client, project, role=Role.CURATOR)
    evil = "<script>alert(1)</script>"
    shown = handed_in(client, uploaded("x.json", NOTE | {"name": evil}), uploaded("<b>.txt", "x"))
    page = client.get(shown).text
    assert evil not in page
    assert "&lt;script&gt;" in page
    assert "<b>.txt" not in page


def test_the_notebook_is_taken_along_as_lines_and_as_an_archive(client: Client, project: Project) -> None:
    given.logged_in(client, project, role=Role.CURATOR)
    client.post(f"{handed_in(client, uploaded('nb.json', NOTE), uploaded('p.md', MARKDOWN))}apply/")
    carry_out_import(ImportBatch.objects.get().pk)
    lines = client.get("/p/nb/notebook/notebook.jsonl")
    assert lines["Content-Disposition"] == 'attachment; filename="notebook-nb.jsonl"'
    assert [json.loads(line)["kind"] for line in lines.text.splitlines()] == ["error_note", "anti_pattern"]
    names = zipfile.ZipFile(io.BytesIO(client.get("/p/nb/notebook/notebook.zip").content)).namelist()
    assert {"index.json", "entries.jsonl"} < set(names)
    assert [name.split("/")[0] for name in names[2:]] == ["entries", "anti_patterns"]
    assert client.get("/p/nb/notebook/notebook.exe").status_code == 404
    assert client.get("/p/nb/notebook/notebook.jsonl?state=approved").text == ""


def test_an_archive_comes_over_rest_in_base64(admin: Caller) -> None:
    packed = base64.b64encode(zipped({"a.md": MARKDOWN}).content).decode()
    shown = admin.post("notebook/imports", {"files": [{"name": "n.zip", "content_base64": packed}]}).body
    assert [one["name"] for one in shown["entries"]] == ["Stopping the search too early"]
