"""Each page in each language, as its accessibility tree: what it shows, by roles and names.

Whoever changes a page renews what is stored, and reads the difference in review:
`RENEW_SNAPSHOTS=yes .venv/bin/python -m pytest tests/pages`.
"""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern

from reflection_app.core.models import Role
from reflection_app.web.urls import project_pages
from tests import given
from tests.house.test_page_addresses import WRITTEN
from tests.pages.accessibility import snapshot
from tests.pages.scene import addresses_of

pytestmark = pytest.mark.django_db
STORED = Path(__file__).with_name("snapshots")
IS_RENEWING = bool(os.environ.get("RENEW_SNAPSHOTS"))
NOT_PAGES = ("/api/", "/p/", "/v1/", "/mcp", "/healthz", "/readyz")
# The pages that are not of a project and need nothing in their address.
OWN_PAGES = {
    name: address
    for address, _, name in (line.partition(" ") for line in WRITTEN.read_text().splitlines())
    if "<" not in address and not address.startswith(NOT_PAGES)
}
PAGES = [*OWN_PAGES, *(str(page.name) for page in project_pages if isinstance(page, URLPattern))]


@pytest.fixture(scope="module", autouse=True)
def _numbers_of_one_length() -> Iterator[None]:
    """Lists are sorted by names, and these have numbers."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(given, "_numbers", count(100_000))
        yield


@pytest.fixture(scope="module")
def reader(module_transaction: None) -> User:
    return User.objects.create_user("reader", password="not-asked-for")


@pytest.fixture(scope="module")
def addresses(reader: User) -> dict[str, str]:
    project = given.unsure_project("shown")
    found = addresses_of(project)
    given.member(project, Role.ADMIN, user=reader)
    return OWN_PAGES | found


@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_is_stored(name: str, language: str, reader: User, addresses: dict[str, str]) -> None:
    shown = shown_to(reader, addresses[name], language) or shown_to(None, addresses[name], language)
    stored = STORED / language / f"{name}.yaml"
    if IS_RENEWING:
        renew(stored, shown)
    assert (stored.read_text().splitlines() if stored.exists() else []) == shown.splitlines(), (
        "If it is meant: RENEW_SNAPSHOTS=yes .venv/bin/python -m pytest tests/pages"
    )


def renew(stored: Path, shown: str) -> None:
    if shown:
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(shown)
    else:
        stored.unlink(missing_ok=True)


def test_no_page_is_stored_that_there_is_not() -> None:
    assert {file.stem for file in STORED.rglob("*.yaml")} <= set(PAGES)


def shown_to(user: User | None, address: str, language: str) -> str:
    """The tree of the page; empty where the address leads elsewhere, only acts, or gives a file."""
    client = Client(headers={"Accept-Language": language})
    if user is not None:
        client.force_login(user)
    answer = client.get(address)
    if answer.streaming:
        # What streams from a file closes it at its end.
        b"".join(answer)
        return ""
    is_page = answer.status_code == 200 and answer["Content-Type"].startswith("text/html")
    return snapshot(answer.text) if is_page and answer.text.strip() else ""
