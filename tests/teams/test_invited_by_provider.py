"""What an invitation opens to those who come by a provider: one account, and only for whom it was made."""

from threading import Thread
from time import sleep

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.teams.members import create_invitation
from reflection_app.teams.models import Invitation
from tests import given
from tests.teams.oidc_provider import Provider
from tests.teams.test_other_logins import come_back, provider

__all__ = ["provider"]
CLOSED = "Invitation required"


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_of_two_who_follow_one_link_at_once_only_one_gets_an_account(provider: Provider) -> None:
    made = create_invitation(given.project("team"), role="viewer", actor=Actor())
    second = Client()
    second.get(f"/invitations/{made.secret}/")
    landed: list[str] = []

    def follow() -> None:
        try:
            landed.append(come_back(second))
        finally:
            connection.close()

    with transaction.atomic():
        # The first one is about to be a member.
        Invitation.objects.select_for_update().get(pk=made.invitation.pk)
        thread = Thread(target=follow)
        thread.start()
        while thread.is_alive() and not somebody_waits_for_a_lock():
            sleep(0.02)
        Invitation.objects.filter(pk=made.invitation.pk).update(accepted_at=timezone.now())
    thread.join()
    assert CLOSED in landed[0]
    assert not User.objects.exists()


@pytest.mark.django_db
def test_an_invitation_for_one_address_makes_no_account_for_another(client: Client, provider: Provider) -> None:
    made = create_invitation(given.project("team"), role="viewer", email="otto@corp.example", actor=Actor())
    client.get(f"/invitations/{made.secret}/")
    assert CLOSED in come_back(client)
    assert not User.objects.exists()
