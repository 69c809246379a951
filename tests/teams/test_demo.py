"""The demo: full on every page, marked as made up, and gone without a trace when it is removed."""

import json
import zipfile
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from notebook_app.lift_list import lift_of_all
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, NotFound
from reflection_app.core.models import Membership, Project, Role
from reflection_app.loops.catalogue import VERSIONS
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figures import headline_of
from reflection_app.metrics.models import RunFigure
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Question, Run, RunState
from reflection_app.teams.demo import removing
from reflection_app.teams.demo.loading import ARCHIVE, REVIEWERS, DemoIsThere, load_demo
from reflection_app.teams.demo.removing import remove_demo
from reflection_app.web.pages import all_pages
from tests import given, when
from tests.house.test_recorded_journals import replay
from tests.notebook.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)
# What is no list of the demo's own: it has no keys, calls nobody, and tells nobody.
MAY_BE_EMPTY = {
    "rubric",
    "keys",
    "webhooks",
    "channels",
    "members",
    "profile",
    "account_email",
    "tools",
    "completeness",
}


@pytest.fixture
def staff() -> User:
    return given.user("admin", is_staff=True)


def rows_of_everything() -> dict[str, int]:
    """How many rows there are of every table, but for the trail, which nobody can take back."""
    found: list[type[Model]] = [User]
    for app in ("reflection_app", "notebook_app"):
        found += apps.get_app_config(app).get_models()
    return {model.__name__: QuerySet(model).count() for model in found if model is not AuditEntry}


def test_the_demo_fills_every_page_is_worked_with_and_leaves_nothing_but_the_trail(
    staff: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "LONGEST_S", 600.0)
    other = given.scripted_project(
        "other", {"attempt-1/answer": "blue", "attempt-1/critique": '{"score": 90, "approved": true}'}
    )
    given.member(other, Role.ADMIN, user=staff)
    given.advanced_run(other)
    person = given.user(REVIEWERS[0])
    before = rows_of_everything()
    client.force_login(staff)
    assert client.post("/projects/demo/").status_code == 302
    project = Project.objects.get(slug="demo")
    assert Membership.objects.get(project=project, user=staff).role == Role.ADMIN
    _has_people_who_cannot_log_in(project, but=[staff, person])
    _has_a_month_of_work(project)
    _has_figures(project)
    _has_lift(project)
    for page, found in all_pages().items():
        answer = client.get(found.path(project), follow=True)
        assert answer.status_code == 200, page
        is_empty = '<section class="empty' in answer.content.decode() or '<div class="empty' in answer.content.decode()
        assert page in MAY_BE_EMPTY or not is_empty, page
    _waits_for_a_reviewer_to_allow_a_payment(project, client)
    with pytest.raises(DemoIsThere):
        load_demo(actor=Actor(user=staff))
    assert client.post("/projects/demo/").status_code == 409
    assert "Load demo" not in client.get("/projects/new/").content.decode()
    assert "Sample data" in client.get("/p/demo/").content.decode()
    client.force_login(given.member(project, Role.CURATOR, user=person))
    assert client.post("/p/demo/settings/keeping/remove-demo/").status_code == 403
    assert "Remove demo" not in client.get("/p/demo/").content.decode()
    client.force_login(staff)
    assert client.get("/p/demo/settings/keeping/remove-demo/").status_code == 200
    assert client.post("/p/demo/settings/keeping/remove-demo/").status_code == 302
    assert rows_of_everything() == before
    trail = AuditEntry.objects.filter(project=project.pk).values_list("action", flat=True)
    assert {"demo.loaded", "project.deleted", "project.taken_away"} <= set(trail)
    assert client.get("/p/other/").status_code == 200


def _has_people_who_cannot_log_in(project: Project, *, but: list[User]) -> None:
    people = User.objects.filter(memberships__project=project).exclude(pk__in=[one.pk for one in but])
    assert people.count() == 2
    assert not any(one.is_active or one.has_usable_password() or one.email for one in people)


def _waits_for_a_reviewer_to_allow_a_payment(project: Project, client: Client) -> None:
    run = Run.objects.get(project=project, task__agent="invoice-checker")
    assert (run.state, run.waiting_for) == (RunState.WAITING_REVIEW, "tool_call")
    question = Question.objects.get(run=run)
    page = client.get(reverse("question", args=(project.slug, question.pk))).content.decode()
    assert "pay_invoice" in page
    assert "153.5" in page
    client.post(reverse("answer_question", args=(project.slug, question.pk)), {"choice": "refuse"})
    when.advances(run)
    assert run.state == RunState.FINISHED
    shown = client.get(reverse("run", args=(project.slug, run.pk))).content.decode()
    assert "Refused" in shown


