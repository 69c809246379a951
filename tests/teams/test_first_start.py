import re
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from notebook_app.models import Entry
from reflection_app.config.up.desk import note_address
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import AgentInstruction, Report
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.teams.demo import removing
from reflection_app.teams.demo.loading import REVIEWERS
from reflection_app.teams.demo.removing import remove_demo
from reflection_app.teams.models import Notification

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committing")]


def first_start(*, show_password: bool = True, with_demo: bool = False) -> str:
    out = StringIO()
    call_command(
        "first_start",
        address="http://desk.test/",
        show_password=show_password,
        without_demo=not with_demo,
        stdout=out,
    )
    return out.getvalue()


def test_the_admin_gets_in_by_the_printed_password_and_changes_it_before_anything_else() -> None:
    password = re.search(r"Password:\s+(\S+)", first_start())
    assert password
    client = Client()
    client.post("/login/", {"username": "admin", "password": password[1]})
    assert client.get("/p/demo/").headers["Location"] == "/account/password/first/"
    client.post("/account/password/first/", {"password1": "of my own 123", "password2": "of my own 123"})
    assert client.get("/p/demo/").status_code == 200
    admin = User.objects.get(username="admin")
    assert Project.objects.get(slug="demo").memberships.get(user=admin).role == Role.ADMIN


def test_what_is_printed_into_a_log_holds_no_password() -> None:
    printed = first_start(show_password=False)
    assert re.search(r"Password:\s+none yet$", printed, re.MULTILINE)
    assert not User.objects.get(username="admin").has_usable_password()
    link = re.search(r"http://desk\.test(/\S+)", printed)
    assert link
    client = Client()
    client.post(link[1])
    client.post("/account/password/first/", {"password1": "of my own 123", "password2": "of my own 123"})
    assert Client().login(username="admin", password="of my own 123")


def test_a_terminal_is_shown_the_password() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    call_command("first_start", without_demo=True, stdout=out)
    assert "(shown this once)" in out.getvalue()


def test_the_first_start_loads_the_demo_with_stories_that_a_visitor_goes_on_with() -> None:
    first_start(with_demo=True)
    project = Project.objects.get(slug="demo")
    assert project.is_demo
    told = Run.objects.filter(project=project, spec__models__default__startswith="scripted/demo-").order_by(
        "created_at"
    )
    assert all(run.is_scripted for run in told)
    assert [(run.state, run.outcome) for run in told.filter(task__agent="academic-researcher")] == [
        ("finished", "succeeded")
    ]
    report = Report.objects.get(run__in=told, agent="academic-researcher")
    assert [action["status"] for action in report.get_document()["repair_actions"]] == ["written", "completed"]
    assert "至少搜索两个分类" in AgentInstruction.objects.get(report=report, state="proposed").text
    admin = User.objects.get(username="admin")
    assert project.memberships.get(user=admin).role == Role.ADMIN
    asked = Review.objects.get(reason="asked_for")
    assert (asked.assignee, asked.note_by_label) == (admin, REVIEWERS[0])
    notices = Notification.objects.filter(user=admin).order_by("created_at")
    assert [one.kind for one in notices] == ["assigned", "mentioned"]
    _every_open_verdict_can_be_decided(admin)


def _every_open_verdict_can_be_decided(admin: User) -> None:
    """Whatever a visitor makes of what waits, the script of its run goes on with it."""
    visitor = Actor(user=admin)
    for number, review in enumerate(Review.objects.filter(state="waiting", holds_run=True, panel=None).order_by("pk")):
        held = claim_review(review, actor=visitor)
        # Broken tests stay broken however often it is tried again.
        verdict = VerdictName.REVISE if number % 2 and not review.is_pick else VerdictName.PASS
        told = {"decision": Decision.OVERRULE, "verdict": verdict, "reason": "As I see it."}
        if review.is_for_director:
            told = {"decision": "redo", "instructions": "Once more, please."}
        decide_review(held, DecisionInput(lease_token=held.lease_token, **told), actor=visitor)
        advance(held.run_id)
        held.run.refresh_from_db()
        assert held.run.outcome == "succeeded", (held.run.task.title, held.run.error)


def test_a_removed_demo_is_not_loaded_again_by_the_next_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "LONGEST_S", 600.0)
    first_start(with_demo=True)
    remove_demo(Project.objects.get(slug="demo"), actor=Actor())
    first_start(with_demo=True)
    assert not Project.objects.exists()


def test_a_second_start_changes_nothing() -> None:
    first_start()
    before = Run.objects.count(), User.objects.count(), Entry.objects.count()
    assert "Password" not in first_start()
    assert (Run.objects.count(), User.objects.count(), Entry.objects.count()) == before


def test_a_first_start_that_was_stopped_half_way_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("reflection_app.management.commands.first_start.make_admin", stopped)
        with pytest.raises(KeyboardInterrupt):
            first_start()
    assert "Password" in first_start()
    assert Project.objects.count() == 1


def test_production_gets_a_project_and_no_demo(settings: Settings) -> None:
    settings.PRODUCTION = True
    first_start(with_demo=True)
    assert not Run.objects.exists()
    assert User.objects.count() == 1


def test_a_login_link_names_the_address_of_the_desk_that_was_started(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.PORT = tmp_path, 8300
    User.objects.create_user("somebody")
    note_address()
    settings.PORT = 8000
    out = StringIO()
    call_command("login_link", "somebody", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8300/login/link/")
