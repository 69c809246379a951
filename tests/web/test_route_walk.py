"""Every page of a project, walked by a member of each role: each gets exactly as far as the matrix says."""

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern

from reflection_app.config.guarded_routes import guarded_routes
from reflection_app.core.models import Project, Role
from reflection_app.core.permissions import GRANTS, Permission
from reflection_app.management.commands.write_reference import REFERENCE, permissions_page
from reflection_app.web.urls import project_pages
from tests import given
from tests.web.test_access import addresses, walked

__all__ = ["addresses", "walked"]

# What each page asks for, by its name.
ASKED: dict[str, dict[str, Permission]] = {
    str(page.name): getattr(page.callback, "permissions", {}) for page in project_pages if isinstance(page, URLPattern)
}

# Without a member, a key or a login link: what these show is nobody's.
OPEN = {
    "/",
    "/healthz",
    "/readyz",
    "/api/v1/schema",
    "/api/v1/docs",
    "/api/v1/",
    "/language/",
    "/digests/<str:token>/end/",
    "/notifications/",
    "/notifications/count/",
    "/notifications/read/",
    "/notifications/<uuid:notice_id>/read/",
}
OF_ACCOUNTS = (
    "/login/",
    "/logout/",
    "/account/",
    "/^account/",
    "/invitations/",
    "/invite/",
    "/join/",
    "/projects/",
    "/profile/",
)
# What one did oneself, and one's own membership, are for every member; others' are not. These pages look whose it is.
LOOKS_ITSELF = {
    *("remove_member", "undo_bulk", "undo_entry", "take_back_comment"),
    *("edit_view", "save_view_filters", "delete_view"),
}


EVERY_ROLE = pytest.mark.exhaustive("every page as every role; who may least is tried without")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "role", [pytest.param(role, marks=() if role is Role.VIEWER else EVERY_ROLE) for role in Role], ids=str
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_role_gets_as_far_as_the_matrix_says(
    client: Client, walked: Project, addresses: dict[str, str], role: Role, method: str
) -> None:
    user = given.member(walked, role)
    needed = {name: asked[method] for name, asked in ASKED.items()}
    wrong = {}
    for name, address in addresses.items():
        # Each anew: some end the session, and some the membership.
        client.force_login(user)
        # What changes something would take it from the next.
        with transaction.atomic():
            answer = client.generic(method, address)
            if answer.streaming:
                # What streams from a file closes it at its end.
                b"".join(answer)
            transaction.set_rollback(True)
        status = answer.status_code
        may = role.rank >= GRANTS[needed[name]].role.rank
        if status >= 500 or (name not in LOOKS_ITSELF and (status == 403) is may):
            wrong[name] = (status, needed[name])
    assert not wrong


def test_every_page_of_a_project_asks_the_matrix() -> None:
    assert len(ASKED) == len(project_pages)
    assert {permission for asked in ASKED.values() for permission in asked.values()} <= set(Permission)


def test_every_route_asks_the_matrix_or_is_named_here_as_open() -> None:
    unasked = {route.path for route in guarded_routes() if route.permission is None}
    assert {path for path in unasked if path not in OPEN and not path.startswith(OF_ACCOUNTS)} == set()


def test_the_written_matrix_is_up_to_date() -> None:
    page = (REFERENCE / "permissions.md").read_text()

    assert page == permissions_page(), "write it again: manage.py write_reference"
