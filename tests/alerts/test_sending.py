"""Messages to channels over real HTTP: gathered, sent once, tried again, held by one worker at a time."""

import json
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import Settings

from notebook_app.models import Conflict
from reflection_app.alerts import sending
from reflection_app.alerts.escalating import begin_channel_digests
from reflection_app.alerts.models import Channel, ChannelItem, ChannelMessage, ChannelTry, MessageState, Topic
from reflection_app.alerts.sending import (
    LOST,
    LOST_AGAIN,
    NOTHING_ARRIVED,
    SERVICE_REFUSES,
    claim,
    due_channels,
    send,
    send_due,
)
from reflection_app.config.jobs import send_channels, send_to_channel
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project, Role
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.events import EventType
from reflection_app.runs.models import Run, RunState
from reflection_app.teams.models import Notification, NotificationKind
from reflection_app.teams.notifications import path_of, sentence_of
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import OK, PATH, gathered, make_channel, only_message, rest, service
from tests.notebook.entries import make_entry
from tests.pace import PATIENCE_S
from tests.runs.questions import waiting_question
from tests.teams.webhooks import Receiver, happen

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback", "committing")]


@pytest.fixture
def project(settings: Settings) -> Project:
    settings.PUBLIC_URL = "https://desk.example"
    return given.project("desk", name="Support")


def told(receiver: Receiver) -> list[Any]:
    return [json.loads(heard.body) for heard in receiver.heard]


def approve(review: Review) -> None:
    actor = Actor(user=given.member(review.project))
    token = claim_review(review, actor=actor).lease_token
    decide_review(review, DecisionInput(lease_token=token, decision="approve"), actor=actor)


def end(run: Run, outcome: str) -> None:
    happen(run, EventType.RUN_FINISHED, outcome=outcome)
    Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED, outcome=outcome, finished_at=run.created_at)


