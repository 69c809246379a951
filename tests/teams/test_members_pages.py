"""Members and projects on the pages: who may what, invitations by link, and the last admin who stays."""

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Membership, Project, Role
from reflection_app.teams.models import Invitation
from tests import given

pytestmark = pytest.mark.django_db
SIGN_UP = {"username": "new-one", "email": "", "password1": given.PASSWORD, "password2": given.PASSWORD}


@pytest.fixture
def project() -> Project:
    return given.project("team", name="The Team")


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def invite(admin: Client, **typed: str) -> str:
    """The path of a new invitation's link, read from the page that shows it."""
    typed = {"role": "reviewer", "days": "7", "email": ""} | typed
    page = admin.post("/p/team/settings/members/invite/", typed, follow=True)
    assert page.context["link"] in page.text
    return str(page.context["link"]).removeprefix("http://testserver")


def test_an_admin_changes_a_role_and_removes_a_member(admin: Client, project: Project) -> None:
    user = given.member(project, Role.VIEWER, user=given.user("ben"))
    admin.post(f"/p/team/settings/members/{user.pk}/role/", {"role": "curator"})
    admin.post(f"/p/team/settings/members/{user.pk}/remove/")
    assert not Membership.objects.filter(user=user).exists()
    trail = list(AuditEntry.objects.order_by("created_at").values_list("action", "before", "after"))
    assert trail == [
        ("member.role_changed", {"name": "ben", "role": "viewer"}, {"name": "ben", "role": "curator"}),
        ("member.removed", {"name": "ben", "role": "curator"}, {}),
    ]


def test_the_last_admin_neither_leaves_nor_takes_a_lesser_role(admin: Client, project: Project) -> None:
    own = project.memberships.get().user
    given.member(project, Role.ADMIN, user=given.user("switched-off", is_active=False))
    for path, data in (("role/", {"role": "viewer"}), ("remove/", {})):
        page = admin.post(f"/p/team/settings/members/{own.pk}/{path}", data)
        assert page.status_code == 409
        assert "last admin" in page.text
    assert Membership.objects.get(user=own).role == Role.ADMIN


@pytest.mark.parametrize(("path", "data"), [("role/", {"role": "curator"}), ("remove/", {})])
def test_no_link_leads_an_admin_back_to_what_they_lost(
    admin: Client, project: Project, path: str, data: dict[str, str]
) -> None:
    other = given.member(project, Role.ADMIN, user=given.user("ben"))
    guest = Client()
    guest.force_login(other)
    link = invite(guest, role="admin")
    kept = invite(admin)
    admin.post(f"/p/team/settings/members/{other.pk}/{path}", data)
    assert guest.get(link).status_code == 404
    assert Client().get(kept).status_code == 302
    assert AuditEntry.objects.filter(action="invitation.revoked").exists()


def test_a_viewer_leaves(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.VIEWER)
    own = project.memberships.get().user
    client.post(f"/p/team/settings/members/{own.pk}/remove/")
    assert client.get("/p/team/").status_code == 404
    assert AuditEntry.objects.get().action == "member.left"


def test_a_link_is_shown_once_and_kept_hashed(admin: Client) -> None:
    path = invite(admin)
    assert path not in admin.get("/p/team/settings/members/").text
    invitation = Invitation.objects.get()
    assert invitation.digest not in path
    assert path.split("/")[2] not in str(invitation.__dict__)


def test_who_has_an_account_joins_by_a_press_of_a_button(admin: Client) -> None:
    path, guest = invite(admin, role="curator"), Client()
    user = given.user("carl")
    guest.force_login(user)
    page = guest.get(path, follow=True)
    assert "Join The Team" in page.text
    assert not Membership.objects.filter(user=user).exists()
    page = guest.post("/invitations/", follow=True)
    assert page.redirect_chain == [("/p/team/", 302)]
    assert Membership.objects.get(user=user).role == Role.CURATOR
    assert Invitation.objects.get().accepted_by == user
    assert guest.get(path).status_code == 404
    actions = AuditEntry.objects.order_by("created_at").values_list("action", flat=True)
    assert list(actions) == ["invitation.created", "member.added", "invitation.accepted"]


def test_who_has_no_account_makes_one_and_is_in(admin: Client) -> None:
    path, guest = invite(admin), Client()
    assert "/account/signup/" in guest.get(path, follow=True).text
    page = guest.post("/account/signup/", SIGN_UP)
    assert page["Location"] == "/p/team/"
    assert guest.get("/p/team/").status_code == 200
    assert Membership.objects.get(user__username="new-one").role == Role.REVIEWER
    assert Client().post("/login/", {"username": "new-one", "password": given.PASSWORD}).status_code == 302


