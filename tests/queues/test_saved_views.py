"""Saved views on the pages: made of what is shown, opened, changed, shared, deleted; and whose they are."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.queues.models import SavedView
from reflection_app.queues.saving import ViewInput, save_view
from tests import given
from tests.queues.queues import make_queue, reviewer
from tests.reviews.reviewed import client_of
from tests.reviews.test_reviews import together
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db
QUEUE, VIEWS, NEW = "/p/desk/reviews/", "/p/desk/views/", "/p/desk/views/new/"


@pytest.fixture
def me(project: Project) -> Actor:
    return reviewer(project, name="me")


@pytest.fixture
def browser(me: Actor) -> Client:
    return client_of(me)


def test_what_is_shown_is_saved_opened_again_and_changed(browser: Client, project: Project) -> None:
    waiting_rows(project, 4)
    form = browser.get(NEW, {"list": "reviews", "query": "agent=porter&junk=x&sort=oldest"})
    assert 'value="agent=porter&amp;sort=oldest"' in form.text
    typed = {"list": "reviews", "query": "agent=porter&junk=1", "name": " Porters  work "}
    saved = browser.post(NEW, typed)
    view = SavedView.objects.get()
    assert (view.name, view.query, view.is_shared) == ("Porters work", "agent=porter", False)
    assert saved["Location"] == f"{QUEUE}?agent=porter&saved={view.pk}"
    # Another filter: the view is still open, and may be changed.
    assert "Porters work" in browser.get(QUEUE, {"agent": "writer", "saved": str(view.pk)}).text
    browser.post(f"{VIEWS}{view.pk}/filters/", {"query": "agent=writer&saved=x"})
    view.refresh_from_db()
    assert view.query == "agent=writer"
    trail = list(AuditEntry.objects.filter(target_id=view.pk))
    assert {one.action for one in trail} == {"view.saved", "view.changed"}
    # How somebody calls what only they see is nobody else's business.
    assert "Porters work" not in str([(one.before, one.after) for one in trail])


def test_the_way_through_a_saved_view_stays_in_it(browser: Client, project: Project, me: Actor) -> None:
    reviews = waiting_rows(project, 4)
    view = save_view(project, ViewInput(name="Writers", query="agent=writer"), actor=me)
    within = f"agent=writer&saved={view.pk}"
    taken = browser.post("/p/desk/reviews/next/", {"queue": within})
    assert taken["Location"].startswith(f"/p/desk/reviews/{reviews[1].pk}/?queue=agent%3Dwriter%26saved%3D{view.pk}")
    assert f"/p/desk/reviews/?agent=writer&amp;saved={view.pk}" in browser.get(taken["Location"]).text


def test_a_name_is_free_to_others_but_once_ones_own_and_once_shared(browser: Client, project: Project) -> None:
    other = reviewer(project)
    save_view(project, ViewInput(name="Rejected", query="verdict=REJECT"), actor=other)
    assert browser.post(NEW, {"name": "Rejected", "query": "agent=x"}).status_code == 302
    again = browser.post(NEW, {"name": "REJECTED", "query": "agent=y"})
    assert again.status_code == 400
    assert 'value="REJECTED"' in again.text
    assert browser.post(NEW, {"name": "Rejected", "query": "agent=y", "is_shared": "on"}).status_code == 302
    client_of(other).post(NEW, {"name": "rejected", "is_shared": "on"})
    assert SavedView.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_the_same_name_saved_twice_at_once_is_saved_once(project: Project, me: Actor) -> None:
    results = together(*[lambda: save_view(project, ViewInput(name="Twice"), actor=me)] * 2)
    assert sorted(type(result).__name__ for result in results) == ["InvalidInput", "SavedView"]


def test_what_is_ones_own_nobody_else_finds_and_what_is_shared_only_its_maker_and_admins_change(
    project: Project, me: Actor
) -> None:
    own = save_view(project, ViewInput(name="Own"), actor=me)
    shared = save_view(project, ViewInput(name="Shared", query="agent=x", is_shared=True), actor=me)
    other, boss = client_of(reviewer(project)), client_of(reviewer(project, role=Role.ADMIN))
    for stranger in (other, boss):
        assert "Own" not in stranger.get(VIEWS).text
        for way in ("edit", "delete"):
            assert stranger.get(f"{VIEWS}{own.pk}/{way}/").status_code == 404
        for way in ("filters", "delete"):
            assert stranger.post(f"{VIEWS}{own.pk}/{way}/").status_code == 404
    assert other.post(f"{VIEWS}{shared.pk}/filters/", {"query": ""}).status_code == 403
    assert other.post(f"{VIEWS}{shared.pk}/delete/").status_code == 403
    assert other.post(f"{VIEWS}{shared.pk}/edit/", {"name": "Mine", "is_shared": "on"}).status_code == 403
    assert boss.post(f"{VIEWS}{shared.pk}/edit/", {"name": "Better", "is_shared": "on"}).status_code == 302
    assert boss.post(f"{VIEWS}{shared.pk}/edit/", {"name": "Boss's"}).status_code == 403
    mine = client_of(me)
    assert mine.post(f"{VIEWS}{shared.pk}/edit/", {"name": "Mine again"}).status_code == 302
    shared.refresh_from_db()
    assert (shared.name, shared.owner) == ("Mine again", me.user)
    stranger = client_of(reviewer(given.project("elsewhere")))
    assert stranger.get(f"/p/elsewhere/views/{own.pk}/edit/").status_code == 404
    assert stranger.get(VIEWS).status_code == 404


def test_filters_that_name_what_is_gone_say_so_and_show_the_page(browser: Client, project: Project, me: Actor) -> None:
    queue = make_queue(project, "Legal")
    queued = save_view(project, ViewInput(name="Queued", query=f"queue={queue.pk}&agent=x"), actor=me)
    old = save_view(project, ViewInput(name="Old", query="reason=no_longer&mode=never"), actor=me)
    project.review_queues.update(deleted_at="2026-01-01T00:00:00Z")
    assert "Queue not found." in browser.get(f"{QUEUE}?{queued.query}&saved={queued.pk}").text
    assert "Unknown filter “reason”." in browser.get(f"{QUEUE}?{old.query}").text
    browser.post(f"{VIEWS}{old.pk}/delete/")
    assert "This saved view was deleted" in browser.get(QUEUE, {"holder": "me", "saved": str(old.pk)}).text
    assert browser.get(QUEUE, {"saved": "nonsense"}).status_code == 200


def test_each_list_has_its_views(browser: Client, project: Project, me: Actor) -> None:
    for name, query in (("runs", "agent=porter"), ("sessions", "q=nothing"), ("entries", "tag=x")):
        view = save_view(project, ViewInput(list=name, name=name, query=query), actor=me)
        page = {"sessions": "transcripts", "entries": "notebook"}.get(name, name)
        shown = browser.get(f"/p/desk/{page}/?{query}&saved={view.pk}").text
        assert "Rename or share" in shown
        assert f'name="saved" value="{view.pk}"' in shown or name == "sessions"
