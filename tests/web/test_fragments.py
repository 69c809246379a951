"""Addresses that answer a part of a page: opened by hand, reloaded or restored, each shows its whole page."""

import pytest
from django.test import Client
from django.urls import URLPattern

from reflection_app.core.models import Project, Role
from reflection_app.web.urls import project_pages, urlpatterns
from tests import given
from tests.web.test_access import addresses, walked

__all__ = ["addresses", "walked"]

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true"}
RESTORED = {"HX-Request": "true", "HX-History-Restore-Request": "true"}


def is_whole(page: str) -> bool:
    return page.lstrip().lower().startswith("<!doctype html")


def test_every_address_that_is_restored_answers_with_a_whole_page(client: Client, addresses: dict[str, str]) -> None:
    """A plain request lacks the headers by which a restored one could be taken for a part."""
    client.force_login(given.member(Project.objects.get(slug="walked"), Role.ADMIN))
    torn: dict[str, str] = {}
    shown = 0
    for name, address in addresses.items():
        answer = client.get(address, headers=RESTORED)
        if answer.streaming:
            # What streams from a file closes it at its end.
            b"".join(answer)
        elif answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            torn |= {} if is_whole(answer.text) else {name: answer.text[:80]}
            shown += 1
    assert not torn
    assert shown > 60


def test_parts_of_pages_are_marked_as_such(client: Client, addresses: dict[str, str]) -> None:
    """A view that answers htmx with a part of a page, and is no page itself, is a `fragment`."""
    client.force_login(given.member(Project.objects.get(slug="walked"), Role.ADMIN))
    marked = {
        str(one.name): one.callback.fragment_of
        for one in project_pages
        if isinstance(one, URLPattern) and hasattr(one.callback, "fragment_of")
    }
    assert marked == {
        "run_reflectors": "run",
        "navigation_news": "project_overview",
        "session_reflectors": "session",
        "entry_news": "entry",
        "conflict_suggestion": "conflict",
    }
    for name, page in marked.items():
        plain, part = client.get(addresses[name]), client.get(addresses[name], headers=PART)
        assert plain["Location"] == addresses[page], name
        # Where nothing changed, there is no news.
        assert part.status_code in {200, 204} or name == "entry_news", name


def test_the_number_at_the_bell_leads_to_the_notifications(client: Client) -> None:
    given.logged_in(client, given.project("belled"))
    assert client.get("/notifications/count/")["Location"] == "/notifications/"
    assert client.get("/notifications/count/", headers=PART).status_code == 200
    assert any(getattr(one.callback, "fragment_of", "") for one in urlpatterns if isinstance(one, URLPattern))
