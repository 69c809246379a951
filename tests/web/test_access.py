"""Every page of a project, walked by those who may not see it."""

import pytest
from django.test import Client
from django.urls import URLPattern

from reflection_app.core.models import Project
from reflection_app.web.urls import project_pages
from tests import given
from tests.pages.scene import addresses_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def walked(module_transaction: None) -> Project:
    return given.unsure_project("walked")


@pytest.fixture(scope="module")
def addresses(walked: Project) -> dict[str, str]:
    """The address of each page, with ids of things that exist."""
    return addresses_of(walked)


def test_the_walk_covers_every_page(addresses: dict[str, str]) -> None:
    assert len(addresses) == len(project_pages) >= 15


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_member_of_another_project_finds_nothing(client: Client, addresses: dict[str, str], method: str) -> None:
    given.logged_in(client, given.project())
    statuses = {name: getattr(client, method)(address).status_code for name, address in addresses.items()}
    assert set(statuses.values()) == {404}, statuses


@pytest.mark.parametrize("method", ["get", "post"])
def test_whoever_is_not_logged_in_is_asked_to(client: Client, addresses: dict[str, str], method: str) -> None:
    for address in addresses.values():
        response = getattr(client, method)(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


def test_a_projects_things_are_not_found_under_another_slug(client: Client, addresses: dict[str, str]) -> None:
    given.logged_in(client, given.project("own"))
    pages = [page for page in project_pages if isinstance(page, URLPattern)]
    of_things = {str(page.name) for page in pages if any(one.endswith("_id") for one in page.pattern.converters)}
    assert len(of_things) > 50
    found = {}
    for name in of_things:
        address = addresses[name].replace("/p/walked/", "/p/own/")
        opened, sent = (ask(address, headers={"HX-Request": "true"}).status_code for ask in (client.get, client.post))
        # What only acts leads elsewhere when it is opened; what is only read takes no POST.
        if sent != 404 and (opened, sent) != (404, 405):
            found[name] = (opened, sent)
    # Of two the body is read first; the others are addresses of removed pages, which redirect.
    assert found == {
        "compare_pair": (404, 409),
        "curate_entry": (302, 400),
        "judged_item": (301, 405),
        "judgements_shown": (301, 405),
        "unread_span": (302, 405),
    }


def test_an_address_that_only_acts_leads_to_its_page(
    client: Client, walked: Project, addresses: dict[str, str]
) -> None:
    given.logged_in(client, walked)
    pages = {"close_ticket": "ticket", "next_review": "reviews", "create_key": "keys"}
    for name in (
        "claim_review",
        "release_review",
        "keep_review",
        "decide_review",
        "undo_review",
        *pages,
    ):
        assert client.get(addresses[name])["Location"] == addresses[pages.get(name, "review")]
        assert client.put(addresses[name]).status_code == 405
