"""Channels over REST: nothing secret comes back, other projects' are not there."""

import json
from typing import Any

import pytest
from django.db import connection

from reflection_app.adapters.outgoing import addresses
from reflection_app.alerts.channels import MOST_CHANNELS, open_address
from reflection_app.alerts.models import Channel, ChannelItem, ChannelMessage
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import IdempotentAnswer, Project, Scope
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import PATH, make_channel, service
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.api.stories import waiting_review

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]


def patch(admin: Caller, path: str, **change: Any) -> Any:
    return admin.call("PATCH", path, data=json.dumps(change))


def test_a_channel_is_made_read_changed_and_deleted_and_its_address_never_told(admin: Caller) -> None:
    with service("feishu") as feishu:
        body = {
            "kind": "feishu",
            "name": "评审",
            "url": feishu.url + PATH,
            "secret": "sssh",
            "topics": ["escalation", "review", "review"],
            "language": "zh-hans",
            "quiet_from": "22:00",
            "quiet_until": "08:00:30",
        }
        made = admin.post("channels", body, idempotency_key="once")
        assert made.status == 201
        assert admin.post("channels", body, idempotency_key="once").body == made.body
        told = made.body
        path = f"channels/{told['id']}"
        assert admin.get(path).body == told
        assert admin.get("channels").body["results"] == [told]
        assert (told["host"], told["has_secret"], told["state"]) == (feishu.url, True, "on")
        assert (told["topics"], told["quiet_from"], told["quiet_until"]) == (["review", "escalation"], "22:00", "08:00")
        changed = patch(admin, path, name="#new", topics=["daily"], quiet_from=None, quiet_until=None).body
        assert (changed["name"], changed["topics"], changed["quiet_from"]) == ("#new", ["daily"], None)
        assert (changed["language"], changed["has_secret"]) == ("zh-hans", True)
        assert patch(admin, path, is_enabled=False).body["state"] == "off"
    assert admin.call("DELETE", path).status == 204
    assert_problem(admin.get(path), 404)
    kept = [str(told), str(changed), *map(str, AuditEntry.objects.values("before", "after"))]
    kept += map(str, IdempotentAnswer.objects.values_list("body", flat=True))
    assert not any("secret-path" in text or "sssh" in text for text in kept)
    actions = AuditEntry.objects.filter(action__startswith="channel").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["channel.created", "channel.changed", "channel.changed", "channel.deleted"]


