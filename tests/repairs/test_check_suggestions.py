"""Suggested policies of checks: made from what checks found, decided by people, withdrawn when figures change."""

import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.config.jobs import suggest_checks
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AlreadyDecided, Conflict
from reflection_app.core.models import Project, Role, Scope
from reflection_app.loops.completeness.checks import MOST_KINDS
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots
from reflection_app.repairs.check_suggestions import (
    SuggestionInput,
    decide_suggestion,
    facts_of,
    suggest_due,
    suggest_for,
)
from reflection_app.repairs.models import CheckSuggestion, CompletenessCheck
from reflection_app.runs.events import Event
from reflection_app.teams.models import Notification
from reflection_app.teams.notifications import path_of, sentence_of
from tests.api.caller import assert_problem, make_caller
from tests.factories import make_member, make_project
from tests.load.simulate_adaptive import KINDS
from tests.repairs.check_rows import checked_runs, drawn_runs
from tests.reviews.test_reviews import together
from tests.teams.test_settings import TYPED
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPT, DECLINE = (SuggestionInput.model_validate({"decision": word}) for word in ("accept", "decline"))
TENTH = {"when": "sampled", "share": 0.1}


def suggested(project: Project, pattern: str = "." * 40, kind: str = "news", **rows: Any) -> CheckSuggestion:
    """The open suggestion that these checks lead to."""
    checked_runs(project, kind, pattern, **rows)
    suggest_for(project, [kind])
    return CheckSuggestion.objects.get(project=project, task_kind=kind, state="open")


def kinds_of(project: Project) -> dict[str, Any]:
    return {**Project.objects.get(pk=project.pk).completeness_by_kind}


def test_a_kind_that_hardly_lacks_anything_is_suggested_to_be_sampled_and_told_of_once() -> None:
    project = make_project()
    admin = make_member(project, Role.ADMIN)
    make_member(project, Role.CURATOR)
    runs = checked_runs(project, "news", "." * 40)
    assert (suggest_due(timezone.now()), suggest_due(timezone.now())) == (1, 0)
    row = CheckSuggestion.objects.get()
    assert (row.why, row.change, row.evidence["checks"], row.state) == ("seldom_found", TENTH, 40, "open")
    assert row.evidence["cost_each_usd"] == "0.00400000"
    event = Event.objects.get(type="checks.suggested")
    assert event.run == runs[-1]
    told = {"suggestion": str(row.pk), "task_kind": "news", "why": "seldom_found", "change": TENTH}
    assert event.payload == told
    notice = Notification.objects.get()
    assert notice.user == admin, "those who may accept it are told, and nobody else"
    assert "“news”" in sentence_of(notice)
    assert path_of(notice) == f"/p/{project.slug}/completeness/#how-often"
    assert kinds_of(project) == {}, "nothing changes before somebody accepts it"


def test_the_periodic_task_looks_at_what_was_checked_lately_alone() -> None:
    project = make_project()
    checked_runs(project, "news", "." * 40)
    CompletenessCheck.objects.update(created_at=timezone.now() - timedelta(hours=2))
    suggest_checks()
    assert not CheckSuggestion.objects.exists()
    checked_runs(project, "news", ".")
    suggest_checks()
    assert CheckSuggestion.objects.get().evidence["checks"] == 41


def test_forks_handed_in_histories_failed_checks_and_other_projects_are_no_evidence() -> None:
    project, other = make_project(), make_project()
    [parent] = checked_runs(project, "news", "o")
    checked_runs(project, "news", "xxx", parent=parent)
    checked_runs(project, "news", "xxx", mode="completeness_check")
    checked_runs(other, "news", "xxx")
    unchecked = checked_runs(project, "news", "x")
    CompletenessCheck.objects.filter(run__in=unchecked).update(state="unchecked")
    [fact] = facts_of(project.pk, "news")
    assert (fact.is_incomplete, fact.is_turned, fact.supplements) == (True, True, 1)


def test_tasks_without_a_kind_follow_the_project_and_nothing_is_suggested_for_them() -> None:
    project = make_project()
    checked_runs(project, "", "." * 40)
    assert suggest_due(timezone.now()) == 0


