"""The pages of channels and of the goals for what waits, and the one that ends digests by mail."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.alerts.channels import (
    LONGEST_NAME,
    MOST_CHANNELS,
    USUAL_TOPICS,
    ChannelChange,
    ChannelInput,
    change_channel,
    change_waiting,
    create_channel,
    delete_channel,
)
from reflection_app.alerts.letters import reader_of, unsubscribe
from reflection_app.alerts.models import Channel, ChannelKind, ChannelMessage, MessageState, Topic
from reflection_app.alerts.sending import TEST_DEADLINE_S, begin_test, send, test_refusal
from reflection_app.alerts.services.notes import Meaning
from reflection_app.core.errors import Conflict, InvalidInput, wrong
from reflection_app.core.permissions import Permission
from reflection_app.loops.project_settings import WaitingSettings
from reflection_app.web.access import DeskRequest, back_to, confirm_page, get_channel_for, project_page
from reflection_app.web.forms import Form, Offered, Problems, Refused, read_form
from reflection_app.web.list_pages import list_page
from reflection_app.web.middleware import post_only

FIELDS = ("kind", "name", "url", "secret", "language", "quiet_from", "quiet_until")
CHANGED = FIELDS[1:]
GOALS = ("review_goal_minutes", "question_goal_minutes", "escalates_again", "time_zone")
SENTENCES = {
    "kind": gettext_noop("Choose a service."),
    "name": gettext_noop("1 to 80 characters."),
    "url": gettext_noop("At most 4,000 characters."),
    "secret": gettext_noop("At most 200 characters."),
    "is_enabled": gettext_noop("Must be on or off."),
    "escalates_again": gettext_noop("Must be on or off."),
    "topics": gettext_noop("Choose at least one."),
    "language": gettext_noop("This language is not supported."),
    "quiet_from": gettext_noop("A time of day, such as 22:00."),
    "quiet_until": gettext_noop("A time of day, such as 07:30."),
    "": gettext_noop("Set different start and end times for quiet hours, or leave both empty."),
    "review_goal_minutes": gettext_noop("A whole number of minutes from 1 to 43,200, or leave empty."),
    "question_goal_minutes": gettext_noop("A whole number of minutes from 1 to 43,200, or leave empty."),
    "time_zone": gettext_noop("A time zone such as Europe/Berlin or Asia/Shanghai."),
}
TOPICS: dict[Topic, Promise] = {
    Topic.REVIEW: _("Review waiting"),
    Topic.QUESTION: _("Agent question"),
    Topic.ESCALATION: _("SLA target exceeded"),
    Topic.RUN_FAILED: _("Run failed, over budget or timed out"),
    Topic.CONFLICT: _("Contradicting or duplicate notebook entries"),
    Topic.DAILY: _("Daily digest (mornings)"),
    Topic.WEEKLY: _("Weekly digest (Mondays)"),
}
# Where the address of each is to be had.
WHENCE: dict[ChannelKind, Promise] = {
    ChannelKind.SLACK: _("A Slack app with incoming webhooks: https://hooks.slack.com/services/…"),
    ChannelKind.TEAMS: _("A channel workflow created from the webhook template. Office 365 connectors are retired."),
    ChannelKind.FEISHU: _(
        "Custom bot of a group: https://open.feishu.cn/open-apis/bot/v2/hook/… (Lark: larksuite.com)"
    ),
    ChannelKind.DINGTALK: _("Custom robot of a group: https://oapi.dingtalk.com/robot/send?access_token=…"),
    ChannelKind.WECOM: _("Group robot: https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…"),
}


@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def channel_list(request: DeskRequest) -> HttpResponse:
    return _list(request, _goals_form(request))


@project_page(Permission.CHANGE_SETTINGS)
@post_only(page="channels")
def save_goals(request: DeskRequest) -> HttpResponse:
    form = _goals_form(request)
    with form.collect_errors(_problems):
        given: dict[str, Any] = form.given("review_goal_minutes", "question_goal_minutes", "time_zone")
        wanted = WaitingSettings.model_validate(given | {"escalates_again": bool(form.values["escalates_again"])})
        change_waiting(request.place.project, wanted, actor=request.place.actor)
        return back_to(request, "channels", message=gettext("Saved. The targets also apply to items already waiting."))
    return _list(request, form)


def _goals_form(request: DeskRequest) -> Form:
    saved = request.place.project.get_waiting().model_dump()
    texts = {name: "" if value is None or value is False else str(value) for name, value in saved.items()}
    return read_form(request, GOALS, texts)


def _list(request: DeskRequest, form: Form) -> HttpResponse:
    rows = Channel.objects.filter(project=request.place.project).defer("ciphertext")
    arrived = Max("messages__delivered_at", filter=Q(messages__state=MessageState.DELIVERED))
    channels = list(rows.annotate(arrived_at=arrived))
    for channel in channels:
        _name_topics(channel)
    context = {
        "channels": channels,
        "is_full": len(channels) >= MOST_CHANNELS,
        "most": MOST_CHANNELS,
        "form": form,
        "fields": form.fields,
    }
    return render(request, "alerts/list.html", context, status=form.status)


def _name_topics(channel: Channel) -> None:
    channel.topic_words = [TOPICS[topic] for topic in Topic if topic in channel.topics]  # type: ignore[attr-defined]


@never_cache
@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def channel_page(request: DeskRequest, channel_id: UUID) -> HttpResponse:
    """What it is told, how it fares, and what it was sent with every try."""
    channel = get_channel_for(request.place, channel_id)
    _name_topics(channel)
    log = ChannelMessage.objects.filter(channel=channel)
    return list_page(
        request,
        "alerts/page.html",
        log.prefetch_related("log").order_by("-created_at", "-id"),
        called="sent",
        among=log,
        channel=channel,
        waiting=channel.items.filter(message=None).count(),
    )


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_channel(request: DeskRequest) -> HttpResponse:
    form, status = read_form(request, FIELDS, {"language": get_language() or settings.LANGUAGE_CODE}), None
    topics = request.POST.getlist("topics") if request.method == "POST" else [topic.value for topic in USUAL_TOPICS]
    if request.method == "POST":
        try:
            with form.collect_errors(_problems):
                given = ChannelInput.model_validate({**_typed(form), "topics": topics})
                channel = create_channel(request.place.project, given, actor=request.place.actor)
                message = gettext("Added. Send a test to check delivery.")
                return back_to(request, "channel", channel.pk, message=message)
        except Conflict as error:
            form.add_error("general", str(error))
            status = error.status
    return _form(request, form, topics=topics, status=status)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_channel(request: DeskRequest, channel_id: UUID) -> HttpResponse:
    """The address and the secret are entered anew, or left empty to stay as they are."""
    channel = get_channel_for(request.place, channel_id)
    saved = {"name": channel.name, "language": channel.language}
    saved |= {name: f"{at:%H:%M}" for name in ("quiet_from", "quiet_until") if (at := getattr(channel, name))}
    form = read_form(request, CHANGED, saved)
    topics = request.POST.getlist("topics") if request.method == "POST" else channel.topics
    if request.method == "POST":
        with form.collect_errors(_problems):
            typed = {name: value for name, value in _typed(form).items() if value or name not in {"url", "secret"}}
            change = ChannelChange.model_validate({**typed, "topics": topics})
            change_channel(channel, change, actor=request.place.actor)
            return back_to(request, "channel", channel.pk, message=gettext("Saved."))
    return _form(request, form, topics=topics, channel=channel)


def _typed(form: Form) -> dict[str, Any]:
    """What was typed, with nothing for hours that were left empty."""
    return form.values | {name: form.values[name] or None for name in ("quiet_from", "quiet_until")}


def _problems(error: Refused) -> Problems:
    """In plain sentences; what an action has against the address stays as it is."""
    if isinstance(error, InvalidInput):
        return error.errors or [{"field": "general", "message": str(error)}]
    found = error.errors(include_url=False, include_input=False)
    names = dict.fromkeys(str(one["loc"][0]) if one["loc"] else "" for one in found)
    return [{"field": name or "general", "message": gettext(SENTENCES[name])} for name in names]


def _form(
    request: DeskRequest, form: Form, *, topics: list[str], channel: Channel | None = None, status: int | None = None
) -> HttpResponse:
    context = {
        "form": form,
        "fields": form.fields,
        "general": form.general,
        "topic_errors": form.errors.get("topics", []),
        "topics": [Offered(topic.value, words) for topic, words in TOPICS.items()],
        "chosen": topics,
        "kinds": [(one, WHENCE[one]) for one in ChannelKind],
        "languages": settings.LANGUAGES,
        "channel": channel,
        # Which service it will be is not settled before it is saved.
        "signs": channel is None or ChannelKind(channel.kind).signs,
        "time_zone": request.place.project.get_waiting().time_zone,
        "longest_name": LONGEST_NAME,
    }
    return render(request, "alerts/form.html", context, status=status or form.status)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="channel")
def test(request: DeskRequest, channel_id: UUID) -> HttpResponse:
    """Sends a test at once, and tells what the service said."""
    channel = get_channel_for(request.place, channel_id)
    held = begin_test(channel, actor=request.place.actor)
    if send(held, deadline_s=TEST_DEADLINE_S).meaning is Meaning.ARRIVED:
        return back_to(request, "channel", channel.pk, message=gettext("Test delivered."))
    said = test_refusal(held.message)
    message = gettext("Test not delivered: %(said)s") % {"said": said[:300]}
    return back_to(request, "channel", channel.pk, message=message, level=messages.ERROR)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="channel")
def switch(request: DeskRequest, channel_id: UUID) -> HttpResponse:
    """Switches it on or off, as the form says."""
    channel = get_channel_for(request.place, channel_id)
    match request.POST.get("to"):
        case "on":
            change_channel(channel, ChannelChange(is_enabled=True), actor=request.place.actor)
            message = gettext("Enabled. It receives events from now on.")
        case "off":
            change_channel(channel, ChannelChange(is_enabled=False), actor=request.place.actor)
            message = gettext("Disabled. Unsent messages were discarded.")
        case _other:
            raise wrong("to", "on or off", said=gettext("Choose on or off."))
    return back_to(request, "channel", channel.pk, message=message)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: DeskRequest, channel_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    channel = get_channel_for(request.place, channel_id)
    if request.method != "POST":
        return confirm_page(
            request,
            title=gettext("Delete channel?"),
            about=f"{channel.name} {channel.host}/…",
            text=gettext("It receives no more events, and its log is deleted. To keep the log, disable it instead."),
            button=gettext("Delete channel"),
            back=reverse("channel", args=(request.place.project.slug, channel.pk)),
        )
    delete_channel(channel, actor=request.place.actor)
    return back_to(request, "channels", message=gettext("Channel and log deleted."))


# Who has the link may do this one thing: mail programs post it by themselves (RFC 8058), and send no cookies along.


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def end_digests(request: HttpRequest, token: str) -> HttpResponse:
    """Asks first; the POST ends the digests of whom the signed token names, who need not be logged in."""
    is_known = unsubscribe(token) if request.method == "POST" else reader_of(token) is not None
    context = {"is_known": is_known, "is_done": request.method == "POST"}
    return render(request, "alerts/unsubscribe.html", context, status=200 if is_known else 404)
