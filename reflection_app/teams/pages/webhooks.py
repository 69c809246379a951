"""The pages of webhooks: all of them, one with its log, its form, and one message with its tries."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.errors import Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.runs.events import Event, EventType
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models import TEST, Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_sending import TEST_DEADLINE_S, begin_test, redeliver, send_one
from reflection_app.teams.webhooks import (
    LONGEST_DESCRIPTION,
    MOST_WEBHOOKS,
    USUAL,
    USUAL_OVERLAP_H,
    WebhookChange,
    WebhookInput,
    change_webhook,
    create_webhook,
    delete_webhook,
    pause_webhook,
    resume_webhook,
    rotate_secret,
)
from reflection_app.web.access import DeskRequest, get_delivery_for, get_webhook_for, project_page
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.list_pages import list_response, page_before
from reflection_app.web.middleware import post_only

# The events that webhooks are told of, in words, grouped as the form offers them.

GROUPS: tuple[tuple[Promise, dict[EventType, Promise]], ...] = (
    (
        _("Runs"),
        {
            EventType.RUN_CREATED: _("a run was created"),
            EventType.RUN_WAITING: _("a run waits for a person or the agent"),
            EventType.RUN_RESUMED: _("a run goes on after waiting"),
            EventType.RUN_FINISHED: _("a run has ended, with its outcome"),
            EventType.RUN_FORKED: _("a run was forked"),
            EventType.RUN_REDONE: _("a run is to be done again"),
            EventType.RUN_RETRIED: _("a run is tried again after a failure"),
            EventType.REFLECTED: _("a run was looked back at"),
        },
    ),
    (
        _("Reviews and comments"),
        {
            EventType.REVIEW_OPENED: _("a verdict waits for a person"),
            EventType.REVIEW_ASSIGNED: _("a review was given to somebody"),
            EventType.REVIEW_OPINION: _("one of several reviewers has spoken, not what they said"),
            EventType.REVIEW_DECIDED: _("a review was decided"),
            EventType.REVIEW_UNDONE: _("a decision was undone"),
            EventType.COMMENT_ADDED: _("somebody commented"),
        },
    ),
    (
        _("Tickets, reports and questions"),
        {
            EventType.TICKET_ISSUED: _("an attempt was sent back"),
            EventType.TICKET_STARTED: _("a ticket was picked up"),
            EventType.TICKET_ENDED: _("a ticket has ended"),
            EventType.REPORT_KEPT: _("a reflection report was written"),
            EventType.QUESTION_ASKED: _("an agent asks a person"),
            EventType.QUESTION_ANSWERED: _("a question was answered"),
            EventType.TOOL_FAILURE_DIAGNOSED: _("a failed call was diagnosed"),
        },
    ),
    (
        _("Inside of runs (many)"),
        {
            EventType.STEP_STARTED: _("a step was begun"),
            EventType.STEP_FINISHED: _("a step has ended"),
            EventType.REFLECTION: _("completeness was checked"),
            EventType.REFLECTION_PLAN: _("supplements were planned"),
            EventType.REFLECTION_EXEC: _("supplements were carried out"),
        },
    ),
)


@dataclass(frozen=True)
class Offered:
    value: str
    words: Promise


@dataclass(frozen=True)
class Group:
    title: Promise
    events: list[Offered]


def groups() -> list[Group]:
    return [Group(title, [Offered(kind.value, said) for kind, said in events.items()]) for title, events in GROUPS]


def kinds() -> list[str]:
    """The types that a log can be narrowed to."""
    return [*(kind.value for _title, events in GROUPS for kind in events), TEST]


def words_of(event: Event) -> str:
    """What happened, in words."""
    return next((str(events[kind]) for _title, events in GROUPS for kind in events if kind == event.type), event.type)


FIELDS = ("url", "description")
NEW_SECRET = "new_webhook_secret"  # noqa: S105 - the name of a place in the session
SENTENCES = {
    "events": gettext_noop("Choose at least one of them."),
    "description": gettext_noop("At most 200 characters."),
}


@dataclass(frozen=True)
class LogFilters:
    """What of the address is understood; anything else in it is left aside."""

    state: str = ""
    type: str = ""

    @property
    def any(self) -> bool:
        return bool(self.state or self.type)

    @property
    def query(self) -> str:
        return urlencode({name: value for name, value in vars(self).items() if value})


@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def webhook_list(request: DeskRequest) -> HttpResponse:
    waiting = Count("deliveries", filter=Q(deliveries__state=DeliveryState.WAITING))
    rows = Webhook.objects.filter(project=request.place.project).defer("ciphertext", "former_ciphertext")
    webhooks = list(rows.annotate(waiting=waiting, arrived_at=Max("deliveries__delivered_at")))
    context = {"webhooks": webhooks, "is_full": len(webhooks) >= MOST_WEBHOOKS, "most": MOST_WEBHOOKS}
    return render(request, "teams/webhooks/list.html", context)


@never_cache
@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def webhook_page(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """What it is, how it fares, and what it was sent; its secret right after it was made."""
    webhook = get_webhook_for(request.place, webhook_id)
    filters = _read_filters(request.GET)
    log = Delivery.objects.filter(webhook=webhook).select_related("event").defer("payload")
    chosen = log.filter(**{name: value for name, value in vars(filters).items() if value})
    page = page_before(chosen.order_by("-created_at", "-id"), request, among=log.select_related(None))
    context = {
        "webhook": webhook,
        "secret": _take_secret(request, webhook),
        "deliveries": page.rows,
        "waiting": log.filter(state=DeliveryState.WAITING).count(),
        "filters": filters,
        "kinds": kinds(),
        "before": request.GET.get("before", ""),
        "older": page.last.pk if page.last else None,
    }
    return list_response(request, "teams/webhooks/page.html", context)


def _read_filters(given: QueryDict) -> LogFilters:
    state, kind = given.get("state", ""), given.get("type", "")
    return LogFilters(state=state if state in DeliveryState else "", type=kind if kind in kinds() else "")


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_webhook(request: DeskRequest) -> HttpResponse:
    if request.method != "POST":
        return _form(request, Typed(dict.fromkeys(FIELDS, "")), events=[kind.value for kind in USUAL])
    typed, events = _read(request)
    try:
        given = WebhookInput.model_validate({**typed.values, "events": events})
        webhook, secret = create_webhook(request.place.project, given, actor=request.place.actor)
    except (ValidationError, InvalidInput) as error:
        return _refused(request, typed, events, error)
    except Conflict as error:
        typed.add_error("", str(error))
        return _form(request, typed, events=events, status=409)
    keep_secret(request, webhook, secret)
    return redirect("webhook", request.place.project.slug, webhook.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_webhook(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    webhook = get_webhook_for(request.place, webhook_id)
    if request.method != "POST":
        typed = Typed({"url": webhook.url, "description": webhook.description})
        return _form(request, typed, events=webhook.events, webhook=webhook)
    typed, events = _read(request)
    try:
        change = WebhookChange.model_validate({**typed.values, "events": events})
        change_webhook(webhook, change, actor=request.place.actor)
    except (ValidationError, InvalidInput) as error:
        return _refused(request, typed, events, error, webhook=webhook)
    messages.success(request, gettext("Saved. What still waits is sent to this address."))
    return redirect("webhook", request.place.project.slug, webhook.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def delivery_page(request: DeskRequest, delivery_id: UUID) -> HttpResponse:
    """One message, what it says, and every try."""
    delivery = get_delivery_for(request.place, delivery_id)
    said = delivery.payload
    # The database keeps no order; read from the top it should begin with what kind of message it is.
    payload = said and json.dumps(
        {name: said[name] for name in sorted(said, reverse=True)}, indent=2, ensure_ascii=False
    )
    context = {"delivery": delivery, "webhook": delivery.webhook, "payload": payload, "log": list(delivery.log.all())}
    return render(request, "teams/webhooks/delivery.html", context)


def keep_secret(request: DeskRequest, webhook: Webhook, secret: str) -> None:
    """Keeps a secret that was made just now until the webhook's page shows it, once."""
    request.session[NEW_SECRET] = {"webhook": str(webhook.pk), "secret": secret}


