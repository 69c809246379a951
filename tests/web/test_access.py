"""Every page of a project, walked by those who may not see it."""

from uuid import uuid4

import pytest
from django.test import Client

from reflection_app.core.models import Project, Role
from reflection_app.web.urls import project_pages
from tests import given
from tests.pages.scene import addresses_of

pytestmark = pytest.mark.django_db
FAILURE_PAGES = ("tool_failure", "tool_outcome")
TOOL_PAGES = {"tool", "edit_tool", "try_tool", "switch_tool", "delete_tool"}
REPORT_PAGES = {"report", "report_document", "report_markdown"}
PROTOCOL_PAGES = {"question", "answer_question", "decide_instruction", "correct_class"}
ENTRY_PAGES = {"entry", "entry_news", "edit_entry", "merge_entry", "split_entry"}
PEOPLE_PAGES = {"comments", "edit_comment", "take_back_comment", "assign_review"}
MANAGE = ("create_invitation", "change_member", "remove_member", "revoke_invitation")
CHANGE_TOOLS = ("add_builtins", "new_tool", "import_tools", "keep_secret", "delete_secret")


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
    own = given.project("own")
    given.logged_in(client, own)
    for name, address in addresses.items():
        if name in {
            "run",
            "step",
            "cancel_run",
            "run_goes_on",
            "redo_run",
            "ask_for_review",
            "ticket",
            "review",
            "revoke_key",
            "change_member",
            "remove_member",
            "revoke_invitation",
            "delete_judgements",
            *PEOPLE_PAGES,
            *ENTRY_PAGES,
            *TOOL_PAGES,
            "delete_secret",
            *FAILURE_PAGES,
            *REPORT_PAGES,
            *PROTOCOL_PAGES,
        }:
            acts = {"try_tool", "switch_tool", "tool_outcome", *PROTOCOL_PAGES - {"question"}}
            acts |= PEOPLE_PAGES - {"comments", "edit_comment"} | {"change_member", "delete_judgements"}
            ask = client.post if name in acts else client.get
            answer = ask(address.replace("/p/walked/", "/p/own/"), headers={"HX-Request": "true"})
            assert answer.status_code == 404, name


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


def test_a_reviewer_cannot_change_settings_or_keys(client: Client, walked: Project, addresses: dict[str, str]) -> None:
    client.force_login(given.member(walked, Role.REVIEWER))
    for name in (*MANAGE, "settings", "create_key", "revoke_key", *CHANGE_TOOLS, *TOOL_PAGES - {"tool"}):
        assert client.post(addresses[name]).status_code == 403, name


def test_an_unknown_id_is_not_found(client: Client) -> None:
    project = given.project("known")
    given.logged_in(client, project)
    assert client.get(f"/p/known/runs/{uuid4()}/").status_code == 404
    assert client.get(f"/p/known/reviews/{uuid4()}/").status_code == 404