def test_what_waits_is_told_with_a_link_to_its_very_page(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        review, question = given.waiting_review(project), waiting_question(project)
        assert send_due(channel.pk, clock=gathered())
    (message,) = told(slack)
    said = json.dumps(message, ensure_ascii=False)
    assert slack.heard[0].path == PATH
    assert f"<https://desk.example/p/desk/reviews/{review.pk}/|Review waiting for less than a minute>" in said
    assert f"<https://desk.example/p/desk/questions/{question.pk}/|Agent question waiting" in said
    sent = only_message()
    assert (sent.state, sent.tries, sent.next_at) == (MessageState.DELIVERED, 1, None)
    assert sent.log.get().status == 200
    assert "Review waiting for" in sent.text


def test_only_what_the_channel_is_for_is_told_and_nothing_twice(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack, topics=["run_failed"])
        given.waiting_review(project)
        for outcome in ("failed", "over_budget", "timed_out", "succeeded"):
            end(given.submitted_run(project), outcome)
        clock = gathered()
        assert send_due(channel.pk, clock=clock)
        rest(clock)
        assert not send_due(channel.pk, clock=clock)
        assert due_channels(clock()) == []
    (message,) = told(slack)
    lines = [block["text"]["text"] for block in message["blocks"][1:-1]]
    assert len(lines) == 3
    assert all(any(text in line for line in lines) for text in ("Run failed", "Run went over budget", "Run timed out"))


def test_a_conflict_of_the_notebook_is_told_while_it_is_open(project: Project) -> None:
    first, second = sorted((make_entry(project) for _ in range(2)), key=lambda row: row.pk)
    with service() as slack:
        channel = make_channel(project, slack, topics=["conflict"])
        refined = sorted((make_entry(project) for _ in range(2)), key=lambda row: row.pk)
        for pair, kind in (((first, second), "contradiction"), (refined, "refinement")):
            Conflict.objects.create(
                project_id=project.pk, first=pair[0], second=pair[1], kind=kind, text_likeness=1
            )  # fmt: skip
        assert send_due(channel.pk, clock=gathered())
        assert ChannelItem.objects.count() == 1
    conflict = Conflict.objects.get(kind="contradiction")
    assert f"/p/desk/notebook/conflicts/{conflict.pk}/|Contradicting notebook entries" in str(told(slack))


def test_many_things_become_one_message_and_the_next_keeps_its_distance(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        reviews = [given.waiting_review(project) for _ in range(3)]
        clock = gathered()
        assert send_due(channel.pk, clock=clock)
        given.waiting_review(project)
        clock.forward(seconds=30)
        assert not send_due(channel.pk, clock=clock)
        assert channel.pk not in due_channels(clock())
        clock.forward(seconds=30)
        assert send_due(channel.pk, clock=clock)
    first, second = told(slack)
    assert all(str(review.pk) in str(first) for review in reviews)
    assert (len(first["blocks"]), len(second["blocks"])) == (5, 3)


def test_what_was_decided_before_it_could_be_told_is_nobodys_news(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        approve(given.waiting_review(project))
        assert not send_due(channel.pk, clock=gathered())
        assert slack.heard == []
    assert only_message().state == MessageState.OBSOLETE


def test_of_a_project_with_hostile_words_nothing_calls_anybody(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack, topics=["run_failed"])
        end(given.submitted_run(project, objective="<!channel> https://evil.example *now* @here"), "failed")
        assert send_due(channel.pk, clock=gathered())
        said = slack.heard[0].body.decode()
    assert "<!channel>" not in said
    assert "evil.example" not in said
    assert "‹！channel›" in said


def test_the_words_are_those_of_the_channels_language(project: Project) -> None:
    with service("wecom") as wecom:
        channel = make_channel(project, wecom, "wecom", language="zh-hans")
        given.waiting_review(project)
        assert send_due(channel.pk, clock=gathered())
    assert "评审已等待" in told(wecom)[0]["markdown"]["content"]


def test_quiet_hours_are_of_the_projects_time_zone_and_what_still_waits_is_told_after_them(project: Project) -> None:
    project.waiting = {"time_zone": "Asia/Shanghai"}
    project.save()
    with service() as slack:
        channel = make_channel(project, slack, quiet_from="22:00", quiet_until="07:00")
        decided, open_one = given.waiting_review(project), given.waiting_review(project)
        clock = gathered()
        # 23:30 in Shanghai is 15:30 in UTC.
        clock.now = (clock.now + timedelta(days=1)).replace(hour=15, minute=30)
        assert not send_due(channel.pk, clock=clock)
        approve(decided)
        clock.now = clock.now.replace(hour=22, minute=59) + timedelta(minutes=1)
        assert send_due(channel.pk, clock=clock)
    (message,) = told(slack)
    assert str(open_one.pk) in str(message)
    assert str(decided.pk) not in str(message)


def test_an_error_with_status_200_is_a_failure_and_tried_again_with_what_has_come_since(project: Project) -> None:
    with service("feishu", body=b'{"code":19024,"msg":"Key Words Not Found"}') as refusing:
        channel = make_channel(project, refusing, "feishu")
        first = given.waiting_review(project)
        clock = gathered()
        assert not send_due(channel.pk, clock=clock)
        message = only_message()
        assert (message.state, message.tries) == (MessageState.WAITING, 1)
        assert message.log.get().status == 200
        assert message.log.get().error
        channel.refresh_from_db()
        assert channel.state == "failing"
        second = given.waiting_review(project)
        refusing.body = OK["feishu"]
        rest(clock)
        assert send_due(channel.pk, clock=clock)
    assert only_message().state == MessageState.DELIVERED
    assert all(str(review.pk) in refusing.heard[1].body.decode() for review in (first, second))
    channel.refresh_from_db()
    assert channel.state == "on"


def test_who_asks_for_fewer_messages_is_left_alone_for_as_long_as_they_say(project: Project) -> None:
    with service("slack", "429 Too Many Requests", "200 OK", Retry_After="120") as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        assert not send_due(channel.pk, clock=clock)
        clock.forward(seconds=119)
        assert not send_due(channel.pk, clock=clock)
        assert len(slack.heard) == 1
        clock.forward(seconds=10)
        assert send_due(channel.pk, clock=clock)


def test_dingtalk_that_says_nothing_of_when_is_left_alone_for_ten_minutes(project: Project) -> None:
    with service("dingtalk", body=b'{"errcode":130101,"errmsg":"send too fast"}') as dingtalk:
        channel = make_channel(project, dingtalk, "dingtalk")
        given.waiting_review(project)
        clock = gathered()
        assert not send_due(channel.pk, clock=clock)
        clock.forward(minutes=9)
        assert due_channels(clock()) == []
        clock.forward(minutes=2)
        assert due_channels(clock()) == [channel.pk]


def assert_switched_off(channel: Channel, admin: Any, reason: str) -> None:
    channel.refresh_from_db()
    assert (channel.state, channel.off_reason) == ("off", reason)
    notice = Notification.objects.get(user=admin)
    assert notice.kind == NotificationKind.CHANNEL_OFF
    assert sentence_of(notice) == "The channel “#slack” was disabled. See its page for the reason."
    assert path_of(notice) == f"/p/desk/settings/channels/{channel.pk}/"
    entry = AuditEntry.objects.get(action="channel.switched_off")
    assert entry.after == {"reason": reason}


def test_where_nobody_is_any_more_the_channel_is_switched_off_and_admins_are_told(project: Project) -> None:
    admin = given.member(project, Role.ADMIN)
    with service("slack", "404 Not Found", body=b"no_service") as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        assert not send_due(channel.pk, clock=gathered())
    assert only_message().state == MessageState.GIVEN_UP
    assert_switched_off(channel, admin, SERVICE_REFUSES)
    given.waiting_review(project)
    assert ChannelItem.objects.filter(message=None).count() == 0


def test_after_a_day_without_success_the_channel_is_switched_off_and_admins_are_told(project: Project) -> None:
    admin = given.member(project, Role.ADMIN)
    with service("slack", "500 Internal Server Error", body=b"rollup_error") as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        tries = 0
        while Channel.objects.filter(pk=channel.pk, is_enabled=True).exists():
            assert not send_due(channel.pk, clock=clock)
            clock.forward(hours=6)
            tries += 1
    assert 4 <= tries <= 6
    assert_switched_off(channel, admin, NOTHING_ARRIVED)


def at_once(times: int, work: Any) -> Sequence[Any]:
    """What `work` returns in as many threads, which begin together."""
    barrier, found = threading.Barrier(times), []

    def run() -> None:
        try:
            barrier.wait(PATIENCE_S)
            found.append(work())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return found


@pytest.mark.django_db(transaction=True)
def test_of_several_workers_at_once_one_sends(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        assert sorted(at_once(4, lambda: send_due(channel.pk, clock=clock))) == [False, False, False, True]
        assert len(slack.heard) == 1
    assert ChannelTry.objects.count() == 1


class WorkerDied(BaseException):
    pass


def test_a_message_whose_worker_died_after_sending_is_sent_once_more_and_says_so(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise WorkerDied

    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        with monkeypatch.context() as between:
            between.setattr(sending, "record", die)
            with pytest.raises(WorkerDied):
                send_due(channel.pk, clock=clock)
        assert len(slack.heard) == 1
        clock.forward(seconds=59)
        assert not send_due(channel.pk, clock=clock)
        clock.forward(seconds=2)
        assert send_due(channel.pk, clock=clock)
        first, again = told(slack)
    assert "possible duplicate" not in str(first)
    assert "possible duplicate" in str(again)
    message = only_message()
    assert (message.state, message.losses) == (MessageState.DELIVERED, 1)
    assert [one.error for one in message.log.all()] == [LOST, ""]


def test_a_message_that_loses_two_workers_is_given_up_and_says_so(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        for _ in range(2):
            assert claim(channel.pk, now=clock()) is not None
            clock.forward(seconds=61)
        assert not send_due(channel.pk, clock=clock)
        assert slack.heard == []
    message = only_message()
    assert (message.state, message.losses) == (MessageState.GIVEN_UP, 2)
    assert [one.error for one in message.log.all()] == [LOST, LOST_AGAIN]


def test_a_worker_that_comes_back_late_notes_nothing(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        clock = gathered()
        late = claim(channel.pk, now=clock())
        assert late is not None
        clock.forward(seconds=61)
        assert send_due(channel.pk, clock=clock)
        send(late, clock=clock)
    assert [one.error for one in only_message().log.all()] == [LOST, ""]


def test_a_message_is_of_what_escalated_once_and_first(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        plain, late = given.waiting_review(project), given.waiting_review(project)
        ChannelItem.objects.create(channel=channel, project=project, topic=Topic.ESCALATION.value, about_id=late.pk)
        assert send_due(channel.pk, clock=gathered())
    lines = [block["text"]["text"] for block in told(slack)[0]["blocks"][1:-1]]
    assert len(lines) == 2
    assert f"{late.pk}/|Overdue review: waiting" in lines[0]
    assert f"{plain.pk}/|Review waiting" in lines[1]


def test_a_private_address_is_refused_when_it_is_entered_and_when_it_is_sent_to(
    project: Project, settings: Settings
) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        # What the operator allowed for this test, they allow no more.
        settings.OUTGOING_ALLOWED_NETWORKS = []
        assert not send_due(channel.pk, clock=gathered())
        with pytest.raises(InvalidInput) as refused:
            make_channel(project, slack, name="another")
        assert slack.heard == []
    assert refused.value.errors[0]["field"] == "url"
    assert "not on the public internet" in only_message().log.get().error


def test_a_service_that_repeats_the_address_brings_no_secret_into_the_log(project: Project) -> None:
    leaking = b'{"code":19021,"msg":"bad sign sssh-secret for /services/T000/B000/a-secret-path"}'
    with service("feishu", body=leaking) as feishu:
        channel = make_channel(project, feishu, "feishu", secret="sssh-secret")
        given.waiting_review(project)
        assert not send_due(channel.pk, clock=gathered())
    kept = only_message().log.get()
    assert "19021" in kept.error
    assert "secret" not in kept.error + kept.answer
    trail = str(list(AuditEntry.objects.values_list("before", "after")))
    assert "secret-path" not in trail + channel.ciphertext + channel.host
    assert "sssh" not in trail + channel.ciphertext


def test_a_digest_is_told_in_the_morning_of_the_project_and_once(project: Project) -> None:
    project.waiting = {"time_zone": "Asia/Shanghai", "review_goal_minutes": 1}
    project.save()
    with service() as slack:
        channel = make_channel(project, slack, topics=["daily"])
        given.waiting_review(project)
        approve(given.waiting_review(project))
        clock = gathered()
        clock.now = (clock.now + timedelta(days=1)).replace(hour=23, minute=59)  # 7:59 there
        Review.objects.filter(state="decided").update(decided_at=clock() - timedelta(hours=3))
        assert begin_channel_digests(clock()) == 0
        clock.forward(minutes=2)
        begin_channel_digests(clock())
        begin_channel_digests(clock())
        assert ChannelItem.objects.count() == 1
        clock.forward(seconds=15)
        assert send_due(channel.pk, clock=clock)
    said = str(told(slack)[0])
    assert "Waiting: 1 reviews, 0 questions; overdue: 1" in said
    assert "Decided in the last day: 1" in said


def test_the_workers_send_what_is_due(project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
        given.waiting_review(project)
        ChannelItem.objects.update(created_at=gathered()() - timedelta(minutes=1))
        send_channels()
        send_to_channel(str(channel.pk))
        assert len(slack.heard) == 1
    assert isinstance(only_message().pk, UUID)
    assert ChannelMessage.objects.get().state == MessageState.DELIVERED