def _take_secret(request: DeskRequest, webhook: Webhook) -> str:
    made: dict[str, str] = request.session.get(NEW_SECRET) or {}
    if request.method != "GET" or made.get("webhook") != str(webhook.pk):
        return ""
    del request.session[NEW_SECRET]
    return made["secret"]


def _read(request: DeskRequest) -> tuple[Typed, list[str]]:
    return read_typed(request.POST, FIELDS), request.POST.getlist("events")


def _refused(
    request: DeskRequest,
    typed: Typed,
    events: list[str],
    error: ValidationError | InvalidInput,
    *,
    webhook: Webhook | None = None,
) -> HttpResponse:
    found = error if isinstance(error, InvalidInput) else invalid_input(error, what="webhook")
    for one in found.errors:
        name = one["field"].partition(".")[0]
        blame(typed, [{"field": name, "message": gettext(SENTENCES[name]) if name in SENTENCES else one["message"]}])
    return _form(request, typed, events=events, webhook=webhook, status=400)


def _form(
    request: DeskRequest, typed: Typed, *, events: list[str], webhook: Webhook | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "form": typed,
        "fields": typed.fields,
        "event_errors": typed.errors.get("events", []),
        "general": typed.errors.get("", []),
        "groups": groups(),
        "chosen": events,
        "webhook": webhook,
        "longest_description": LONGEST_DESCRIPTION,
    }
    return render(request, "teams/webhooks/form.html", context, status=status)


