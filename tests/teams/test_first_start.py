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
from reflection_app.repairs.models import AgentInstruction, FixPair, Report, ToolFailure
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from reflection_app.teams.models import Notification

pytestmark = pytest.mark.django_db(transaction=True)


def first_start(*, show_password: bool = True) -> str:
    out = StringIO()
    call_command("first_start", address="http://desk.test/", show_password=show_password, stdout=out)
    return out.getvalue()


def test_the_first_start_makes_an_admin_who_gets_in_by_the_printed_password() -> None:
    printed = first_start()
    password = re.search(r"Password:\s+(\S+)", printed)
    assert password
    assert Client().login(username="admin", password=password[1])
    admin = User.objects.get(username="admin")
    assert Project.objects.get(slug="demo").memberships.get(user=admin).role == Role.ADMIN


def test_the_printed_password_is_to_be_changed_before_anything_else() -> None:
    password = re.search(r"Password:\s+(\S+)", first_start())
    assert password
    client = Client()
    client.post("/login/", {"username": "admin", "password": password[1]})
    assert client.get("/p/demo/").headers["Location"] == "/account/password/first/"
    client.post("/account/password/first/", {"password1": "of my own 123", "password2": "of my own 123"})
    assert client.get("/p/demo/").status_code == 200
    assert "Password" not in first_start()


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
    call_command("first_start", stdout=out)
    assert "(shown this once)" in out.getvalue()


def test_the_printed_link_logs_in_once() -> None:
    link = re.search(r"http://desk\.test(/\S+)", first_start())
    assert link
    first, second = Client(), Client()
    assert first.post(link[1]).status_code == 302
    assert "_auth_user_id" in first.session
    second.post(link[1])
    assert "_auth_user_id" not in second.session


def test_the_demo_tells_seven_scripted_stories_with_their_ends() -> None:
    first_start()
    runs = list(Run.objects.filter(project__slug="demo").order_by("created_at"))

    assert all(run.is_scripted for run in runs)
    assert [(run.state, run.outcome, run.attempts_made) for run in runs] == [
        ("finished", "succeeded", 2),
        ("finished", "succeeded", 2),
        ("waiting_review", None, 1),
        ("finished", "over_budget", 1),
        ("finished", "rejected", 1),
        ("finished", "succeeded", 2),
        ("finished", "succeeded", 2),
    ]
    assert "发布说明" in runs[1].task.objective
    assert list(Review.objects.filter(state="waiting").values_list("holds_run", flat=True).order_by("holds_run")) == [
        False,
        True,
    ]


def test_the_demo_shows_a_report_an_instruction_to_accept_and_calls_that_were_put_right() -> None:
    first_start()
    run = Run.objects.get(project__slug="demo", task__agent="academic-researcher")
    report = Report.objects.get(run=run)
    assert report.error_type == "3.3.2"
    assert [action["status"] for action in report.get_document()["repair_actions"]] == ["written", "completed"]
    assert not Step.objects.filter(run=run, result__output__is_fallback=True).exists()
    assert "至少搜索两个分类" in AgentInstruction.objects.get(report=report, state="proposed").text
    assert ToolFailure.objects.filter(project__slug="demo", worked=True).count() == 2
    assert FixPair.objects.filter(project__slug="demo").count() == 2


def test_the_demo_has_a_notebook_with_entries_that_hold_that_wait_and_that_screening_holds_back() -> None:
    first_start()
    entries = Entry.objects.exclude(kind="fix_pair")
    assert sorted(entries.values_list("state", flat=True)) == ["approved"] * 5 + ["proposed"] * 7
    assert entries.get(name__startswith="多次使用").occurrences == 4
    assert [entry.name for entry in entries if entry.flags] == ["Handling long transcripts"]
    lesson = entries.get(agent="coder")
    [run] = Run.objects.filter(task__agent="coder")
    assert lesson.evidence.filter(refs={"run": str(run.pk)}).exists()


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
    assert Run.objects.count() == 7


def test_production_gets_a_project_and_no_demo(settings: Settings) -> None:
    settings.PRODUCTION = True
    first_start()
    assert not Run.objects.exists()
    assert User.objects.count() == 1


@pytest.mark.exhaustive("a first start for every decision")
@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [(VerdictName.PASS, "succeeded"), (VerdictName.REVISE, "succeeded"), (VerdictName.REJECT, "rejected")],
)
def test_the_waiting_story_goes_on_to_an_end_whatever_a_visitor_decides(verdict: VerdictName, outcome: str) -> None:
    first_start()
    visitor = Actor(user=User.objects.get(username="admin"))
    held = claim_review(Review.objects.get(state="waiting", holds_run=True), actor=visitor)
    decision = DecisionInput(
        lease_token=held.lease_token, decision=Decision.OVERRULE, verdict=verdict, reason="As I see it."
    )
    decide_review(held, decision, actor=visitor)
    advance(held.run_id)

    held.run.refresh_from_db()
    assert held.run.outcome == outcome


def test_a_login_link_names_the_address_of_the_desk_that_was_started(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.PORT = tmp_path, 8300
    User.objects.create_user("somebody")
    note_address()
    settings.PORT = 8000
    out = StringIO()
    call_command("login_link", "somebody", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8300/login/link/")


def test_the_demo_asks_its_first_user_for_a_look_and_mentions_them() -> None:
    first_start()
    admin = User.objects.get(username="admin")
    asked = Review.objects.get(reason="asked_for")
    assert (asked.assignee, asked.note_by_label) == (admin, "demo-reviewer")
    told = Notification.objects.filter(user=admin).order_by("created_at")
    assert [one.kind for one in told] == ["assigned", "mentioned"]