def test_what_is_accepted_stands_beside_what_else_the_kind_has_and_is_audited() -> None:
    project = make_project(completeness_by_kind={"news": {"max_supplements": 1}, "maps": {"enabled": False}})
    actor = Actor(user=make_member(project, Role.ADMIN))
    row = decide_suggestion(suggested(project), ACCEPT, actor=actor)
    assert (row.state, row.decided_by) == ("accepted", actor.user)
    assert kinds_of(project) == {"maps": {"enabled": False}, "news": {"max_supplements": 1} | TENTH}
    policy = Project.objects.get(pk=project.pk).get_completeness("news")
    assert (policy.checked_share, policy.max_supplements) == (0.1, 1)
    [entry] = AuditEntry.objects.filter(action="check_suggestion.decided")
    assert (entry.before["settings"], entry.after["settings"]) == (
        {"max_supplements": 1},
        {"max_supplements": 1} | TENTH,
    )
    assert suggest_for(Project.objects.get(pk=project.pk), ["news"]) == 0, "it is so already"


def test_of_two_people_at_once_one_decides() -> None:
    project = make_project()
    row = suggested(project)
    people = [Actor(user=make_member(project, Role.ADMIN)) for _ in range(2)]
    calls = [
        lambda: decide_suggestion(CheckSuggestion.objects.get(pk=row.pk), ACCEPT, actor=people[0]),
        lambda: decide_suggestion(CheckSuggestion.objects.get(pk=row.pk), DECLINE, actor=people[1]),
    ]
    results = together(*calls)
    assert sum(isinstance(result, AlreadyDecided) for result in results) == 1
    row.refresh_from_db()
    assert kinds_of(project) == ({"news": TENTH} if row.state == "accepted" else {})
    assert AuditEntry.objects.filter(action="check_suggestion.decided").count() == 1


def test_two_workers_at_once_suggest_once() -> None:
    project = make_project()
    checked_runs(project, "news", "." * 40)
    results = together(*[lambda: suggest_for(project, ["news"])] * 2)
    assert sorted(results) == [0, 1]  # type: ignore[type-var]
    assert CheckSuggestion.objects.count() == Event.objects.filter(type="checks.suggested").count() == 1


def test_what_was_declined_comes_back_on_twice_the_checks() -> None:
    project = make_project()
    decide_suggestion(suggested(project), DECLINE, actor=Actor())
    assert kinds_of(project) == {}
    checked_runs(project, "news", "." * 20)
    assert suggest_for(project, ["news"]) == 0
    checked_runs(project, "news", "." * 20)
    assert suggest_for(project, ["news"]) == 1


def test_a_sampled_kind_that_changed_is_suggested_to_be_checked_always_again() -> None:
    project = make_project()
    decide_suggestion(suggested(project), ACCEPT, actor=Actor())
    project.refresh_from_db()
    row = suggested(project, "..o..o....")
    assert (row.why, row.change) == ("found_more", {"when": "always"})
    decide_suggestion(row, ACCEPT, actor=Actor())
    assert kinds_of(project) == {"news": {"when": "always", "share": 0.1}}


def test_a_suggestion_is_withdrawn_where_the_figures_no_longer_speak_for_it() -> None:
    project = make_project()
    row = suggested(project)
    checked_runs(project, "news", "oooooo")
    suggest_for(project, ["news"])
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        decide_suggestion(row, ACCEPT, actor=Actor())
    assert kinds_of(project) == {}


def test_supplements_that_turn_nothing_are_suggested_to_be_left_out() -> None:
    project = make_project()
    row = suggested(project, "x" * 40, supplements=2)
    assert (row.why, row.change) == ("supplements_turn_little", {"max_supplements": 0})


def test_checks_that_harm_by_the_hold_out_are_suggested_to_be_left_out() -> None:
    project = make_project()
    drawn_runs(project, "news", "gW" * 40)
    suggest_for(project, ["news"])
    row = CheckSuggestion.objects.get()
    assert (row.why, row.change, row.evidence["difference"]) == ("checks_harm", {"when": "never"}, -1.0)


