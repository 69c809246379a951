"""The review policy over REST: read, tried, and put in force."""

import json
import re
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.loops.task_spec import EVERY_REJECT, UNSURE, ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.reviews import policy
from reflection_app.reviews.api.policy import EXAMPLES
from reflection_app.reviews.policy import Facts, chances, change_policy, counted, digest_of, try_policy
from reflection_app.runs import models
from reflection_app.runs.models import Run, Step
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.metrics.judged import judged_run

pytestmark = pytest.mark.django_db


def put(caller: Caller, body: Any, **headers: str) -> Answer:
    return caller.call("PUT", "review-policy", data=json.dumps(body), headers=headers)


def saved_by(caller: Caller) -> ReviewPolicy:
    return Project.objects.get(pk=caller.project.pk).get_review_policy()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "digest" not in EXAMPLES[name]])
def test_the_documented_examples_are_put_in_force(admin: Caller, name: str) -> None:
    answer = put(admin, EXAMPLES[name])
    assert answer.status == 200
    assert saved_by(admin) == ReviewPolicy.model_validate(EXAMPLES[name])
    assert admin.get("review-policy").body == answer.body
    [entry] = AuditEntry.objects.filter(action="policy.changed")
    assert (entry.actor_label, entry.address) == (f"key {admin.key.name}", "127.0.0.1")


def test_a_wrong_policy_is_refused_at_its_field_by_putting_and_by_trying(admin: Caller) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"rules": [{}, {"score_below": 101}]}, "rules.1.score_below"),
        ({"rules": [{"score_from": 50, "score_below": 50}]}, "rules.0.score_from"),
        ({"rules": [{}] * 31}, "rules"),
        ({"rules": [{"action": "stand"}], "audit_share": 0.009}, "audit_share"),
    ]
    for wrong, field in cases:
        for answer in (put(admin, wrong), admin.post("review-policy/try", wrong)):
            then.refused(answer, 400)
            assert then.named_fields(answer) == [field]
    assert saved_by(admin) == ReviewPolicy()


# The editor of the review policy: rearranged and tried without saving, saved with all its fields, nothing lost.


PAGE = "/p/rules/settings/policy/"


@pytest.fixture
def project() -> Project:
    return given.project("rules")


@pytest.fixture
def editor(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def typed(*rules: dict[str, Any], **own: str) -> dict[str, Any]:
    """What the browser sends of a form with these rules."""
    form: dict[str, Any] = {"audit_share": "10", "audit_reviewers": "1", "digest": digest_of(ReviewPolicy())}
    form |= own
    for number, rule in enumerate(rules):
        usual = {"action": "wait", "share": "100", "reviewers": "1", "kinds": [""], "agents": [""]}
        form |= {f"rules.{number}.{name}": value for name, value in (usual | rule).items()}
    return form


def saved() -> ReviewPolicy:
    return Project.objects.get(slug="rules").get_review_policy()


def values_of(page: str, name: str) -> list[str]:
    """The value of each field of that name, in order; nothing where it is empty."""
    inputs = re.findall(rf'<input[^>]* name="{re.escape(name)}"[^>]*>', page)
    return [found[1] if (found := re.search(r' value="([^"]*)"', one)) else "" for one in inputs]


def test_every_field_of_a_rule_is_saved_and_audited(editor: Client) -> None:
    rule = {
        "name": "Dear refunds",
        "verdicts": ["PASS", "REVISE"],
        "score_from": "30",
        "score_below": "70.5",
        "confidence_below": "50",
        "kinds": ["refunds", "", "退款"],
        "agents": ["billing, EU", "billing, EU"],
        "cost_from_usd": "0.25",
        "share": "30 %",
        "reviewers": "2",
    }
    page = editor.post(PAGE, typed(rule, {"action": "stand"}, audit_reviewers="3", do="save"), follow=True)
    assert "Saved." in page.text
    policy = saved()
    assert policy == ReviewPolicy(
        rules=(
            ReviewRule(
                name="Dear refunds",
                verdicts=(Verdict.PASS, Verdict.REVISE),
                score_from=30,
                score_below=70.5,
                confidence_below=0.5,
                kinds=("refunds", "退款"),
                agents=("billing, EU",),
                cost_from_usd="0.25",
                share=0.3,
                reviewers=2,
            ),
            ReviewRule(action=RuleAction.STAND),
        ),
        unsettled_waits=False,
        audit_reviewers=3,
    )
    [entry] = AuditEntry.objects.filter(action="policy.changed")
    assert entry.before == ReviewPolicy().model_dump(mode="json")
    assert ReviewPolicy.model_validate(entry.after) == policy
    assert given.submitted_run(Project.objects.get(slug="rules")).get_spec().review_policy == policy


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("up.2", ["one", "three", "two"]),
        ("down.0", ["two", "one", "three"]),
        ("remove.1", ["one", "three"]),
        ("add", ["one", "two", "three", ""]),
        ("explode", ["one", "two", "three"]),
    ],
)
def test_rules_are_rearranged_as_they_were_typed_and_nothing_is_saved(
    editor: Client, order: str, names: list[str]
) -> None:
    rules = [{"name": name, "share": "not yet a number"} for name in ("one", "two", "three")]
    page = editor.post(PAGE, typed(*rules, do=order))
    assert page.status_code == 200
    found = [values_of(page.text, f"rules.{place}.name") for place in range(len(names))]
    assert found == [[name] for name in names]
    assert values_of(page.text, f"rules.{len(names)}.name") == []
    assert values_of(page.text, "rules.0.share") == ["not yet a number"]
    assert saved() == ReviewPolicy()