# What is done to webhooks on their pages: testing, pausing, a new secret, deleting, sending again.

OVERLAP = "overlap_h"


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="webhook")
def test(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Sends a test at once and shows what came back."""
    delivery = begin_test(get_webhook_for(request.place, webhook_id), actor=request.place.actor)
    send_one(delivery, deadline_s=TEST_DEADLINE_S)
    return redirect("delivery_of_webhook", request.place.project.slug, delivery.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="webhook")
def switch(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Pauses, resumes, or switches on or off, as the form says."""
    webhook, actor = get_webhook_for(request.place, webhook_id), request.place.actor
    match request.POST.get("to"):
        case "paused":
            pause_webhook(webhook, actor=actor)
            messages.success(request, gettext("Paused. What happens meanwhile waits."))
        case "resumed":
            resume_webhook(webhook, actor=actor)
            messages.success(request, gettext("Resumed. What has waited is sent now."))
        case "on":
            change_webhook(webhook, WebhookChange(is_enabled=True), actor=actor)
            messages.success(request, gettext("Switched on. It is told of what happens from now on."))
        case "off":
            change_webhook(webhook, WebhookChange(is_enabled=False), actor=actor)
            messages.success(request, gettext("Switched off. What still waited is given up."))
        case _other:
            message = gettext("paused, resumed, on or off")
            raise InvalidInput(gettext("What is the webhook to be?"), errors=[{"field": "to", "message": message}])
    return redirect("webhook", request.place.project.slug, webhook.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Asks how long the former secret goes on signing; the POST makes the new one, which its page shows once."""
    webhook = get_webhook_for(request.place, webhook_id)
    typed = Typed({OVERLAP: f"{USUAL_OVERLAP_H:g}"})
    if request.method == "POST":
        typed = read_typed(request.POST, (OVERLAP,))
        try:
            _rotated, secret = rotate_secret(webhook, actor=request.place.actor, overlap_h=_hours(typed))
        except InvalidInput as error:
            for one in error.errors:
                typed.add_error(OVERLAP, one["message"])
        else:
            keep_secret(request, webhook, secret)
            return redirect("webhook", request.place.project.slug, webhook.pk)
    context = {"webhook": webhook, "field": typed.fields[OVERLAP]}
    return render(request, "teams/webhooks/rotate.html", context, status=400 if typed.errors else 200)


def _hours(typed: Typed) -> float:
    """The number of hours; one that is none is out of bounds."""
    try:
        return float(typed.values[OVERLAP] or 0)
    except ValueError:
        return -1.0


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    webhook = get_webhook_for(request.place, webhook_id)
    if request.method != "POST":
        return render(request, "teams/webhooks/delete.html", {"webhook": webhook})
    delete_webhook(webhook, actor=request.place.actor)
    messages.success(request, gettext("The webhook and its log are deleted."))
    return redirect("webhooks", request.place.project.slug)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="delivery_of_webhook")
def send_again(request: DeskRequest, delivery_id: UUID) -> HttpResponse:
    """Has the message sent again; its own page says how that goes."""
    again = redeliver(get_delivery_for(request.place, delivery_id), actor=request.place.actor)
    messages.success(request, gettext("It is sent again within a few seconds."))
    return redirect("delivery_of_webhook", request.place.project.slug, again.pk)
