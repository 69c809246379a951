"""Members and invitations over REST."""

import pytest

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import IdempotentAnswer, Membership, Role
from reflection_app.teams.models import Invitation
from tests import given, then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def test_a_key_makes_and_changes_no_admin(admin: Caller) -> None:
    first, second = (given.member(admin.project, role) for role in (Role.ADMIN, Role.ADMIN))
    viewer = given.member(admin.project, Role.VIEWER)
    then.refused(admin.call("PATCH", f"members/{first.pk}", data='{"role": "viewer"}'), 403)
    then.refused(admin.call("DELETE", f"members/{second.pk}"), 403)
    then.refused(admin.call("PATCH", f"members/{viewer.pk}", data='{"role": "admin"}'), 403)
    then.refused(admin.post("invitations", {"role": "admin"}), 403)
    assert Membership.objects.filter(project=admin.project, role=Role.ADMIN).count() == 2
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("user_id", ["0", "99999999999999999999", "2147483648", "nobody", "-1", "007x"])
def test_an_id_that_nobody_has_is_not_found(admin: Caller, user_id: str) -> None:
    then.refused(admin.call("DELETE", f"members/{user_id}"), 404)


def test_a_repeated_request_makes_no_second_invitation_and_keeps_no_secret(admin: Caller) -> None:
    first, again = (admin.post("invitations", {}, idempotency_key="once") for _ in range(2))
    assert first.body["link"]
    assert again.body == first.body | {"link": None}
    assert Invitation.objects.count() == 1
    assert first.body["link"].split("/")[-2] not in str(IdempotentAnswer.objects.get().body)


def test_a_revoked_invitation_is_of_no_use(admin: Caller) -> None:
    made = admin.post("invitations", {}).body
    assert admin.call("DELETE", f"invitations/{made['id']}").status == 204
    assert admin.call("DELETE", f"invitations/{made['id']}").status == 204
    assert admin.get("invitations").body["results"] == []
    assert Invitation.objects.get().revoked_at is not None
    assert AuditEntry.objects.filter(action="invitation.revoked").count() == 1