def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(editor: Client) -> None:
    wrong: list[dict[str, Any]] = [
        {"score_from": "many"},
        {"confidence_below": "200"},
        {"cost_from_usd": "-1"},
        {"share": "nan"},
        {"reviewers": "6"},
        {"name": "x" * 81},
        {"agents": ["x" * 121]},
        {"verdicts": ["MAYBE"]},
        {"action": "explode"},
    ]
    page = editor.post(PAGE, typed(*[{"kinds": ["mine"], **rule} for rule in wrong], do="save"))
    assert page.status_code == 400
    for number, rule in enumerate(wrong):
        [(name, value)] = rule.items()
        assert f'id="error-rules.{number}.{name}"' in page.text
        assert name in {"action", "verdicts", "agents"} or value in page.text
    turned = editor.post(PAGE, typed({"score_from": "70", "score_below": "70"}, do="save"))
    assert (turned.status_code, 'id="error-rules.0.score_from"' in turned.text) == (400, True)
    assert saved() == ReviewPolicy()


@pytest.mark.parametrize(
    ("least", "share", "said"),
    [
        (0.0, "0", "Must be above 0: verdicts that need no review are still audited."),
        (0.05, "5", ""),
    ],
)
def test_a_rule_that_lets_verdicts_stand_cannot_turn_the_audit_off(
    editor: Client, settings: Settings, least: float, share: str, said: str
) -> None:
    settings.REVIEW_MIN_AUDIT_SHARE = least
    page = editor.post(PAGE, typed({"action": "stand"}, audit_share=share, do="save"))
    assert page.status_code == (400 if said else 302)
    if said:
        assert re.search(rf'id="error-audit_share".*?{re.escape(said)}', page.text)
        assert saved() == ReviewPolicy()


def test_no_more_rules_are_taken_than_a_policy_has(editor: Client) -> None:
    page = editor.post(PAGE, typed(*[{}] * 31, do="save"))
    assert page.status_code == 400
    assert "At most 30 items." in page.text
    full = editor.post(PAGE, typed(*[{}] * 30, do="add")).text
    assert values_of(full, "rules.30.name") == []
    assert "Maximum 30 rules." in full


def test_two_admins_do_not_overwrite_each_other_unseen(editor: Client, project: Project) -> None:
    form = typed({"name": "mine"}, do="save")
    theirs = ReviewPolicy(rules=(ReviewRule(agents=("theirs",)),))
    change_policy(project, theirs, actor=Actor())
    page = editor.post(PAGE, form)
    assert page.status_code == 409
    assert "agent theirs: requires a review." in page.text
    assert values_of(page.text, "rules.0.name") == ["mine"]
    assert saved() == theirs
    [digest] = values_of(page.text, "digest")
    assert editor.post(PAGE, form | {"digest": digest}).status_code == 302
    assert saved().rules[0].name == "mine"


def test_a_policy_is_tried_before_it_is_saved(editor: Client, project: Project) -> None:
    for score in (20, 90):
        judged_run(project, score=score, agent="billing")
    page = editor.post(PAGE, typed({"score_below": "70", "reviewers": "2", "share": "100"}, do="try"))
    assert page.status_code == 200
    assert "<strong>1</strong> of 2 would need review." in page.text
    assert saved() == ReviewPolicy()


def test_whoever_may_not_change_it_reads_it_in_words(client: Client, project: Project) -> None:
    viewer = given.logged_in(client, project, Role.VIEWER)
    page = viewer.get(PAGE).text
    assert "Reject: requires a review." in page
    assert "Audit sample: 10 % of verdicts without review, by 1 reviewer each." in page
    assert '<form class="policy"' not in page
    for order in ("save", "try", "add"):
        assert viewer.post(PAGE, typed({}, do=order)).status_code == 403
    assert saved() == ReviewPolicy(rules=(EVERY_REJECT, UNSURE))