def test_an_address_at_another_host_takes_the_secret_with_it(admin: Caller) -> None:
    with service("dingtalk") as first, service("dingtalk") as second:
        channel = make_channel(admin.project, first, "dingtalk", secret="SECabc")
        path = f"channels/{channel.pk}"
        assert patch(admin, path, url=first.url + "/robot/send?access_token=other").body["has_secret"]
        channel.refresh_from_db()
        assert open_address(channel).secret == "SECabc"
        moved = patch(admin, path, url=second.url + "/x").body
        assert (moved["host"], moved["has_secret"]) == (second.url, False)
        channel.refresh_from_db()
        assert (open_address(channel).url, open_address(channel).secret) == (second.url + "/x", "")
        assert patch(admin, path, url=first.url + "/x", secret="SECnew").body["has_secret"]
    entries = AuditEntry.objects.filter(action="channel.changed").order_by("id")
    assert [entry.after.get("host") for entry in entries] == [first.url, second.url, first.url]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "icq"}, "kind"),
        ({"name": " "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"topics": []}, "topics"),
        ({"topics": ["everything"]}, "topics"),
        ({"language": "tlh"}, "language"),
        ({"url": "ftp://example.com"}, "url"),
        ({"url": "http://169.254.169.254/latest"}, "url"),
        ({"url": "https://user:pw@example.com/"}, "url"),
        ({"secret": "sssh"}, "secret"),
        ({"quiet_from": "25:00", "quiet_until": "08:00"}, "quiet_from"),
        ({"quiet_from": "22:00+02:00", "quiet_until": "08:00"}, "quiet_from"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_a_channel_is_refused_at_its_field(admin: Caller, change: dict[str, Any], field: str) -> None:
    with service() as slack:
        answer = admin.post("channels", {"kind": "slack", "name": "#a", "url": slack.url, **change})
    assert_problem(answer, 400)
    assert field in {name.split(".")[0] for name in fields(answer)}
    assert not Channel.objects.exists()


def test_quiet_hours_have_two_ends_that_differ(admin: Caller) -> None:
    with service() as slack:
        for hours in ({"quiet_from": "22:00"}, {"quiet_from": "22:00", "quiet_until": "22:00"}):
            answer = admin.post("channels", {"kind": "slack", "name": "#a", "url": slack.url, **hours})
            assert_problem(answer, 400)


def test_a_retired_connector_of_teams_is_refused_with_what_to_do(
    admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.adapters.outgoing.addresses.look_up", lambda host, port: ["93.184.215.14"])
    url = "https://contoso.webhook.office.com/webhookb2/x@y/IncomingWebhook/z"
    answer = admin.post("channels", {"kind": "teams", "name": "#a", "url": url})
    assert_problem(answer, 400)
    assert "workflow" in answer.body["errors"][0]["message"]


def test_a_name_is_taken_once_and_there_are_not_too_many(admin: Caller) -> None:
    with service() as slack:
        first = make_channel(admin.project, slack, name="#0")
        assert_problem(admin.post("channels", {"kind": "slack", "name": "#0", "url": slack.url}), 400)
        for number in range(1, MOST_CHANNELS):
            make_channel(admin.project, slack, name=f"#{number}")
        assert_problem(admin.post("channels", {"kind": "slack", "name": "#x", "url": slack.url}), 409)
        assert_problem(patch(admin, f"channels/{first.pk}", name="#1"), 400)
        assert patch(admin, f"channels/{first.pk}", name="#0").status == 200


def test_a_test_tells_what_the_service_said_once_a_key(admin: Caller) -> None:
    with service("wecom", body=b'{"errcode":93000,"errmsg":"invalid webhook url"}') as wecom:
        channel = make_channel(admin.project, wecom, "wecom", is_enabled=False)
        path = f"channels/{channel.pk}/test"
        said = admin.post(path, idempotency_key="t").body
        assert (said["state"], said["is_test"], said["tries"]) == ("given_up", True, 1)
        assert said["log"][0]["status"] == 200
        assert said["log"][0]["error"] == "93000 invalid webhook url"
        assert admin.post(path, idempotency_key="t").body == said
        assert len(wecom.heard) == 1
        wecom.body = b'{"errcode":0}'
        assert admin.post(path).body["state"] == "delivered"
        listed = admin.get(f"channels/{channel.pk}/messages", state="delivered").body["results"]
        assert [message["is_test"] for message in listed] == [True]
        assert admin.get(f"channels/{channel.pk}/messages/{said['id']}").body == said
    channel.refresh_from_db()
    assert channel.off_reason == ""


def test_switched_off_it_forgets_what_waits(admin: Caller) -> None:
    with service() as slack:
        channel = make_channel(admin.project, slack)
        waiting_review(admin.project)
        assert ChannelItem.objects.count() == 1
        patch(admin, f"channels/{channel.pk}", is_enabled=False)
        assert ChannelItem.objects.count() == 0
        waiting_review(admin.project)
        assert ChannelItem.objects.count() == 0


def test_another_projects_channels_and_messages_are_not_there(admin: Caller) -> None:
    with service() as slack:
        own, other = make_channel(admin.project, slack), make_channel(make_caller().project, slack)
        message = ChannelMessage.objects.create(channel=other, project=other.project)
        assert [one["id"] for one in admin.get("channels").body["results"]] == [str(own.pk)]
        for path in (
            f"channels/{other.pk}",
            f"channels/{other.pk}/messages",
            f"channels/{own.pk}/messages/{message.pk}",
        ):
            assert_problem(admin.get(path), 404)
        waiting_review(admin.project)
        assert not ChannelItem.objects.filter(channel=other).exists()


def test_only_an_admin_key_sees_channels() -> None:
    caller = make_caller(scopes=[scope for scope in Scope if scope is not Scope.ADMIN])
    assert_problem(caller.get("channels"), 403)
    assert_problem(caller.call("PUT", "waiting-goals", data="{}"), 403)
    assert caller.get("waiting-goals").status == 200


def test_goals_are_read_and_set(admin: Caller) -> None:
    usual = {"review_goal_minutes": None, "question_goal_minutes": None, "escalates_again": False, "time_zone": "UTC"}
    assert admin.get("waiting-goals").body == usual
    wanted = usual | {"review_goal_minutes": 60, "time_zone": "Asia/Shanghai"}
    for _ in range(2):
        assert admin.call("PUT", "waiting-goals", data=json.dumps(wanted)).body == wanted
    assert Project.objects.get(pk=admin.project.pk).get_waiting().review_goal_minutes == 60
    assert AuditEntry.objects.get(action="settings.changed").after == {"waiting": wanted}
    for wrong in ({"review_goal_minutes": 0}, {"time_zone": "Mars/Olympus"}, {"review_goal_minutes": 43_201}):
        answer = admin.call("PUT", "waiting-goals", data=json.dumps(wrong))
        assert_problem(answer, 400)
        assert set(fields(answer)) == set(wrong)


def test_no_transaction_waits_for_a_name_server_and_a_request_sent_again_asks_none(
    admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[int] = []

    def look_up(_host: str, _port: int) -> list[str]:
        """As the name server, who sees how many transactions of this desk are open and idle meanwhile."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND state = 'idle in transaction'"
                )
                waiting.append(cursor.fetchone()[0])
        finally:
            connection.close()
        return ["127.0.0.1"]

    monkeypatch.setattr(addresses, "look_up", look_up)
    body = {"kind": "slack", "name": "#agents", "url": "http://hooks.example/secret-path", "topics": ["review"]}
    made, again = (admin.post("channels", body, idempotency_key="made") for _ in range(2))
    assert (made.status, again.status, again.body) == (201, 201, made.body)
    path, moved = f"channels/{made.body['id']}", json.dumps({"url": "http://hooks.example/other-secret-path"})
    changed, once_more = (admin.call("PATCH", path, data=moved, headers={"Idempotency-Key": "moved"}) for _ in range(2))
    assert (changed.status, once_more.status, once_more.body) == (200, 200, changed.body)
    assert waiting == [0, 0]
    assert Channel.objects.count() == 1
