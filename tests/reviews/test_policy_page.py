"""The editor of the review policy: rearranged and tried without saving, saved with all its fields, nothing lost."""

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.loops.task_spec import EVERY_REJECT, UNSURE, ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.policy import change_policy, digest_of
from tests import given
from tests.metrics.judged import judged_run

pytestmark = pytest.mark.django_db
PAGE = "/p/rules/settings/policy/"


@pytest.fixture
def project() -> Project:
    return given.project("rules")


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
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


def test_every_field_of_a_rule_is_saved_and_audited(admin: Client) -> None:
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
    page = admin.post(PAGE, typed(rule, {"action": "stand"}, audit_reviewers="3", do="save"), follow=True)
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
        ("up.0", ["one", "two", "three"]),
        ("down.2", ["one", "two", "three"]),
        ("remove.1", ["one", "three"]),
        ("add", ["one", "two", "three", ""]),
        ("remove.9", ["one", "two", "three"]),
        ("explode", ["one", "two", "three"]),
    ],
)
def test_rules_are_rearranged_as_they_were_typed_and_nothing_is_saved(
    admin: Client, order: str, names: list[str]
) -> None:
    rules = [{"name": name, "share": "not yet a number"} for name in ("one", "two", "three")]
    page = admin.post(PAGE, typed(*rules, do=order))
    assert page.status_code == 200
    found = [values_of(page.text, f"rules.{place}.name") for place in range(len(names))]
    assert found == [[name] for name in names]
    assert values_of(page.text, f"rules.{len(names)}.name") == []
    assert values_of(page.text, "rules.0.share") == ["not yet a number"]
    assert saved() == ReviewPolicy()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"score_below": "101"}, "A number from 0 to 100."),
        ({"score_from": "many"}, "A number from 0 to 100."),
        ({"score_from": "70", "score_below": "70"}, "Must be under the score that it ends below."),
        ({"confidence_below": "200"}, "A number from 0 to 100."),
        ({"cost_from_usd": "-1"}, "An amount from 0"),
        ({"share": "0"}, "A number above 0, at most 100."),
        ({"share": "nan"}, "A number above 0, at most 100."),
        ({"reviewers": "6"}, "A whole number from 1 to 5."),
        ({"name": "x" * 81}, "At most 80 characters."),
        ({"agents": ["x" * 121]}, "At most 120 characters."),
        ({"verdicts": ["MAYBE"]}, "Choose among PASS, REVISE and REJECT."),
        ({"action": "explode"}, "Choose what the rule does."),
    ],
)
@pytest.mark.parametrize("order", ["save", "try"])
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(
    admin: Client, wrong: dict[str, Any], said: str, order: str
) -> None:
    page = admin.post(PAGE, typed({"name": "first"}, {"agents": ["mine"], **wrong}, do=order))
    name = next(iter(wrong))
    assert (order, page.status_code) in {("save", 400), ("try", 400), ("try", 200)}
    assert re.search(rf'id="error-rules\.1\.{name}".*?{re.escape(said)}', page.text)
    assert 'id="error-rules.0' not in page.text
    for value in wrong[name] if isinstance(wrong[name], list) else [wrong[name]]:
        assert value in page.text or name in {"action", "verdicts"}
    assert values_of(page.text, "rules.0.name") == ["first"]
    assert saved() == ReviewPolicy()


@pytest.mark.parametrize(
    ("least", "share", "said"),
    [
        (0.01, "0", "Above 0: what a rule lets stand must still be audited."),
        (0.0, "0", "Above 0: what a rule lets stand must still be audited."),
        (0.05, "4.9", "At least 0.05 (5 %) while a rule lets verdicts stand"),
        (0.05, "5", ""),
    ],
)
def test_a_rule_that_lets_verdicts_stand_cannot_turn_the_audit_off(
    admin: Client, settings: Settings, least: float, share: str, said: str
) -> None:
    settings.REVIEW_MIN_AUDIT_SHARE = least
    page = admin.post(PAGE, typed({"action": "stand"}, audit_share=share, do="save"))
    assert page.status_code == (400 if said else 302)
    if said:
        assert re.search(rf'id="error-audit_share".*?{re.escape(said)}', page.text)
        assert saved() == ReviewPolicy()


def test_no_more_rules_are_taken_than_a_policy_has(admin: Client) -> None:
    page = admin.post(PAGE, typed(*[{}] * 31, do="save"))
    assert page.status_code == 400
    assert "At most 30 of them." in page.text
    full = admin.post(PAGE, typed(*[{}] * 30, do="add")).text
    assert values_of(full, "rules.30.name") == []
    assert "A policy has at most 30 rules." in full


def test_two_admins_do_not_overwrite_each_other_unseen(admin: Client, project: Project) -> None:
    form = typed({"name": "mine"}, do="save")
    theirs = ReviewPolicy(rules=(ReviewRule(agents=("theirs",)),))
    change_policy(project, theirs, actor=Actor())
    page = admin.post(PAGE, form)
    assert page.status_code == 409
    assert "agent theirs: waits for a person." in page.text
    assert values_of(page.text, "rules.0.name") == ["mine"]
    assert saved() == theirs
    [digest] = values_of(page.text, "digest")
    assert admin.post(PAGE, form | {"digest": digest}).status_code == 302
    assert saved().rules[0].name == "mine"


def test_a_policy_is_tried_before_it_is_saved(admin: Client, project: Project) -> None:
    for score in (20, 55, 60, 90):
        judged_run(project, score=score, agent="billing")
    page = admin.post(PAGE, typed({"score_below": "70", "reviewers": "2", "share": "100"}, do="try"))
    assert page.status_code == 200
    assert "Would have asked for <strong>3</strong> of 4." in page.text
    assert "The saved policy: 0." in page.text
    assert "3 would newly wait, 0 no longer." in page.text
    assert saved() == ReviewPolicy()


def test_whoever_may_not_change_it_reads_it_in_words(client: Client, project: Project) -> None:
    viewer = given.logged_in(client, project, Role.VIEWER)
    page = viewer.get(PAGE).text
    assert "Reject: waits for a person." in page
    assert "Of all that does not wait, 10 % is audited, by 1 person." in page
    assert '<form class="policy"' not in page
    for order in ("save", "try", "add"):
        assert viewer.post(PAGE, typed({}, do=order)).status_code == 403
    assert saved() == ReviewPolicy(rules=(EVERY_REJECT, UNSURE))


@pytest.mark.parametrize("share", ["1e999999999", "--", "1_0", "٣", "0x10", "-0"])
def test_no_text_in_place_of_a_share_ends_in_an_error(admin: Client, share: str) -> None:
    assert admin.post(PAGE, typed({"share": share}, audit_share=share, do="save")).status_code in {302, 400}


def test_hostile_names_are_shown_as_text(admin: Client, project: Project) -> None:
    short = given.HOSTILE[:80]
    page = admin.post(PAGE, typed({"name": short, "agents": [given.HOSTILE[:120]]}, do="add")).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_unusual_forms_are_read_without_an_error(admin: Client) -> None:
    assert admin.post(PAGE, {"do": "save", "rules.7.action": "wait", "rules.x.action": "wait"}).status_code in {
        302,
        409,
    }
    assert admin.post(PAGE, typed({"name": "nul \x00 here"}, do="try")).status_code == 200