def _has_a_month_of_work(project: Project) -> None:
    runs = Run.objects.filter(project=project)
    assert 200 <= runs.count() <= 520
    assert not runs.filter(state__in=[RunState.QUEUED, RunState.RUNNING]).exists(), "a worker would take it up"
    assert not runs.filter(created_at__gt=timezone.now()).exists()
    assert not runs.filter(finished_at__gt=timezone.now()).exists()
    assert runs.filter(created_at__lt=timezone.now() - timedelta(days=27)).exists()
    assert runs.filter(created_at__gt=timezone.now() - timedelta(days=1)).exists()
    waiting = Review.objects.filter(project=project, state=ReviewState.WAITING)
    reasons = {"low_confidence", "rejected", "audit", "broken_tests", "asked_for"}
    assert reasons == set(waiting.values_list("reason", flat=True))


def _has_figures(project: Project) -> None:
    until = timezone.now().date()
    figures, _before = headline_of(project.pk, Chosen(since=until - timedelta(days=30), until=until))
    assert all(figures[name].value for name in ("runs", "success_rate_with_reflection", "cost_usd_per_success"))
    first, last = (
        RunFigure.objects.filter(project=project, is_counted=True, finished_on__range=span)
        for span in ((until - timedelta(days=31), until - timedelta(days=21)), (until - timedelta(days=8), until))
    )
    assert (
        sum(last.values_list("first_succeeded", flat=True)) / last.count()
        > sum(first.values_list("first_succeeded", flat=True)) / first.count()
    ), "the month shows no improvement"


def _has_lift(project: Project) -> None:
    most = max(lift_of_all(project.pk), key=lambda one: one.recalled).measured
    assert most.given.outcomes > 20
    assert (most.given.rate or 0) > (most.withheld.rate or 1) + 0.15


def test_of_two_who_load_it_at_once_one_is_told_that_it_is_there(staff: User) -> None:
    def load(_: int) -> str:
        try:
            load_demo(actor=Actor(user=staff))
        except ActionError as error:
            return type(error).__name__
        return "loaded"

    assert sorted(at_once(load, range(2), threads=2)) == ["DemoIsThere", "loaded"]
    assert Project.objects.filter(is_demo=True).count() == 1


def test_a_colleague_without_a_password_who_has_left_is_not_removed_with_the_demo(staff: User) -> None:
    project = given.project("demo", is_demo=True)
    colleague = given.member(project)
    colleague.set_unusable_password()
    colleague.is_active, colleague.last_login = False, timezone.now()
    colleague.save()
    remove_demo(project, actor=Actor(user=staff))
    assert set(User.objects.all()) == {staff, colleague}


def test_only_a_demo_is_removed_by_one_click(staff: User, client: Client) -> None:
    project = given.project("real")
    with pytest.raises(NotFound):
        remove_demo(project, actor=Actor(user=staff))
    client.force_login(given.member(project, Role.ADMIN))
    assert client.get("/p/real/settings/keeping/remove-demo/").status_code == 302
    assert client.post("/p/real/settings/keeping/remove-demo/").status_code == 404


def test_the_present_loops_go_the_way_of_the_demos_runs() -> None:
    """The runs can be forked, and go on after a review, only if their recorded steps still replay."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        runs = [json.loads(line) for line in archive.read("runs.jsonl").splitlines()]
        steps = [json.loads(line) for line in archive.read("steps.jsonl").splitlines()]
    replayed = 0
    for run in runs:
        is_present = run["loop_version"] == VERSIONS[Mode(run["mode"])]
        if run["state"] != "finished" or run["parent_id"] or not is_present:
            continue
        if run["outcome"] in {"cancelled", "over_budget"}:
            continue
        own = sorted((step for step in steps if step["run_id"] == run["id"]), key=lambda step: step["seq"])
        told = {"spec": run["spec"], "loop_version": run["loop_version"]}
        ended = replay(told | {"steps": [step | {"spent": {}} for step in own]})
        assert ended.outcome == run["outcome"], run["id"]
        replayed += 1
    assert replayed > 150, "most runs are of former loops: record the demo anew"
