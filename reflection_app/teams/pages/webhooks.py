"""The pages of webhooks: all of them, one with its log, its form, and one message with its tries."""

import json
from uuid import UUID

from django.db.models import Count, Max, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import Conflict, wrong
from reflection_app.core.permissions import Permission
from reflection_app.runs.events import Event, EventType
from reflection_app.teams.models import TEST, Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_sending import TEST_DEADLINE_S, begin_test, redeliver, send_one
from reflection_app.teams.webhooks import (
    LONGEST_DESCRIPTION,
    MOST_WEBHOOKS,
    USUAL,
    WebhookChange,
    WebhookInput,
    change_webhook,
    create_webhook,
    delete_webhook,
    resume_webhook,
    rotate_secret,
)
from reflection_app.web.access import (
    DeskRequest,
    back_to,
    confirm_page,
    get_delivery_for,
    get_webhook_for,
    keep_secret_once,
    project_page,
    take_secret_once,
)
from reflection_app.web.forms import Form, Offered, Problems, Refused, api_problems_of, read_form
from reflection_app.web.list_pages import Filters, list_page, one_of
from reflection_app.web.middleware import post_only

# The events that webhooks are told of, in words, grouped as the form offers them.

GROUPS: tuple[tuple[Promise, dict[EventType, Promise]], ...] = (
    (
        _("Runs"),
        {
            EventType.RUN_CREATED: _("a run was created"),
            EventType.RUN_WAITING: _("a run waits for a reviewer or the agent"),
            EventType.RUN_RESUMED: _("a waiting run resumed"),
            EventType.RUN_FINISHED: _("a run ended, with its outcome"),
            EventType.RUN_FORKED: _("a run was forked"),
            EventType.RUN_REDONE: _("a run will be redone"),
            EventType.RUN_RETRIED: _("a run is retried after a failure"),
            EventType.REFLECTED: _("a run was reflected on"),
        },
    ),
    (
        _("Reviews and comments"),
        {
            EventType.REVIEW_OPENED: _("a verdict needs review"),
            EventType.REVIEW_ASSIGNED: _("a review was assigned"),
            EventType.REVIEW_OPINION: _("one of several reviewers submitted, without the content"),
            EventType.REVIEW_DECIDED: _("a review was decided"),
            EventType.REVIEW_UNDONE: _("a decision was undone"),
            EventType.COMMENT_ADDED: _("a comment was added"),
        },
    ),
    (
        _("Tickets, reports and questions"),
        {
            EventType.TICKET_ISSUED: _("an attempt was sent back"),
            EventType.TICKET_STARTED: _("a ticket was started"),
            EventType.TICKET_ENDED: _("a ticket ended"),
            EventType.REPORT_KEPT: _("a reflection report was written"),
            EventType.QUESTION_ASKED: _("an agent asked a question"),
            EventType.QUESTION_ANSWERED: _("a question was answered"),
            EventType.TOOL_FAILURE_DIAGNOSED: _("a failed call was diagnosed"),
            EventType.FOUND_INCOMPLETE: _("a completeness check found something missing"),
            EventType.COMPLETED: _("missing parts were completed"),
        },
    ),
    (
        _("Within runs (frequent)"),
        {
            EventType.STEP_STARTED: _("a step started"),
            EventType.STEP_FINISHED: _("a step ended"),
            EventType.REFLECTION: _("completeness was checked"),
            EventType.REFLECTION_PLAN: _("follow-up steps were planned"),
            EventType.REFLECTION_EXEC: _("follow-up steps were executed"),
            EventType.REFLECTION_AGAIN: _("completed work was checked again"),
        },
    ),
)


def kinds() -> list[str]:
    """The types that a log can be narrowed to."""
    return [*(kind.value for _title, events in GROUPS for kind in events), TEST]


def words_of(event: Event) -> str:
    """What happened, in words."""
    return next((str(events[kind]) for _title, events in GROUPS for kind in events if kind == event.type), event.type)