def test_a_project_with_settings_for_as_many_kinds_as_it_can_takes_no_more() -> None:
    project = make_project(completeness_by_kind={f"kind {number}": {"when": "never"} for number in range(MOST_KINDS)})
    row = suggested(project)
    with pytest.raises(Conflict, match="At most 30 kinds"):
        decide_suggestion(row, ACCEPT, actor=Actor())
    row.refresh_from_db()
    assert row.state == "open"


# REST, and the pages.


def test_rest_lists_reads_and_decides_for_whoever_may_change_settings() -> None:
    project = make_project()
    row = suggested(project)
    admin = make_caller(project, scopes=[Scope.ADMIN])
    [one] = admin.get("check-suggestions", state="open", kind="news").body["results"]
    assert (one["why"], one["change"]) == ("seldom_found", TENTH | {"max_supplements": None})
    assert one["evidence"]["cost_each_usd"] == "0.00400000"
    assert admin.get(f"check-suggestions/{row.pk}").body == one
    assert admin.get("check-suggestions", kind="maps").body["results"] == []

    path = f"check-suggestions/{row.pk}/decision"
    assert_problem(make_caller(project).post(path, {"decision": "accept"}), 403)
    other = make_caller(make_project(), scopes=[Scope.ADMIN])
    assert_problem(other.post(path, {"decision": "accept"}), 404)
    assert_problem(other.get(f"check-suggestions/{row.pk}"), 404)
    assert other.get("check-suggestions").body["results"] == []
    assert_problem(admin.post(path, {"decision": "perhaps"}), 400)
    assert admin.post(path, {"decision": "accept"}).body["state"] == "accepted"
    assert_problem(admin.post(path, {"decision": "decline"}), 409)
    assert kinds_of(project) == {"news": TENTH}


def test_rest_tells_and_sets_policies() -> None:
    project = make_project()
    checked_runs(project, "news", "..o.x")
    drawn_runs(project, "maps", "GgWw" * 10)
    admin = make_caller(project, scopes=[Scope.ADMIN])
    told = admin.get("check-policies").body
    news, maps = ({one["kind"]: one for one in told["kinds"]}[kind] for kind in ("news", "maps"))
    assert (news["checks"], news["incomplete"], news["turned"], news["worth"]) == (5, 2, 1, None)
    assert (news["settings"]["when"], news["settings_from"], news["checked_share"]) == ("always", "desk", 1.0)
    assert (maps["worth"]["claim"], maps["worth"]["held_out"]["outcomes"], maps["held_out"]) == ("open", 20, 20)
    assert told["worth"]["checked"]["outcomes"] == 20

    news_settings = {"when": "sampled", "share": 0.3, "holdout_share": 0.2}
    body = {"kinds": {"news": news_settings}}
    assert_problem(make_caller(project).call("PATCH", "completeness-settings", data=json.dumps(body)), 403)
    assert admin.call("PATCH", "completeness-settings", data=json.dumps(body)).body["kinds"]["news"]["share"] == 0.3
    assert kinds_of(project) == {"news": news_settings}
    assert_problem(
        admin.call("PATCH", "completeness-settings", data=json.dumps({"kinds": {"news": {"share": 2}}})), 400
    )
    admin.call("PATCH", "completeness-settings", data=json.dumps({"holdout_share": 0.1, "when": "always"}))
    assert Project.objects.get(pk=project.pk).completeness == {"holdout_share": 0.1}
    assert admin.get("completeness-settings").body["holdout_share"] == 0.1
    admin.call("PATCH", "completeness-settings", data=json.dumps({"kinds": {"news": None}}))
    assert kinds_of(project) == {}
    assert AuditEntry.objects.filter(action="settings.changed").count() == 3


