"""Get started: the first page of an admin, the sample task, and an agent's first request."""

import json
import re
import shlex
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import ApiKey, Project, Role
from reflection_app.runs.models import Run
from tests import given

pytestmark = pytest.mark.django_db
PAGE = "/p/fresh/start/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project() -> Project:
    return given.project("fresh")


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def hidden_fields(page: str, *, to: str) -> dict[str, list[str]]:
    """Return the hidden fields of the form that posts to `to`."""
    form = page.partition(f'action="{to}"')[2].partition("</form>")[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form):
        fields.setdefault(name, []).append(unescape(value))
    return fields


def snippet(page: str, name: str) -> str:
    return unescape(page.partition(f'id="snippet-{name}">')[2].partition("</code>")[0])


def create_key(admin: Client) -> str:
    """Create the key with the page's form, and return the address of the page that shows it."""
    to = "/p/fresh/settings/keys/new/"
    return admin.post(to, hidden_fields(admin.get(PAGE).text, to=to)).headers["Location"]


def test_it_is_the_first_page_of_an_admin_until_the_project_has_begun(admin: Client, project: Project) -> None:
    assert admin.get("/").headers["Location"] == PAGE
    reviewer = given.logged_in(Client(), project, Role.REVIEWER)
    assert reviewer.get("/").headers["Location"] == "/p/fresh/"
    given.api_key(project)
    assert admin.get("/").headers["Location"] == "/p/fresh/"


def test_one_click_runs_the_sample_task(admin: Client) -> None:
    answer = admin.post("/p/fresh/tasks/new/", hidden_fields(admin.get(PAGE).text, to="/p/fresh/tasks/new/"))
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/p/fresh/runs/{run.pk}/"
    assert run.get_spec().tests is not None


def test_the_key_is_shown_once_and_in_every_snippet(admin: Client) -> None:
    address = create_key(admin)
    key = ApiKey.objects.get()
    assert address == f"{PAGE}?key={key.pk}"
    assert AuditEntry.objects.get(action="api_key.created").target_id == key.pk
    page = admin.get(address).text
    secret = page.partition('id="start-secret">')[2].partition("</code>")[0]
    for name in ("curl", "python", "langgraph", "opentelemetry"):
        assert secret in snippet(page, name)
        assert "http://testserver" in snippet(page, name)
    again = admin.get(address).text
    assert secret not in again
    assert key.hint in again


def test_the_curl_snippet_submits_a_task_and_the_check_turns_green(admin: Client) -> None:
    address = create_key(admin)
    command = shlex.split(snippet(admin.get(address).text, "curl").replace("\\\n", ""))
    assert "Waiting" in admin.get(address).text
    assert admin.get(address, headers=HTMX).status_code == 204
    headers = dict(part.split(": ") for part in command if ": " in part and not part.startswith("{"))
    body = json.loads(command[command.index("-d") + 1])
    path = command[1].removeprefix("http://testserver")
    sent = Client().post(path, body, content_type="application/json", headers=headers)
    assert sent.status_code == 201, sent.text
    part = admin.get(address, headers=HTMX).text
    assert "Connected" in part
    assert "hx-get" not in part
    assert "<html" not in part
    assert "Connected" in admin.get(address).text


def test_the_python_snippets_compile(admin: Client) -> None:
    page = admin.get(PAGE).text
    for name in ("python", "langgraph"):
        compile(snippet(page, name), name, "exec")


@pytest.mark.parametrize("named", ["x", "01900000-0000-7000-8000-000000000000", "of another project"])
def test_a_key_that_the_project_does_not_have_is_ignored(admin: Client, named: str) -> None:
    key, _ = given.api_key(given.project("other"))
    page = admin.get(PAGE, {"key": str(key.pk) if " " in named else named})
    assert page.status_code == 200
    assert key.hint not in page.text
    assert "Create a key first." in page.text


def test_the_check_names_the_key_that_sent_the_last_request(admin: Client, project: Project) -> None:
    key, _ = given.api_key(project)
    assert "Create a key first." in admin.get(PAGE).text
    key.last_used_at = timezone.now()
    key.save()
    page = admin.get(PAGE).text
    assert "Connected" in page
    assert key.name in page
