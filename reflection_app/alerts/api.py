"""Channels over REST, and the goals for what waits."""

from uuid import UUID

from rest_framework.response import Response

from reflection_app.alerts.answers import (
    ChannelAnswer,
    ChannelMessageDetail,
    ChannelMessagePage,
    ChannelPage,
)
from reflection_app.alerts.channels import (
    ChannelChange,
    ChannelInput,
    change_channel,
    change_waiting,
    check_address,
    create_channel,
    delete_channel,
)
from reflection_app.alerts.models import Channel, ChannelKind, ChannelMessage, MessageState
from reflection_app.alerts.sending import TEST_DEADLINE_S, Held, begin_test, send
from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once, is_answered, replayed
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, Nothing, get_row
from reflection_app.core.permissions import Permission
from reflection_app.loops.project_settings import WaitingSettings

EXAMPLES = {
    "Slack": {
        "kind": "slack",
        "name": "#agents",
        "url": "https://hooks.slack.com/services/T000/B000/xyz",
        "topics": ["review", "escalation"],
    },
    "Feishu, with a signature and quiet nights": {
        "kind": "feishu",
        "name": "评审",
        "url": "https://open.feishu.cn/open-apis/bot/v2/hook/xyz",
        "secret": "…",
        "language": "zh-hans",
        "quiet_from": "22:00",
        "quiet_until": "08:00",
    },
}


class Channels(DeskView):
    def get_object(self, channel_id: UUID) -> Channel:
        channels = Channel.objects.select_related("project").filter(project=self.project, pk=channel_id)
        return get_row(channels, "channel")

    @read("list_channels", "Channels to chat services, newest first", may=Permission.MANAGE_WEBHOOKS)
    def list(self, query: PageQuery) -> ChannelPage:
        return self.page(ChannelPage, Channel.objects.filter(project=self.project), query)

    @change(
        "create_channel",
        "Have a room of a chat service told what waits",
        may=Permission.MANAGE_WEBHOOKS,
        what="channel",
        answers={201: ChannelAnswer},
        problems=(409,),
        examples=EXAMPLES,
        once=False,
    )
    def create(self, body: ChannelInput) -> Response:
        # Not within the transaction of the idempotency key: a name server may take its time.
        origin = "" if is_answered(self) else check_address(body.url, kind=body.kind)

        def carry_out() -> Response:
            channel = create_channel(self.project, body, actor=self.actor, origin=origin)
            return response_of(ChannelAnswer.from_row(channel), 201)

        return answer_once(self, carry_out)

    @read("get_channel", "One channel; of its address the host", may=Permission.MANAGE_WEBHOOKS)
    def retrieve(self, channel: Channel) -> ChannelAnswer:
        return ChannelAnswer.from_row(channel)

    @change(
        "change_channel",
        "Change a channel; what is left out stays",
        may=Permission.MANAGE_WEBHOOKS,
        what="change",
        answers={200: ChannelAnswer},
        examples={"Switch it off": {"is_enabled": False}},
        once=False,
    )
    def partial_update(self, channel: Channel, body: ChannelChange) -> Response:
        """An address at another host takes the secret with it, unless one is sent along."""
        origin = ""
        if body.url is not None and not is_answered(self):
            origin = check_address(body.url, kind=ChannelKind(channel.kind))

        def carry_out() -> Response:
            changed = change_channel(channel, body, actor=self.actor, origin=origin)
            return response_of(ChannelAnswer.from_row(changed))

        return answer_once(self, carry_out)

    @change("delete_channel", "Delete a channel and its log", may=Permission.MANAGE_WEBHOOKS)
    def destroy(self, channel: Channel) -> None:
        delete_channel(channel, actor=self.actor)

    @change(
        "test_channel",
        "Send a test message at once, and see what the service says",
        may=Permission.MANAGE_WEBHOOKS,
        answers={200: ChannelMessageDetail},
        once=False,
    )
    def test(self, channel: Channel, body: Nothing) -> Response:
        """It is tried once, within 10 s, also where the channel is off or has its quiet hours."""
        begun: list[Held] = []

        def begin() -> Response:
            begun.append(begin_test(channel, actor=self.actor))
            return Response({"id": str(begun[0].message.pk)})

        answer = answer_once(self, begin)
        # Not within the transaction of the idempotency key: nothing is held while a service is waited for.
        for held in begun:
            send(held, deadline_s=TEST_DEADLINE_S)
        message = ChannelMessage.objects.get(channel=channel, pk=UUID(answer.data["id"]))
        return response_of(ChannelMessageDetail.from_row(message), headers=replayed(answer))


class MessageFilters(PageQuery):
    state: MessageState | None = None


class ChannelMessages(Channels):
    @read("list_channel_messages", "What a channel was sent, newest first", may=Permission.MANAGE_WEBHOOKS)
    def list_messages(self, channel: Channel, query: MessageFilters) -> ChannelMessagePage:
        rows = ChannelMessage.objects.filter(channel=channel, **query.get_filters())
        return self.page(ChannelMessagePage, rows, query)


class OneChannelMessage(DeskView):
    def get_object(self, channel_id: UUID, message_id: UUID) -> ChannelMessage:
        rows = ChannelMessage.objects.filter(project=self.project, channel=channel_id, pk=message_id)
        return get_row(rows, "message")

    @read("get_channel_message", "One message with every try", may=Permission.MANAGE_WEBHOOKS)
    def retrieve(self, message: ChannelMessage) -> ChannelMessageDetail:
        return ChannelMessageDetail.from_row(message)


class WaitingGoals(DeskView):
    @read("get_waiting_goals", "Within what time people are to answer", may=Permission.READ)
    def retrieve(self) -> WaitingSettings:
        return self.project.get_waiting()

    @change(
        "put_waiting_goals",
        "Set other goals for what waits for people; of what is left out, the usual",
        may=Permission.CHANGE_SETTINGS,
        what="goals",
        examples={"An hour, in Shanghai": {"review_goal_minutes": 60, "time_zone": "Asia/Shanghai"}},
    )
    def update(self, body: WaitingSettings) -> WaitingSettings:
        """What waits longer escalates: to the channels for it, and to admins and curators."""
        return change_waiting(self.project, body, actor=self.actor).get_waiting()