FIELDS = ("url", "description")
NEW_SECRET = "new_webhook_secret"  # noqa: S105 - the name of a place in the session
STATES: dict[str, Promise] = {
    DeliveryState.WAITING: _("pending"),
    DeliveryState.DELIVERED: _("delivered"),
    DeliveryState.GIVEN_UP: _("failed"),
}
SENTENCES = {
    "events": gettext_noop("Choose at least one."),
    "description": gettext_noop("At most 200 characters."),
}


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
    filters = Filters.read(request.GET, state=one_of(DeliveryState.values), type=one_of(kinds()))
    log = Delivery.objects.filter(webhook=webhook).select_related("event").defer("payload")
    return list_page(
        request,
        "teams/webhooks/page.html",
        log.filter(**filters.given).order_by("-created_at", "-id"),
        called="deliveries",
        among=log.select_related(None),
        filters=filters,
        webhook=webhook,
        secret=take_secret_once(request, NEW_SECRET, of=webhook.pk),
        waiting=log.filter(state=DeliveryState.WAITING).count(),
        states=STATES.items(),
        kinds=kinds(),
    )


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_webhook(request: DeskRequest) -> HttpResponse:
    form, status = read_form(request, FIELDS), None
    events = request.POST.getlist("events") if request.method == "POST" else [kind.value for kind in USUAL]
    if request.method == "POST":
        try:
            with form.collect_errors(_problems):
                given = WebhookInput.model_validate({**form.values, "events": events})
                webhook, secret = create_webhook(request.place.project, given, actor=request.place.actor)
                keep_secret_once(request, NEW_SECRET, secret, of=webhook.pk)
                return back_to(request, "webhook", webhook.pk)
        except Conflict as error:
            form.add_error("", str(error))
            status = error.status
    return _form(request, form, events=events, status=status)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_webhook(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    webhook = get_webhook_for(request.place, webhook_id)
    form = read_form(request, FIELDS, {"url": webhook.url, "description": webhook.description})
    events = request.POST.getlist("events") if request.method == "POST" else webhook.events
    if request.method == "POST":
        with form.collect_errors(_problems):
            change = WebhookChange.model_validate({**form.values, "events": events})
            change_webhook(webhook, change, actor=request.place.actor)
            message = gettext("Saved. Pending messages are sent to this address.")
            return back_to(request, "webhook", webhook.pk, message=message)
    return _form(request, form, events=events, webhook=webhook)


def _problems(error: Refused) -> Problems:
    problems = [(one["field"].partition(".")[0], one["message"]) for one in api_problems_of(error)]
    return [
        {"field": name, "message": gettext(SENTENCES[name]) if name in SENTENCES else message}
        for name, message in problems
    ]


def _form(
    request: DeskRequest, form: Form, *, events: list[str], webhook: Webhook | None = None, status: int | None = None
) -> HttpResponse:
    context = {
        "form": form,
        "fields": form.fields,
        "event_errors": form.errors.get("events", []),
        "general": form.errors.get("", []),
        "groups": [(title, [Offered(kind.value, words) for kind, words in events.items()]) for title, events in GROUPS],
        "chosen": events,
        "webhook": webhook,
        "longest_description": LONGEST_DESCRIPTION,
    }
    return render(request, "teams/webhooks/form.html", context, status=status or form.status)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_safe
def delivery_page(request: DeskRequest, delivery_id: UUID) -> HttpResponse:
    """One message, what it says, and every try."""
    delivery = get_delivery_for(request.place, delivery_id)
    # The database keeps no order; read from the top it should begin with what kind of message it is.
    payload = delivery.payload and json.dumps(
        {name: delivery.payload[name] for name in sorted(delivery.payload, reverse=True)}, indent=2, ensure_ascii=False
    )
    context = {"delivery": delivery, "webhook": delivery.webhook, "payload": payload, "log": list(delivery.log.all())}
    return render(request, "teams/webhooks/delivery.html", context)


# What is done to webhooks on their pages: testing, resuming, a new secret, deleting, sending again.


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="webhook")
def test(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Sends a test at once and shows what came back."""
    delivery = begin_test(get_webhook_for(request.place, webhook_id), actor=request.place.actor)
    send_one(delivery, deadline_s=TEST_DEADLINE_S)
    return back_to(request, "delivery_of_webhook", delivery.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="webhook")
def switch(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Resumes, or switches on or off, as the form says."""
    webhook, actor = get_webhook_for(request.place, webhook_id), request.place.actor
    match request.POST.get("to"):
        case "resumed":
            resume_webhook(webhook, actor=actor)
            message = gettext("Resumed. Pending messages are being sent.")
        case "on":
            change_webhook(webhook, WebhookChange(is_enabled=True), actor=actor)
            message = gettext("Enabled. It receives events from now on.")
        case "off":
            change_webhook(webhook, WebhookChange(is_enabled=False), actor=actor)
            message = gettext("Disabled. Pending messages were discarded.")
        case _other:
            raise wrong("to", gettext("resumed, on or off"), said=gettext("Invalid webhook state."))
    return back_to(request, "webhook", webhook.pk, message=message)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Asks first; the POST makes the new secret, which the webhook's page shows once."""
    webhook = get_webhook_for(request.place, webhook_id)
    if request.method != "POST":
        return confirm_page(
            request,
            title=gettext("Rotate secret?"),
            text=gettext(
                "The new secret is shown once. For a day, messages carry signatures of both secrets so that the "
                "receiver can switch."
            ),
            button=gettext("Create secret"),
            look="primary",
            back=reverse("webhook", args=(request.place.project.slug, webhook.pk)),
        )
    _rotated, secret = rotate_secret(webhook, actor=request.place.actor)
    keep_secret_once(request, NEW_SECRET, secret, of=webhook.pk)
    return back_to(request, "webhook", webhook.pk)


@project_page(Permission.MANAGE_WEBHOOKS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    webhook = get_webhook_for(request.place, webhook_id)
    if request.method != "POST":
        return confirm_page(
            request,
            title=gettext("Delete the webhook?"),
            about=webhook.url,
            text=gettext("It receives no more events, and its log is deleted. To keep the log, disable it instead."),
            button=gettext("Delete webhook"),
            back=reverse("webhook", args=(request.place.project.slug, webhook.pk)),
        )
    delete_webhook(webhook, actor=request.place.actor)
    return back_to(request, "webhooks", message=gettext("Webhook and log deleted."))


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="delivery_of_webhook")
def send_again(request: DeskRequest, delivery_id: UUID) -> HttpResponse:
    """Has the message sent again; its own page says how that goes."""
    again = redeliver(get_delivery_for(request.place, delivery_id), actor=request.place.actor)
    message = gettext("Resending within a few seconds.")
    return back_to(request, "delivery_of_webhook", again.pk, message=message)
