"""Keys try to pass for people: on panels, in figures, by members of their making, and after they were revoked."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ReviewHeld
from reflection_app.core.models import ApiKey, Membership, Role, Scope, digest_of
from reflection_app.reviews.agreement import agreement_of
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review
from reflection_app.teams.members import InvitationGone, accept_invitation, change_role, revoke_api_key
from reflection_app.teams.models import Invitation
from tests import given, then
from tests.api.caller import Caller
from tests.api.meanwhile import meanwhile
from tests.reviews.panels import open_panel, say, take_seat
from tests.reviews.reviewed import criticised, decide

pytestmark = pytest.mark.django_db
ALL: list[str] = [Scope.ADMIN]


def test_two_keys_of_one_person_and_the_person_have_one_seat() -> None:
    panel = open_panel(reviewers=3)
    maker = given.member(panel.project, Role.ADMIN)
    first, second = (Actor(api_key=given.caller(panel.project, ALL, made_by=maker).key) for _ in range(2))
    say(panel, first)
    for again in (second, Actor(user=maker)):
        with pytest.raises(ReviewHeld):
            take_seat(panel, again)
    unmade = [Actor(api_key=given.caller(panel.project, ALL).key) for _ in range(2)]
    say(panel, unmade[0])
    with pytest.raises(ReviewHeld):
        take_seat(panel, unmade[1])
    assert take_seat(panel, Actor(user=given.member(panel.project))).state == "claimed"


def test_a_second_seat_is_refused_by_the_database_too() -> None:
    panel = open_panel(reviewers=3)
    maker = given.member(panel.project, Role.ADMIN)
    seats = list(Review.objects.filter(panel=panel).order_by("id"))
    claim_review(seats[0], actor=Actor(user=maker))
    with pytest.raises(ReviewHeld):
        claim_review(seats[1], actor=Actor(api_key=given.caller(panel.project, ALL, made_by=maker).key))


def invited_by(admin: Caller) -> Membership:
    secret = admin.post("invitations", {}).body["link"].rstrip("/").rpartition("/")[2]
    return accept_invitation(digest_of(secret), actor=Actor(user=given.user()))


def test_members_made_by_a_key_and_its_open_invitations_go_with_it_and_who_was_confirmed_stays(client: Client) -> None:
    admin = given.caller(scopes=ALL)
    person = given.member(admin.project, Role.ADMIN)
    gone, stays = invited_by(admin), invited_by(admin)
    still_open = admin.post("invitations", {}).body["link"].rstrip("/").rpartition("/")[2]
    change_role(admin.project, stays.user_id, role=Role.VIEWER, actor=Actor(user=person))
    client.force_login(person)
    address = reverse("revoke_key", args=(admin.project.slug, admin.key.pk))
    asked = client.get(address).content.decode()
    assert gone.user.username in asked
    assert stays.user.username not in asked
    client.post(address)
    assert set(Membership.objects.filter(project=admin.project).values_list("user", flat=True)) == {
        person.pk,
        stays.user_id,
    }
    removed = AuditEntry.objects.get(project=admin.project, action="member.removed")
    assert (removed.actor_label, removed.before["name"]) == (person.username, gone.user.username)
    with pytest.raises(InvitationGone):
        accept_invitation(digest_of(still_open), actor=Actor(user=given.user()))


def test_the_invitation_of_an_expired_key_leads_nowhere() -> None:
    admin = given.caller(scopes=ALL)
    secret = admin.post("invitations", {}).body["link"].rstrip("/").rpartition("/")[2]
    ApiKey.objects.filter(pk=admin.key.pk).update(expires_at=timezone.now())
    with pytest.raises(InvitationGone):
        accept_invitation(digest_of(secret), actor=Actor(user=given.user()))
    assert not Invitation.objects.usable().exists()


def revoke(caller: Caller) -> None:
    revoke_api_key(caller.key, actor=Actor())


def expire(caller: Caller) -> None:
    ApiKey.objects.filter(pk=caller.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("end", [revoke, expire])
@pytest.mark.parametrize("path", ["runs/{run}", "runs/{run}/events"])
@pytest.mark.django_db(transaction=True)
def test_a_poll_ends_with_its_key_and_delivers_nothing(path: str, end: Callable[[Caller], None]) -> None:
    caller = given.caller()
    run = given.submitted_run(caller.project)
    after = {"after": run.last_event_seq} if path.endswith("events") else {}
    answer = meanwhile(lambda: caller.get(path.format(run=run.pk), wait=50, **after), lambda: end(caller))
    then.refused(answer, 401)
    assert str(run.pk) not in str(answer.body)


def test_what_happens_while_the_key_is_revoked_is_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = given.caller()
    run = given.submitted_run(caller.project)

    def ends_as_it_is_revoked(run_id: object) -> str:
        revoke(caller)
        return "finished"

    monkeypatch.setattr("reflection_app.api.waiting._state_of", ends_as_it_is_revoked)
    then.refused(caller.get(f"runs/{run.pk}", wait=5), 401)


def test_what_a_key_decides_is_in_no_figure_of_people_and_is_shown_beside() -> None:
    project = given.project()
    reviewer = given.caller(project, [Scope.REVIEWS_WRITE], made_by=given.member(project, Role.ADMIN))
    criticised(project)
    claimed = reviewer.post("reviews/claim").body
    told = {"lease_token": claimed["lease_token"], "decision": "approve"}
    answer = reviewer.post(f"reviews/{claimed['review']['id']}/decision", told)
    assert answer.body["decision"]["decided_by_key"] == str(reviewer.key.pk)

    metrics = given.caller(project, [Scope.METRICS_READ])
    calibration = metrics.get("metrics/calibration").body
    assert (calibration["critics"], calibration["by_keys"]) == ([], 1)
    figures = metrics.get("metrics/reviews").body
    assert (figures["by_reviewer"], [one["decided"] for one in figures["by_key"]]) == ([], [1])

    criticised(project)
    decide(Review.objects.get(project=project, state="waiting"))
    calibration = metrics.get("metrics/calibration").body
    assert ([one["pairs"] for one in calibration["critics"]], calibration["by_keys"]) == ([1], 1)


def test_a_panel_counts_by_the_people_who_sat_on_it() -> None:
    panel = open_panel(reviewers=2)
    say(panel, Actor(api_key=given.caller(panel.project, ALL, made_by=given.member(panel.project, Role.ADMIN)).key))
    say(panel, Actor(user=given.member(panel.project)))
    agreement = agreement_of(panel.project_id, since=panel.created_at, until=timezone.now())
    assert (agreement.panels, agreement.pairs, agreement.with_keys) == (0, (), 1)
