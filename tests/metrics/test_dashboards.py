"""Dashboards: picked, one's own or shared; nobody else's are seen, and nothing typed is lost."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import NotTheAuthor
from reflection_app.core.models import Project, Role
from reflection_app.metrics.dashboards import (
    MOST_OF_ONE,
    DashboardInput,
    delete_dashboard,
    keep_dashboard,
)
from reflection_app.metrics.models import Dashboard
from tests import given

pytestmark = pytest.mark.django_db
NEW = "/p/desk/metrics/dashboards/new/"
TILES = ["figure:success_rate", "chart:outcomes"]


def own(project: Project, client: Client, name: str = "Mine", **fields: Any) -> Dashboard:
    """A dashboard of whoever `client` is logged in as."""
    return Dashboard.objects.create(
        project=project,
        owner_id=int(client.session["_auth_user_id"]),
        owner_label="me",
        name=name,
        tiles=TILES,
        **fields,
    )


def page_of(dashboard: Dashboard, page: str = "dashboard") -> str:
    return reverse(page, args=("desk", dashboard.pk))


def test_what_was_picked_is_shown(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.VIEWER)
    answer = client.post(NEW, {"name": "Mornings", "tile": ["figure:queue_length", *TILES]})
    assert answer.status_code == 302
    dashboard = Dashboard.objects.get()
    assert (dashboard.name, dashboard.tiles) == ("Mornings", ["figure:queue_length", *TILES])
    page = client.get(page_of(dashboard)).content.decode()
    assert page.index("Waiting") < page.index('id="chart-outcomes"')
    assert "Mornings" in client.get("/p/desk/metrics/dashboards/").content.decode()


def test_a_name_that_is_none_or_taken_by_oneself_is_refused_and_the_tiles_stay(
    client: Client, project: Project
) -> None:
    given.logged_in(client, project)
    own(project, client)
    for name in ("   ", "x" * 81, "Mine"):
        answer = client.post(NEW, {"name": name, "tile": TILES})
        assert answer.status_code == 400
        assert b'name="tile" value="chart:outcomes" checked' in answer.content
    keep_dashboard(project, DashboardInput(name="Mine"), actor=Actor(user=given.member(project)))
    assert Dashboard.objects.count() == 2


def test_nobody_else_sees_what_is_not_shared(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.REVIEWER)
    dashboard = own(project, client)
    other = Client()
    given.logged_in(other, project, Role.ADMIN)
    assert other.get(page_of(dashboard)).status_code == 404
    assert "Mine" not in other.get("/p/desk/metrics/dashboards/").content.decode()
    for page in ("edit_dashboard", "drop_dashboard"):
        assert other.post(page_of(dashboard, page), {"name": "Theirs", "tile": TILES}).status_code == 404
    stranger = Client()
    given.logged_in(stranger, given.project())
    assert stranger.get(page_of(dashboard)).status_code == 404


def test_what_is_shared_all_see_and_only_its_owner_and_admins_change(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.REVIEWER)
    dashboard = own(project, client, is_shared=True)
    reader, admin = Client(), Client()
    given.logged_in(reader, project, Role.CURATOR)
    given.logged_in(admin, project, Role.ADMIN)
    assert reader.get(page_of(dashboard)).status_code == 200
    assert reader.post(page_of(dashboard, "edit_dashboard"), {"name": "Theirs"}).status_code == 404
    changed = {"name": "Ours", "tile": TILES[:1], "is_shared": "on"}
    assert admin.post(page_of(dashboard, "edit_dashboard"), changed).status_code == 302
    dashboard.refresh_from_db()
    assert (dashboard.name, dashboard.tiles) == ("Ours", TILES[:1])
    entry = AuditEntry.objects.get(action="dashboard.changed")
    assert (entry.before["name"], entry.after["name"]) == ("Mine", "Ours")
    assert admin.post(page_of(dashboard, "drop_dashboard")).status_code == 302
    assert not Dashboard.objects.exists()
    assert AuditEntry.objects.filter(action="dashboard.deleted").count() == 1


def test_who_only_reads_makes_dashboards_for_themselves_alone(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.VIEWER)
    assert b'name="is_shared"' not in client.get(NEW).content
    answer = client.post(NEW, {"name": "For all", "tile": TILES, "is_shared": "on"})
    assert answer.status_code == 400
    assert "Sharing a dashboard requires permission to review." in answer.content.decode()
    assert not Dashboard.objects.exists()
    assert client.post(NEW, {"name": "For me", "tile": TILES}).status_code == 302


def test_the_rights_are_those_of_the_moment_of_saving(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.ADMIN)
    admin = Actor(user=User.objects.get(pk=int(client.session["_auth_user_id"])))
    reviewer = Client()
    given.logged_in(reviewer, project, Role.REVIEWER)
    dashboard = own(project, reviewer, is_shared=True)
    # Taken back to be its owner's alone, while the admin had the editor open.
    Dashboard.objects.filter(pk=dashboard.pk).update(is_shared=False)
    with pytest.raises(NotTheAuthor):
        keep_dashboard(project, DashboardInput(name="Ours"), actor=admin, dashboard=dashboard)
    with pytest.raises(NotTheAuthor):
        delete_dashboard(dashboard, actor=admin)
    dashboard.refresh_from_db()
    assert dashboard.name == "Mine"


def test_who_saves_what_was_deleted_meanwhile_is_told(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    dashboard = own(project, client)
    Dashboard.objects.all().delete()
    data = DashboardInput(name="Mine", tiles=tuple(TILES))
    with pytest.raises(Exception, match="Not saved: the dashboard no longer exists"):
        keep_dashboard(project, data, actor=Actor(user=given.member(project)), dashboard=dashboard)
    assert client.get(f"/p/desk/metrics/dashboards/{uuid4()}/").status_code == 404


def test_there_is_an_end_to_dashboards(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    for number in range(MOST_OF_ONE):
        own(project, client, name=str(number))
    answer = client.post(NEW, {"name": "One more", "tile": TILES})
    assert answer.status_code == 409
    assert "Delete one first." in answer.content.decode()


def test_tiles_that_are_no_more_are_left_out_and_hostile_names_are_text(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    dashboard = own(project, client, name=given.HOSTILE[:80])
    dashboard.tiles = ["figure:gone", "chart:<b>", "nonsense", *TILES]
    dashboard.save()
    page = client.get(page_of(dashboard)).content.decode()
    assert "<script>alert(1)" not in page
    assert 'id="chart-outcomes"' in page
    assert client.get(page_of(dashboard, "edit_dashboard")).status_code == 200
