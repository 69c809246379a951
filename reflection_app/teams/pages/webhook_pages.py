"""The pages of webhooks: all of them, one with its log, its form, and one message with its tries."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.errors import Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models.webhook import Delivery, DeliveryState, Webhook
from reflection_app.teams.pages.webhook_words import groups, kinds
from reflection_app.teams.webhook_input import LONGEST_DESCRIPTION, USUAL, WebhookChange, WebhookInput
from reflection_app.teams.webhooks import MOST_WEBHOOKS, change_webhook, create_webhook
from reflection_app.web.access import DeskRequest, get_delivery_for, get_webhook_for, project_page
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.list_pages import list_response, page_before

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
    return render(request, "webhooks/list.html", context)


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
    return list_response(request, "webhooks/page.html", context)


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
    messages.success(request, _("Saved. What still waits is sent to this address."))
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
    return render(request, "webhooks/delivery.html", context)


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
        blame(typed, [{"field": name, "message": _(SENTENCES[name]) if name in SENTENCES else one["message"]}])
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
    return render(request, "webhooks/form.html", context, status=status)
