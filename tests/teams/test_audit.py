"""The audit page: who did what to what, found by the address, read by admins, exported without danger."""

import csv
import io
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.models import Project, Role, Scope
from reflection_app.runs.resuming import cancel_run
from reflection_app.teams.pages.audit import LONGEST_VALUE, MOST_CHANGES, changes_between
from tests import given
from tests.reviews.panels import SECRET_REASON, open_panel, people, say

pytestmark = pytest.mark.django_db
PAGE = "/p/trail/audit/"


@pytest.fixture
def project() -> Project:
    return given.project("trail")


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def kept(project: Project, action: str = "settings.changed", *, actor: Actor | None = None, **more: Any) -> AuditEntry:
    audit(project.pk, actor or Actor(), action, target=project, **more)
    return AuditEntry.objects.filter(project=project).latest("created_at", "id")


def streamed(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    return b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]


def test_pages_and_keys_leave_where_they_came_from(admin: Client, project: Project) -> None:
    admin.post("/p/trail/settings/keys/new/", {"name": "ci", "scopes": ["tasks:write"]}, REMOTE_ADDR="203.0.113.9")
    _, secret = given.api_key(project)
    sent = {"objective": "Write.", "mode": "reflexion"}
    Client().post(
        "/api/v1/tasks",
        json.dumps(sent),
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
        REMOTE_ADDR="203.0.113.10",
    )
    at = dict(AuditEntry.objects.exclude(address=None).values_list("action", "address"))
    assert at == {"api_key.created": "203.0.113.9", "task.submitted": "203.0.113.10"}


def test_a_thing_is_linked_while_it_exists(admin: Client, project: Project) -> None:
    run = given.submitted_run(project)
    cancel_run(run, actor=Actor())
    page = admin.get(f"{PAGE}?action=run.cancelled").text
    assert f'<a href="/p/trail/runs/{run.pk}/">run</a>' in page
    task = run.task
    run.delete()
    task.delete()
    page = admin.get(PAGE).text
    assert "cancelled a run" in page
    assert f"/runs/{run.pk}/" not in page


def test_filters_stand_in_the_address(admin: Client, project: Project) -> None:
    user = given.member(project)
    kept(project, "tool.changed", actor=Actor(user=user), after={"description": "for the 退款 agent"})
    kept(project, "run.cancelled")
    kept(project, "secret.created")
    today, tomorrow = timezone.now().date(), timezone.now().date() + timedelta(days=1)

    def words(**query: object) -> set[str]:
        page = admin.get(PAGE, {name: str(value) for name, value in query.items()})
        return {line.entry.action for line in page.context["lines"]}

    everything = {"tool.changed", "run.cancelled", "secret.created"}
    assert words() == everything
    assert words(who=user.username) == {"tool.changed"}
    assert words(action="run.cancelled") == {"run.cancelled"}
    assert words(q="退款") == {"tool.changed"}
    assert words(q="nothing like it") == set()
    assert words(target="project", id=project.pk) == everything
    assert words(target="run") == words(id=uuid4()) == set()
    assert words(since=today, until=today) == everything
    assert words(since=tomorrow) == set()
    assert words(since="yesterday", id="x", until="9999-12-31", colour="red") == everything


def test_what_was_recorded_is_shown_as_text_and_bounded(admin: Client, project: Project) -> None:
    kept(project, after={given.HOSTILE: given.HOSTILE, "long": "x" * 5000} | {f"field {n}": n for n in range(100)})
    page = admin.get(PAGE).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "x" * (LONGEST_VALUE + 1) not in page
    assert f"{102 - MOST_CHANGES} more changes" in page


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", "1", "2")]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1]}}, [("a.b", "[1, 2]", "[1]")]),
        ({}, {"name": "x", "none": None}, [("name", None, "x"), ("none", None, "null")]),
        ({"name": "x"}, {}, [("name", "x", None)]),
        ({"rules": [{"share": 1}]}, {"rules": [{"share": 0.5}]}, [("rules.1.share", "1", "0.5")]),
        ({"rules": [{"n": 1}]}, {"rules": []}, [("rules.1.n", "1", None), ("rules", None, "[]")]),
    ],
)
def test_only_what_differs_is_told(before: dict[str, Any], after: dict[str, Any], changed: list[Any]) -> None:
    found = changes_between(before, after)
    assert [(field.name, field.before, field.after) for field in found.fields] == changed


