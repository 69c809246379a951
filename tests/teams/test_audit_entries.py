"""The audit trail over REST: filtered, page by page, for admins' keys alone."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.models import Scope
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.factories import make_member, make_project
from tests.reviews.panels import SECRET_REASON, open_panel, people, say

pytestmark = pytest.mark.django_db


def entry(caller: Caller, action: str = "run.cancelled", *, actor: Actor | None = None, **after: object) -> AuditEntry:
    audit(caller.project.pk, actor or Actor(), action, target=caller.project, after=after)
    return AuditEntry.objects.filter(project=caller.project).latest("created_at", "id")


def found(caller: Caller, **query: object) -> list[str]:
    answer = caller.get("audit-entries", **query)
    assert answer.status == 200, answer.body
    return [one["id"] for one in answer.body["results"]]


def test_an_entry_tells_who_did_what_to_what_from_where(admin: Caller) -> None:
    user = make_member(admin.project)
    audit(
        admin.project.pk,
        Actor(user=user, address="203.0.113.7"),
        "settings.changed",
        target=admin.project,
        before={"limits": {"max_iterations": 3}},
        after={"limits": {"max_iterations": 4}},
    )
    [told] = admin.get("audit-entries", action="settings.changed").body["results"]
    kept = AuditEntry.objects.get(action="settings.changed")
    assert told == {
        "id": str(kept.pk),
        "created_at": kept.created_at.isoformat().replace("+00:00", "Z"),
        "actor": user.username,
        "key_made_by": None,
        "action": "settings.changed",
        "target": "project",
        "target_id": str(admin.project.pk),
        "before": {"limits": {"max_iterations": 3}},
        "after": {"limits": {"max_iterations": 4}},
        "is_hidden": False,
        "address": "203.0.113.7",
    }


def test_entries_are_found_by_each_filter(admin: Caller) -> None:
    user = make_member(admin.project)
    mine = entry(admin, "tool.changed", actor=Actor(user=user), reason="the 退款 agent")
    other = entry(admin, "run.cancelled")
    entry(make_caller(make_project("another")), "tool.changed", reason="the 退款 agent")
    at = (timezone.now() + timedelta(days=1)).isoformat()
    assert found(admin, who=user.username) == [str(mine.pk)]
    assert found(admin, action="tool.changed") == [str(mine.pk)]
    assert found(admin, q="退款") == [str(mine.pk)]
    assert str(other.pk) in found(admin, target="project", target_id=admin.project.pk)
    assert found(admin, target_id=uuid4()) == []
    assert found(admin, since=at) == []
    assert str(other.pk) in found(admin, until=at)
    assert found(admin, who="%") == found(admin, q="%") == []


def test_pages_follow_each_other(admin: Caller) -> None:
    kept = [str(entry(admin, number=number).pk) for number in range(5)]
    first = admin.get("audit-entries", action="run.cancelled", limit=3).body
    rest = admin.get(first["next"]).body
    assert [one["id"] for one in first["results"] + rest["results"]] == kept[::-1]
    assert rest["next"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"target_id": "x"}, "target_id"),
        ({"since": "soon"}, "since"),
        ({"colour": "red"}, "colour"),
        ({"limit": 0}, "limit"),
    ],
)
def test_a_filter_that_is_none_is_refused(admin: Caller, query: dict[str, object], field: str) -> None:
    answer = admin.get("audit-entries", **query)
    assert_problem(answer, 400)
    assert fields(answer) == [field]


def test_only_an_admins_key_reads_it(admin: Caller) -> None:
    for scope in (Scope.RUNS_READ, Scope.REVIEWS_WRITE, Scope.TASKS_WRITE):
        assert_problem(make_caller(admin.project, [scope]).get("audit-entries"), 403)


@pytest.mark.django_db(transaction=True)
def test_a_blind_opinion_is_not_told_while_others_still_judge() -> None:
    panel = open_panel()
    say(panel, people(panel.project, 1)[0])
    admin = make_caller(panel.project, [Scope.ADMIN])
    [told] = admin.get("audit-entries", action="review.opinion").body["results"]
    assert (told["before"], told["after"], told["is_hidden"]) == ({}, {}, True)
    assert found(admin, q=SECRET_REASON) == []
    assert SECRET_REASON not in str(admin.get("audit-entries").body)
