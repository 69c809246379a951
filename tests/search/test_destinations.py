"""Pages and actions that are found by what people call them."""

import pytest
from django.test import Client
from django.urls import URLPattern
from django.utils.translation import override

from reflection_app.core.models import Membership, Role
from reflection_app.search.destinations import may_open, offered
from reflection_app.web.access import DeskRequest, Place, place_of
from reflection_app.web.pages import Page, all_pages
from reflection_app.web.urls import project_pages
from tests import given

pytestmark = pytest.mark.django_db
# Pages without an id in their address that are no place to go to: they change something, or are parts of others.
NO_DESTINATION = {
    # Addresses of removed pages, which redirect.
    "import_judgements",
    "judged_items",
    "referee_metrics",
    "lesson_metrics",
    "correction_metrics",
    "unread_spans",
    "search",
    "next_review",
    "peek_review",
    "next_pair",
    "unskip_pairs",
    "unskip_reviews",
    "start_bulk",
    "new_bulk",
    "curate_entries",
    "add_builtins",
    "keep_secret",
    "delete_old",
    "remove_demo",
    "project_export",
    "create_key",
    "create_invitation",
    "waiting_goals",
    "save_guidelines",
    "new_dashboard",
    "navigation_news",
    "new_view",
}


def place_for(role: Role) -> tuple[Place, DeskRequest]:
    user = given.member(given.project(), role)
    request = DeskRequest()
    request.user = user
    return place_of(request, Membership.objects.select_related("project").get(user=user)), request


def found(typed: str, role: Role = Role.ADMIN) -> list[str]:
    place, request = place_for(role)
    return [str(one.page.title) for one in offered(place, request.user, typed)]


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("task", "New task"),
        ("create key", "API keys"),
        ("2fa", "Two-factor login"),
        ("任务", "New task"),
        ("export", "Import and export"),
    ],
)
def test_they_are_found_by_their_names_and_by_other_words(typed: str, title: str) -> None:
    assert title in found(typed)


def test_what_is_named_so_comes_before_what_is_also_called_so() -> None:
    assert found("rev")[0] in {"Reviews", "Review policy"}
    assert found("overview")[0] == "Overview"
    assert found("qqq") == found("") == found("%") == []


def test_names_are_in_the_readers_language_and_found_in_both() -> None:
    place, request = place_for(Role.ADMIN)
    with override("zh-hans"):
        by_chinese = [str(one.page.title) for one in offered(place, request.user, "评审策略")]
        by_english = [str(one.page.title) for one in offered(place, request.user, "review policy")]
    assert by_chinese[0] == by_english[0]
    assert not by_chinese[0].isascii()


EVERY_ROLE = pytest.mark.exhaustive("every page as every role; who may least is tried without")


@pytest.mark.parametrize(
    "role", [pytest.param(role, marks=() if role is Role.VIEWER else EVERY_ROLE) for role in Role], ids=str
)
def test_nobody_is_offered_what_they_may_not_open(client: Client, role: Role) -> None:
    place, request = place_for(role)
    client.force_login(request.user)
    for page in all_pages().values():
        status = client.get(page.path(place.project)).status_code
        may = may_open(page, place, request.user)
        assert status == 200 if may else status in {403, 302}, page.name


def test_every_page_that_one_can_go_to_is_found() -> None:
    """Whoever adds a page without an id in its address gives it a title there, or adds it to those named here."""
    plain = [page for page in project_pages if isinstance(page, URLPattern) and not page.pattern.converters]
    assert {str(page.name) for page in plain if not isinstance(page, Page)} == NO_DESTINATION