def test_without_an_invitation_nobody_makes_an_account(client: Client, admin: Client) -> None:
    guest = Client()
    for ask in (guest.get, guest.post):
        assert "Invitation required" in ask("/account/signup/", SIGN_UP).text
    path = invite(admin)
    guest.get(path)
    Invitation.objects.update(revoked_at=timezone.now())
    assert "Invitation required" in guest.post("/account/signup/", SIGN_UP).text
    assert not User.objects.filter(username="new-one").exists()


def test_an_expired_link_is_of_no_use(admin: Client) -> None:
    path = invite(admin)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page = Client().get(path)
    assert page.status_code == 404
    assert "Invitation no longer valid" in page.text


def test_an_invitation_never_lowers_a_role(admin: Client, project: Project) -> None:
    own = project.memberships.get().user
    admin.get(invite(admin, role="viewer"))
    admin.post("/invitations/")
    assert Membership.objects.get(user=own).role == Role.ADMIN


def test_an_invitation_for_an_address_takes_the_account_that_confirmed_it(admin: Client, settings: Settings) -> None:
    settings.MAIL_OPTIONS = {"host": "127.0.0.1", "port": 1}
    path, guest, user = invite(admin, email="Dora@example.org"), Client(), given.user("dora")
    guest.force_login(user)
    address = EmailAddress.objects.create(user=user, email="dora@example.org", verified=False, primary=True)
    assert "has not confirmed this address" in guest.get(path, follow=True).text
    assert guest.post("/invitations/").status_code == 403
    assert not Membership.objects.filter(user=user).exists()
    EmailAddress.objects.filter(pk=address.pk).update(verified=True)
    assert guest.post("/invitations/").status_code == 302
    assert Membership.objects.filter(user=user).exists()


def test_an_account_made_by_an_invitation_has_its_address(admin: Client, settings: Settings) -> None:
    settings.OIDC_APPS = [{"provider_id": "x", "name": "X"}]
    guest = Client()
    guest.get(invite(admin, email="dora@example.org"))
    for email in ("", "other@example.org"):
        page = guest.post("/account/signup/", SIGN_UP | {"email": email})
        assert "The invitation is for dora@example.org." in page.text
    page = guest.post("/account/signup/", SIGN_UP | {"email": "dora@example.org"})
    assert page["Location"] == "/invitations/"
    assert not Membership.objects.filter(user__username="new-one").exists()


def test_where_nobody_could_confirm_an_address_none_is_asked_for(admin: Client) -> None:
    page = admin.post("/p/team/settings/members/invite/", {"role": "viewer", "days": "7", "email": "a@example.org"})
    assert page.status_code == 400


def test_staff_make_projects_and_are_their_admins(client: Client) -> None:
    staff = given.user("boss", is_staff=True)
    client.force_login(staff)
    assert "Create project" in client.get("/").text
    page = client.post("/projects/new/", {"name": "Ärger & Söhne", "slug": ""}, follow=True)
    assert page.redirect_chain == [("/p/arger-sohne/settings/members/", 302)]
    assert Membership.objects.get(user=staff).role == Role.ADMIN
    again = client.post("/projects/new/", {"name": "Ärger & Söhne", "slug": ""})
    assert again["Location"] == "/p/arger-sohne-2/settings/members/"
    assert "Ärger &amp; Söhne" in client.get("/p/arger-sohne-2/").text
    assert client.post("/projects/new/", {"name": "项目"})["Location"] == "/p/project/settings/members/"
    actions = AuditEntry.objects.order_by("created_at").values_list("action", flat=True)
    assert list(actions)[:2] == ["project.created", "member.added"]


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": "x" * 121, "slug": ""}, "name"),
        ({"name": "x", "slug": "team"}, "slug"),
        ({"name": "x", "slug": "A B"}, "slug"),
        ({"name": "x", "slug": "x" * 61}, "slug"),
    ],
)
def test_a_project_that_cannot_be_is_refused_at_its_field(
    client: Client, project: Project, typed: dict[str, str], field: str
) -> None:
    client.force_login(given.user(is_staff=True))
    page = client.post("/projects/new/", typed)
    assert page.status_code == 400
    assert f"error-{field}" in page.text
    assert Project.objects.count() == 1


def test_who_makes_projects_is_the_operators_to_say(client: Client, settings: Settings) -> None:
    client.force_login(given.user())
    assert client.get("/projects/new/").status_code == 403
    assert client.post("/projects/new/", {"name": "Mine"}).status_code == 403
    settings.PROJECT_CREATORS = "everyone"
    assert client.get("/projects/new/").status_code == 200
    assert client.post("/projects/new/", {"name": "Mine"}).status_code == 302