def test_the_export_holds_what_the_filters_leave(
    admin: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.teams.pages.audit.PAGE", 3)
    for number in range(8):
        kept(project, after={"number": number})
    kept(project, "run.cancelled")
    rows = list(csv.DictReader(io.StringIO(streamed(admin, f"{PAGE}audit.csv?action=settings.changed"))))
    assert [json.loads(row["after"])["number"] for row in rows] == [7, 6, 5, 4, 3, 2, 1, 0]
    lines = [json.loads(line) for line in streamed(admin, f"{PAGE}audit.jsonl").splitlines()]
    assert [line["action"] for line in lines] == ["run.cancelled", *["settings.changed"] * 8]
    assert set(lines[0]) == set(rows[0])
    assert admin.get(f"{PAGE}audit.exe").status_code == 404


def test_no_cell_of_the_export_is_taken_for_a_formula(admin: Client, project: Project) -> None:
    names = ["=cmd|'/C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1"]
    for name in names:
        kept(project, actor=Actor(user=given.user(name)))
    rows = csv.DictReader(io.StringIO(streamed(admin, f"{PAGE}audit.csv")))
    assert {row["who"] for row in rows} == {f"'{name}" for name in names}


async def received(user: User, path: str) -> list[bytes]:
    client = AsyncClient()
    await client.aforce_login(user)
    response = await client.get(path)
    assert response.streaming
    assert response.is_async  # type: ignore[attr-defined]
    return [piece async for piece in response]  # type: ignore[attr-defined]


@pytest.mark.django_db(transaction=True)
def test_the_export_is_streamed_where_the_desk_is_served(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reflection_app.teams.pages.audit.PAGE", 2)
    for number in range(3):
        kept(project, after={"number": number, "name": "退款"})
    pieces = async_to_sync(received)(given.member(project, Role.ADMIN), f"{PAGE}audit.jsonl")
    assert len(pieces) == 2
    assert [json.loads(line)["after"]["number"] for line in b"".join(pieces).splitlines()] == [2, 1, 0]


def test_a_blind_opinion_is_hidden_in_pages_exports_and_rest_while_others_still_judge(client: Client) -> None:
    panel = open_panel(
        given.project("trail", review_policy={"rules": [{"reviewers": 2}], "audit_share": 0}), reviewers=2
    )
    anna, bert = people(panel.project, 2)
    say(panel, anna)
    admin = given.logged_in(client, panel.project)
    page = admin.get(PAGE).text
    assert "submitted a blind review" in page
    assert "Hidden until all reviewers have decided" in page
    everywhere = [page, streamed(admin, f"{PAGE}audit.csv"), streamed(admin, f"{PAGE}audit.jsonl")]
    everywhere.append(admin.get(PAGE, {"q": SECRET_REASON}).text.replace(f'value="{SECRET_REASON}"', ""))
    caller = given.caller(panel.project, [Scope.ADMIN])
    everywhere += [
        str(caller.get("audit-entries").body),
        str(caller.get("audit-entries", q=SECRET_REASON).body["results"]),
    ]
    assert not any(SECRET_REASON in text for text in everywhere)
    [opinion] = caller.get("audit-entries", action="review.opinion").body["results"]
    assert (opinion["before"], opinion["after"], opinion["is_hidden"]) == ({}, {}, True)
    say(panel, bert)
    assert SECRET_REASON in admin.get(PAGE).text
    assert SECRET_REASON in streamed(admin, f"{PAGE}audit.jsonl")
