"""The audit trail over REST: filtered, page by page, for admins' keys alone."""

import pytest

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.models import Scope
from tests import given
from tests.api.caller import Caller
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
    user = given.member(admin.project)
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


@pytest.mark.django_db(transaction=True)
def test_a_blind_opinion_is_not_told_while_others_still_judge() -> None:
    panel = open_panel()
    say(panel, people(panel.project, 1)[0])
    admin = given.caller(panel.project, [Scope.ADMIN])
    [told] = admin.get("audit-entries", action="review.opinion").body["results"]
    assert (told["before"], told["after"], told["is_hidden"]) == ({}, {}, True)
    assert found(admin, q=SECRET_REASON) == []
    assert SECRET_REASON not in str(admin.get("audit-entries").body)