def test_the_page_tells_the_policy_the_figures_and_the_suggestion_and_takes_the_decision(client: Client) -> None:
    project = make_project("adapt")
    row = suggested(project)
    drawn_runs(project, "maps", "GgWw" * 10)
    admin = logged_in(client, project)
    page = admin.get("/p/adapt/completeness/").text
    assert "How often to check" in page
    assert "A sample of 10 % · at most 3 supplements" in page
    assert "Of the newest 40 checks 0 found something; the interval ends at 8.8 %. Each cost $0.0040." in page
    assert "40 checks, 0 found something (0 % to 9 %), 0 completed." in page
    assert "Cannot be told yet" in page
    answer = admin.post(f"/p/adapt/completeness/suggestions/{row.pk}/", {"decision": "accept"}, follow=True)
    assert "Accepted. Runs that begin from now on are checked so." in answer.text
    assert admin.post(f"/p/adapt/completeness/suggestions/{row.pk}/", {"decision": "accept"}).status_code == 409
    assert kinds_of(project) == {"news": TENTH}


def test_a_reviewer_sees_the_suggestion_and_may_not_decide(client: Client) -> None:
    project = make_project("adapt")
    row = suggested(project)
    client.force_login(make_member(project, Role.REVIEWER))
    page = client.get("/p/adapt/completeness/").text
    assert "An admin can accept it." in page
    assert client.post(f"/p/adapt/completeness/suggestions/{row.pk}/", {"decision": "accept"}).status_code == 403
    client.force_login(make_member(make_project("other"), Role.ADMIN))
    assert client.post(f"/p/adapt/completeness/suggestions/{row.pk}/", {"decision": "accept"}).status_code == 404
    row.refresh_from_db()
    assert row.state == "open"


def test_kinds_with_hostile_names_are_shown_as_text(client: Client) -> None:
    project = make_project("adapt")
    suggested(project, kind=HOSTILE[:60])
    page = logged_in(client, project).get("/p/adapt/completeness/").text
    assert "<script>alert" not in page


def test_the_settings_page_keeps_how_often_a_kind_is_checked(client: Client) -> None:
    project = make_project("set", completeness_by_kind={"news": {"when": "sampled", "share": 0.25}})
    admin = logged_in(client, project)
    page = admin.get("/p/set/settings/").text
    assert 'name="kinds.0.share" value="25"' in page
    row = {"kinds.0.kind": "news", "kinds.0.when": "never", "kinds.0.least_share": "0", "kinds.0.holdout_share": "10"}
    admin.post("/p/set/settings/", TYPED | row | {"when": "sampled", "share": "50"})
    saved = Project.objects.get(slug="set")
    assert saved.completeness_by_kind == {"news": {"when": "never", "least_share": 0.0, "holdout_share": 0.1}}
    assert saved.completeness == {"when": "sampled", "share": 0.5}
    wrong = admin.post("/p/set/settings/", TYPED | row | {"kinds.0.holdout_share": "60"})
    assert wrong.status_code == 400
    assert 'id="error-kinds.0.holdout_share"' in wrong.text
    assert "A number from 0 to 50." in wrong.text


def test_a_small_project_saves_checks_by_suggestions_that_are_accepted_through_the_desk() -> None:
    """The simulated project once more, smaller: rows for facts, the desk's own looks, and people's decisions."""
    project, chance, checks, lost = make_project(), Random(11), 0, 0
    for _ in range(30):
        made: dict[str, str] = {}
        for _ in range(20):
            [kind] = chance.choices(KINDS, weights=[one.weight for one in KINDS])
            lacks, turns = chance.random() < kind.lacks, chance.random() < kind.turned
            policy = project.get_completeness(kind.name)
            lots = {"sampled_by": chance.random(), "held_by": chance.random()}
            arm = CheckLots(share=policy.checked_share, holdout_share=policy.holdout_share, **lots).arm
            if arm is CheckArm.CHECKED:
                made[kind.name] = made.get(kind.name, "") + ("." if not lacks else "o" if turns else "x")
            else:
                lost += lacks and turns
        for name, pattern in made.items():
            checks += len(pattern)
            checked_runs(project, name, pattern)
        suggest_due(timezone.now())
        for row in CheckSuggestion.objects.filter(project=project, state="open"):
            decide_suggestion(row, ACCEPT, actor=Actor())
        project.refresh_from_db()
    assert checks < 0.6 * 600, "most of the kinds are sampled by now"
    assert lost <= 0.02 * 600
    assert kinds_of(project)["report"]["when"] in {"sampled", "never"}
    assert "booking" not in kinds_of(project)
