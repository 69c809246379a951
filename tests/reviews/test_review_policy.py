"""The review policy over REST: read, tried, and put in force."""

import json
from typing import Any

import pytest

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Scope
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.reviews.api.policy import EXAMPLES
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.metrics.judged import judged_run

pytestmark = pytest.mark.django_db


def put(caller: Caller, body: Any, **headers: str) -> Answer:
    return caller.call("PUT", "review-policy", data=json.dumps(body), headers=headers)


def saved(caller: Caller) -> ReviewPolicy:
    return Project.objects.get(pk=caller.project.pk).get_review_policy()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "digest" not in EXAMPLES[name]])
def test_the_documented_examples_are_put_in_force(admin: Caller, name: str) -> None:
    answer = put(admin, EXAMPLES[name])
    assert answer.status == 200
    assert saved(admin) == ReviewPolicy.model_validate(EXAMPLES[name])
    assert admin.get("review-policy").body == answer.body
    [entry] = AuditEntry.objects.filter(action="policy.changed")
    assert (entry.actor_label, entry.address) == (f"key {admin.key.name}", "127.0.0.1")


def test_a_policy_of_the_former_form_is_taken_as_rules(admin: Caller) -> None:
    assert put(admin, {"pass_waits": True, "audit_share": 0.2}).status == 200
    assert [rule.verdicts for rule in saved(admin).rules] == [("REJECT",), ("PASS", "REVISE"), ("PASS",)]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "rules"),
        ({"rules": [{}, {"score_below": 101}]}, "rules.1.score_below"),
        ({"rules": [{"score_from": 50, "score_below": 50}]}, "rules.0.score_from"),
        ({"rules": [{"colour": "red"}]}, "rules.0.colour"),
        ({"rules": [{}] * 31}, "rules"),
        ({"rules": [], "audit_share": 1.5}, "audit_share"),
        ({"rules": [{"action": "stand"}], "audit_share": 0}, "audit_share"),
        ({"rules": [{"action": "stand"}], "audit_share": 0.009}, "audit_share"),
    ],
)
def test_a_wrong_policy_is_refused_at_its_field_by_putting_and_by_trying(
    admin: Caller, wrong: dict[str, Any], field: str
) -> None:
    for answer in (put(admin, wrong), admin.post("review-policy/try", wrong)):
        then.refused(answer, 400)
        assert then.named_fields(answer) == [field]
    assert saved(admin) == ReviewPolicy()


def test_a_policy_that_was_changed_meanwhile_is_not_overwritten(admin: Caller) -> None:
    seen = admin.get("review-policy").body["digest"]
    assert put(admin, {"rules": [{"verdicts": ["PASS"]}], "digest": seen}).status == 200
    late = put(admin, {"rules": [], "digest": seen})
    then.refused(late, 409)
    assert len(saved(admin).rules) == 1
    assert put(admin, {"rules": []}).status == 200


def test_trying_changes_nothing_and_says_what_would_have_waited(admin: Caller) -> None:
    for score in (20, 60, 90):
        judged_run(admin.project, score=score, agent="billing")
    reader = given.caller(admin.project, [Scope.RUNS_READ])
    body = reader.post("review-policy/try", {"rules": [{"score_below": 70, "reviewers": 2}], "audit_share": 0.5}).body
    assert (body["verdicts"], body["left_out"]) == (3, 0)
    assert body["tried"] == {"waiting": 2, "standing": 1, "by_rule": [2], "opinions": 4, "audits": 0.5}
    assert body["saved"]["waiting"] == 0
    assert (body["newly_waiting"], body["no_longer_waiting"]) == (2, 0)
    assert saved(admin) == ReviewPolicy()