def test_unusual_forms_are_read_without_an_error(editor: Client) -> None:
    for share in ("1e999999999", "--", "٣", "-0"):
        assert editor.post(PAGE, typed({"share": share}, audit_share=share, do="save")).status_code in {302, 400}
    unknown = editor.post(PAGE, {"do": "save", "rules.7.action": "wait", "rules.x.action": "wait"})
    assert unknown.status_code in {302, 409}
    assert editor.post(PAGE, typed({"name": "nul \x00 here"}, do="try")).status_code == 200


# A policy tried on what referees said: the same decisions as a run's own, over everything that they really judged.


NOBODY = ReviewPolicy(rules=(), audit_share=0)
SURE = Facts("PASS", 80, None, "", "")


@pytest.mark.parametrize("fits", [True, False])
def test_a_random_share_goes_on_to_the_next_rule(fits: bool) -> None:
    rules = (ReviewRule(share=0.3, agents=() if fits else ("x",)), ReviewRule(share=0.5, action=RuleAction.STAND))
    policy = ReviewPolicy(rules=rules)
    assert chances(policy, SURE) == pytest.approx([0.3, 0.35] if fits else [0, 0.5])
    found = counted(policy, Counter({SURE: 1_000}))
    waiting = 300 if fits else 0
    assert (found.waiting, found.standing, found.opinions) == (waiting, 1_000 - waiting, waiting)
    assert (found.by_rule, found.audits) == ([waiting, 350 if fits else 500], (1_000 - waiting) / 10)


def waits_for(**conditions: Any) -> ReviewPolicy:
    return ReviewPolicy(rules=(ReviewRule.model_validate(conditions),), audit_share=0.5)


def test_it_says_how_many_would_have_waited_beside_what_the_saved_policy_asked_for(project: Project) -> None:
    for score in (20, 55, 60, 90):
        judged_run(project, score=score, verdict=Verdict.PASS if score >= 50 else Verdict.REJECT)
    trial = try_policy(project.pk, waits_for(score_below=70, verdicts=["PASS"], reviewers=2), saved=ReviewPolicy())
    assert (trial.verdicts, trial.left_out) == (4, 0)
    assert (trial.typed.waiting, trial.typed.by_rule, trial.typed.opinions, trial.typed.audits) == (2, [2], 4, 1.0)
    assert (trial.saved.waiting, trial.saved.by_rule, trial.saved.standing) == (1, [1, 0], 3)
    assert (trial.newly, trial.no_longer) == (2, 1)


def test_rules_by_agent_type_and_confidence_are_tried(project: Project) -> None:
    judged_run(project, agent="billing", confidence=0.9)
    judged_run(project, kind="letters", confidence=None)
    judged_run(project, confidence=0.4)
    for conditions, fitting in (
        ({"agents": ["billing"]}, 1),
        ({"kinds": ["letters"]}, 1),
        ({"agents": ["billing"], "kinds": ["letters"]}, 0),
        ({"confidence_below": 0.5}, 1),
    ):
        assert try_policy(project.pk, waits_for(**conditions), saved=NOBODY).typed.waiting == fitting


def test_the_cost_is_what_the_run_had_cost_when_the_verdict_was_given(project: Project) -> None:
    verdict = judged_run(project, cost_usd="0.20")
    Step.objects.create(
        run=verdict.attempt.run,
        seq=90,
        key="later",
        kind="generate",
        request={},
        cost_usd=Decimal(5),
        started_at=timezone.now(),
    )
    assert try_policy(project.pk, waits_for(cost_from_usd="0.20"), saved=NOBODY).typed.waiting == 1
    assert try_policy(project.pk, waits_for(cost_from_usd="0.21"), saved=NOBODY).typed.waiting == 0


def test_only_what_a_policy_decides_about_counts(project: Project) -> None:
    anything = waits_for()

    def tried() -> int:
        return try_policy(project.pk, anything, saved=NOBODY).verdicts

    judged_run(project)
    judged_run(project, referee=Referee.SELF)
    judged_run(project, referee=Referee.TESTS, mode="reflection_protocol", requirements={"results": []})
    assert tried() == 3
    judged_run(project, referee=Referee.SELF, mode="reflection_protocol")
    for referee in (Referee.TESTS, Referee.GENERATED_TESTS, Referee.TOOL, Referee.PERSON):
        judged_run(project, referee=referee)
    copied = judged_run(project)
    Step.objects.filter(made_verdict=copied).update(is_inherited=True)
    scripted = judged_run(project)
    Run.objects.filter(pk=scripted.attempt.run_id).update(is_scripted=True)
    old = judged_run(project)
    models.Verdict.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    judged_run(given.project("another"))
    assert tried() == 3


def test_what_is_beyond_the_bound_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MOST_VERDICTS", 2)
    for score in (10, 20, 30):
        judged_run(project, score=score)
    trial = try_policy(project.pk, waits_for(score_below=15), saved=NOBODY)
    assert (trial.verdicts, trial.left_out, trial.typed.waiting) == (2, 1, 0)
