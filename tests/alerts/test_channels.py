"""Making and changing channels: their addresses stay secret, and what cannot work is refused at its field."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from reflection_app.alerts.channels import (
    MOST_CHANNELS,
    ChannelChange,
    change_channel,
    delete_channel,
    open_address,
)
from reflection_app.alerts.models import Channel, ChannelItem
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, InvalidInput
from reflection_app.core.models import Project, Scope
from tests import given, then
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import make_channel, service

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
BY = Actor()


def changed(channel: Channel, **change: Any) -> Channel:
    return change_channel(channel, ChannelChange.model_validate(change), actor=BY)


def test_an_address_at_another_host_takes_the_secret_with_it_and_neither_is_in_the_trail(project: Project) -> None:
    with service("dingtalk") as first, service("dingtalk") as second:
        channel = make_channel(project, first, "dingtalk", secret="SECabc")
        channel = changed(channel, url=first.url + "/robot/send?access_token=other")
        assert open_address(channel).secret == "SECabc"
        channel = changed(channel, url=second.url + "/x")
        assert (channel.host, channel.has_secret) == (second.url, False)
        assert (open_address(channel).url, open_address(channel).secret) == (second.url + "/x", "")
        assert changed(channel, url=first.url + "/x", secret="SECnew").has_secret
        delete_channel(channel, actor=BY)
    entries = AuditEntry.objects.filter(action="channel.changed").order_by("id")
    assert [entry.after.get("host") for entry in entries] == [first.url, second.url, first.url]
    trail = str(list(AuditEntry.objects.values("before", "after")))
    assert not any(secret in trail for secret in ("secret-path", "access_token", "SEC"))


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"topics": []}, "topics"),
        ({"language": "tlh"}, "language"),
        ({"url": "http://169.254.169.254/latest"}, "url"),
        ({"kind": "teams", "url": "https://contoso.webhook.office.com/webhookb2/x"}, "url"),
        ({"secret": "sssh"}, "secret"),
        ({"quiet_from": "22:00+02:00", "quiet_until": "08:00"}, "quiet_from"),
        ({"quiet_from": "22:00"}, ""),
        ({"quiet_from": "22:00", "quiet_until": "22:00"}, ""),
    ],
)
def test_what_cannot_be_a_channel_is_refused_at_its_field(
    project: Project, monkeypatch: pytest.MonkeyPatch, sent: dict[str, Any], field: str
) -> None:
    if sent.get("kind") == "teams":
        monkeypatch.setattr("reflection_app.adapters.outgoing.addresses.look_up", lambda host, port: ["93.184.215.14"])
    with service() as slack, pytest.raises((ValidationError, InvalidInput)) as refusal:
        make_channel(project, slack, **sent)
    error = refusal.value
    if isinstance(error, InvalidInput):
        assert error.errors[0]["field"] == field
    else:
        assert isinstance(error, ValidationError)
        assert {str(one["loc"][0]) if one["loc"] else "" for one in error.errors()} == {field}
    assert not Channel.objects.exists()


def test_a_name_is_taken_once_and_there_are_not_too_many(project: Project) -> None:
    with service() as slack:
        first = make_channel(project, slack, name="#0")
        with pytest.raises(InvalidInput):
            make_channel(project, slack, name="#0")
        for number in range(1, MOST_CHANNELS):
            make_channel(project, slack, name=f"#{number}")
        with pytest.raises(Conflict):
            make_channel(project, slack, name="#x")
        with pytest.raises(InvalidInput):
            changed(first, name="#1")
        assert changed(first, name="#0").name == "#0"


def test_switched_off_it_forgets_what_waits_and_it_hears_of_its_own_project_alone() -> None:
    project = given.unsure_project("unsure")
    with service() as slack:
        channel, other = make_channel(project, slack), make_channel(given.project(), slack)
        given.waiting_review(project)
        assert [item.channel for item in ChannelItem.objects.all()] == [channel] != [other]
        changed(channel, is_enabled=False)
        given.waiting_review(project)
    assert not ChannelItem.objects.exists()


def test_goals_are_read_and_set_over_rest() -> None:
    admin = given.caller(scopes=[Scope.ADMIN])
    usual = {"review_goal_minutes": None, "question_goal_minutes": None, "escalates_again": False, "time_zone": "UTC"}
    assert admin.get("waiting-goals").body == usual
    wanted = usual | {"review_goal_minutes": 60, "time_zone": "Asia/Shanghai"}
    for _ in range(2):
        assert admin.call("PUT", "waiting-goals", data=json.dumps(wanted)).body == wanted
    assert AuditEntry.objects.get(action="settings.changed").after == {"waiting": wanted}
    for wrong in ({"review_goal_minutes": 0}, {"time_zone": "Mars/Olympus"}, {"review_goal_minutes": 43_201}):
        answer = admin.call("PUT", "waiting-goals", data=json.dumps(wrong))
        then.refused(answer, 400)
        assert set(then.named_fields(answer)) == set(wrong)
