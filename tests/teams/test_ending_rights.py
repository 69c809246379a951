"""When a role or account ends: holds, assignments, queue places and API keys end with it, each in the audit trail."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from reflection_app.comparisons.models import PairJudgement
from reflection_app.config.jobs import lapse
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import ApiKey, Membership, Project, Role, Scope
from reflection_app.queues.models import QueueMember
from reflection_app.reviews.assigning import AssignInput, assign_review
from reflection_app.reviews.claiming import claim_next, claim_review
from reflection_app.runs.models import AgentLease
from reflection_app.teams.members import change_role, create_invitation, remove_member, revoke_api_key
from reflection_app.teams.models import Invitation
from reflection_app.teams.projects import disable_account
from tests import given, then
from tests.api.caller import Caller
from tests.comparisons.pairs import claimed, make_set
from tests.notebook.entries import make_entry
from tests.queues.queues import make_queue, reviewer
from tests.reviews.panels import open_panel, say, take_seat
from tests.reviews.waiting_rows import waiting_rows
from tests.runs.test_agent_leases import waiting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committing")]
SYSTEM = Actor()
type Ending = Callable[[Project, User], object]


def removed(project: Project, user: User) -> None:
    remove_member(project, user.pk, actor=SYSTEM)


def went(project: Project, user: User) -> None:
    remove_member(project, user.pk, actor=Actor(user=user))


def demoted(project: Project, user: User) -> None:
    change_role(project, user.pk, role=Role.VIEWER, actor=SYSTEM)


def disabled(project: Project, user: User) -> None:
    disable_account(user, actor=SYSTEM)


def disabled_elsewhere(project: Project, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)
    lapse()


def deleted(project: Project, user: User) -> None:
    user.delete()
    lapse()


WAYS = [removed, went, demoted, disabled, disabled_elsewhere, deleted]


@pytest.mark.parametrize("end", WAYS)
def test_what_a_reviewer_held_is_offered_to_others(end: Ending) -> None:
    project = given.project()
    anna, ben = reviewer(project, name="anna"), reviewer(project, name="ben")
    held, kept = waiting_rows(project, 2)
    claim_review(held, actor=anna)
    assign_review(kept, AssignInput(to="anna"), actor=SYSTEM)
    queue = make_queue(project, "Hers", members=["anna", "ben"])
    make_set(project)
    claimed(project, actor=anna)
    assert anna.user is not None
    assert claim_next(project, actor=ben) is None
    end(project, anna.user)
    sent = [claim_next(project, actor=ben), claim_next(project, actor=ben)]
    assert {review.pk for review in sent if review} == {held.pk, kept.pk}
    assert list(QueueMember.objects.filter(queue=queue).values_list("user__username", flat=True)) == ["ben"]
    assert not PairJudgement.objects.exists()
    assert claimed(project, actor=ben).by_label == "ben"
    trail = AuditEntry.objects.filter(project=project)
    assert trail.get(action="review.released", target_id=held.pk).before == {"holder": "anna"}
    assert trail.get(action="pair.released").before == {"holder": "anna"}
    if end is not deleted:  # the database itself clears these with the account
        ended = trail.filter(action="review.assigned", target_id=kept.pk).latest("created_at")
        assert (ended.before, ended.after) == ({"assignee": "anna"}, {"assignee": None})
        assert trail.get(action="queue.changed").after["members"] == ["ben"]


@pytest.mark.parametrize("end", [removed, went, disabled, disabled_elsewhere, demoted])
def test_a_departed_member_owns_no_entries_and_a_viewer_still_does(end: Ending) -> None:
    project, other = given.project(), given.project()
    anna = given.member(project, Role.CURATOR)
    given.member(other, Role.VIEWER, user=anna)
    own, elsewhere = make_entry(project, owner=anna, state="approved"), make_entry(other, owner=anna)
    end(project, anna)
    own.refresh_from_db()
    elsewhere.refresh_from_db()
    assert own.owner == (anna if end is demoted else None)
    assert elsewhere.owner == (None if end in (disabled, disabled_elsewhere) else anna)
    assert AuditEntry.objects.filter(project=project, action="entry.owned").exists() is (end is not demoted)


def test_a_role_that_may_still_review_keeps_what_it_holds() -> None:
    project = given.project()
    anna = reviewer(project, name="anna", role=Role.CURATOR)
    [held] = waiting_rows(project, 1)
    claim_review(held, actor=anna)
    assert anna.user is not None
    change_role(project, anna.user.pk, role=Role.REVIEWER, actor=SYSTEM)
    held.refresh_from_db()
    assert held.holder == anna.user


def test_a_panel_offers_a_released_seat_to_another_reviewer() -> None:
    panel = open_panel(reviewers=2)
    anna, ben, cem = (reviewer(panel.project, name=name) for name in ("anna", "ben", "cem"))
    say(panel, ben)
    take_seat(panel, anna)
    assert anna.user is not None
    removed(panel.project, anna.user)
    say(panel, cem)
    panel.refresh_from_db()
    assert panel.state == "settled"


# API keys.


def key_of(project: Project, maker: User, *scopes: str) -> Caller:
    return given.caller(project, scopes or [Scope.ADMIN], made_by=maker)


def boss_and_maker() -> tuple[Project, User, User]:
    project = given.project()
    return project, given.member(project, Role.ADMIN), given.member(project, Role.ADMIN, user=given.user("maker"))


@pytest.mark.parametrize("end", [removed, went, demoted, disabled])
def test_keys_are_revoked_with_the_right_of_who_made_them(end: Ending) -> None:
    project, _boss, maker = boss_and_maker()
    caller = key_of(project, maker)
    assert caller.get("review-policy").status == 200
    end(project, maker)
    then.refused(caller.get("review-policy"), 401)
    assert ApiKey.objects.get(pk=caller.key.pk).revoked_at is not None
    assert AuditEntry.objects.get(action="api_key.revoked").target_id == caller.key.pk


@pytest.mark.parametrize("role", [Role.CURATOR, Role.VIEWER, None])
def test_a_key_that_remains_loses_admin_and_goes_on_with_its_other_scopes(role: Role | None) -> None:
    project, _boss, maker = boss_and_maker()
    caller = key_of(project, maker, Scope.ADMIN, Scope.RUNS_READ)
    if role is None:
        kept = remove_member(project, maker.pk, actor=SYSTEM, revoke_keys=False)
    else:
        kept = change_role(project, maker.pk, role=role, actor=SYSTEM, revoke_keys=False).keys
    assert (list(kept.revoked), list(kept.remaining)) == ([], [caller.key])
    assert caller.get("runs").status == 200
    for path in ("export/project.zip", "audit-entries", "webhooks"):
        then.refused(caller.get(path), 403)
    then.refused(caller.post("invitations", {}), 403)


def test_a_key_loses_admin_with_its_maker_however_that_happened() -> None:
    project, _boss, maker = boss_and_maker()
    caller = key_of(project, maker)
    Membership.objects.filter(user=maker).update(role=Role.CURATOR)
    then.refused(caller.get("audit-entries"), 403)
    maker.delete()
    then.refused(caller.get("audit-entries"), 403)
    assert given.caller(project, [Scope.ADMIN]).get("audit-entries").status == 200, "of the command, made by nobody"


def test_no_key_of_a_disabled_account_works_however_it_was_disabled() -> None:
    project, _boss, maker = boss_and_maker()
    caller = key_of(project, maker, Scope.RUNS_READ)
    User.objects.filter(pk=maker.pk).update(is_active=False)
    then.refused(caller.get("runs"), 401)
    User.objects.filter(pk=maker.pk).update(is_active=True)
    assert caller.get("runs").status == 200


def test_open_invitations_of_an_ended_admin_and_their_keys_are_revoked() -> None:
    project, _boss, maker = boss_and_maker()
    caller = key_of(project, maker)
    create_invitation(project, role=Role.ADMIN, actor=Actor(user=maker))
    create_invitation(project, role=Role.VIEWER, actor=Actor(api_key=caller.key))
    change_role(project, maker.pk, role=Role.CURATOR, actor=SYSTEM, revoke_keys=False)
    assert not Invitation.objects.filter(revoked_at=None).exists()


def test_a_revoked_key_releases_its_reviews_and_work() -> None:
    project = given.project(review_policy={"audit_share": 0})
    caller = given.caller(project, [Scope.TASKS_WRITE, Scope.REVIEWS_WRITE, Scope.RUNS_READ])
    by_key, ben = Actor(api_key=caller.key), reviewer(project, name="ben")
    run, [held] = waiting(project), waiting_rows(project, 1)
    assert caller.post("tasks/claim", {}).status == 200
    claim_review(held, actor=by_key)
    revoke_api_key(caller.key, actor=SYSTEM)
    assert not AgentLease.objects.filter(run=run).exists()
    assert claim_next(project, actor=ben) == held
    ended = AuditEntry.objects.filter(action__in=("run.released_by_agent", "review.released"))
    assert ended.count() == 2


def test_rest_names_the_keys_revoked_and_those_that_remain() -> None:
    project = given.project()
    admin = given.caller(project, [Scope.ADMIN])
    first, second = (given.member(project, Role.CURATOR) for _ in range(2))
    key, other = (given.api_key(project, made_by=maker)[0] for maker in (first, second))
    named = [{"id": str(key.pk), "name": key.name, "prefix": key.hint}]
    answer = admin.call("PATCH", f"members/{first.pk}", data='{"role": "viewer"}')
    assert (answer.body["role"], answer.body["revoked_keys"], answer.body["remaining_keys"]) == ("viewer", named, [])
    answer = admin.call("DELETE", f"members/{second.pk}?revoke_keys=false")
    assert (answer.status, answer.body["revoked_keys"]) == (200, [])
    assert [one["id"] for one in answer.body["remaining_keys"]] == [str(other.pk)]


@pytest.mark.parametrize(("ticked", "works"), [(True, False), (False, True)])
def test_the_page_asks_about_the_keys(client: Client, *, ticked: bool, works: bool) -> None:
    project, boss, maker = boss_and_maker()
    caller = key_of(project, maker, Scope.RUNS_READ)
    client.force_login(boss)
    tick = {"revoke_keys": "on"} if ticked else {}
    role_page = reverse("change_member", args=(project.slug, maker.pk))
    asked = client.post(role_page, {"role": "curator"}).text
    assert "Revoke their 1 API key" in asked
    assert caller.key.name in asked
    assert Membership.objects.get(user=maker).role == Role.ADMIN, "nothing is done before it is answered"
    client.post(role_page, {"role": "curator", "asked_about_keys": "1"} | tick)
    assert Membership.objects.get(user=maker).role == Role.CURATOR
    assert (caller.get("runs").status == 200) is works
    remove_page = reverse("remove_member", args=(project.slug, maker.pk))
    assert ("Revoke their 1 API key" in client.get(remove_page).text) is works
    client.post(remove_page, {"asked_about_keys": "1"} | tick)
    assert (caller.get("runs").status == 200) is works


def test_the_command_disables_an_account_and_names_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    project, _boss, maker = boss_and_maker()
    key = key_of(project, maker).key
    monkeypatch.setattr("builtins.input", lambda _question: "n")
    out, err = StringIO(), StringIO()
    call_command("deactivate_user", "maker", stdout=out, stderr=err)
    maker.refresh_from_db()
    assert not maker.is_active
    assert f"does not work while the account is disabled: {key.name}" in out.getvalue()
    call_command("deactivate_user", "maker", undo=True, stdout=out)
    call_command("deactivate_user", "maker", no_input=True, stdout=out)
    assert f"revoked: {key.name}" in out.getvalue()
    actions = AuditEntry.objects.filter(action__startswith="member.").order_by("created_at")
    assert list(actions.values_list("action", flat=True)) == ["member.disabled", "member.enabled", "member.disabled"]
    with pytest.raises(CommandError):
        call_command("deactivate_user", "nobody")
