"""What is done to webhooks on their pages: testing, pausing, a new secret, deleting, sending again."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.teams.pages.webhook_pages import keep_secret
from reflection_app.teams.webhook_input import WebhookChange
from reflection_app.teams.webhook_messages import TEST_DEADLINE_S, begin_test, redeliver
from reflection_app.teams.webhook_sending import send_one
from reflection_app.teams.webhooks import (
    USUAL_OVERLAP_H,
    change_webhook,
    delete_webhook,
    pause_webhook,
    resume_webhook,
    rotate_secret,
)
from reflection_app.web.access import DeskRequest, get_delivery_for, get_webhook_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.forms import Typed, read_typed

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
            messages.success(request, _("Paused. What happens meanwhile waits."))
        case "resumed":
            resume_webhook(webhook, actor=actor)
            messages.success(request, _("Resumed. What has waited is sent now."))
        case "on":
            change_webhook(webhook, WebhookChange(is_enabled=True), actor=actor)
            messages.success(request, _("Switched on. It is told of what happens from now on."))
        case "off":
            change_webhook(webhook, WebhookChange(is_enabled=False), actor=actor)
            messages.success(request, _("Switched off. What still waited is given up."))
        case _other:
            message = _("paused, resumed, on or off")
            raise InvalidInput(_("What is the webhook to be?"), errors=[{"field": "to", "message": message}])
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
    return render(request, "webhooks/rotate.html", context, status=400 if typed.errors else 200)


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
        return render(request, "webhooks/delete.html", {"webhook": webhook})
    delete_webhook(webhook, actor=request.place.actor)
    messages.success(request, _("The webhook and its log are deleted."))
    return redirect("webhooks", request.place.project.slug)


@project_page(Permission.MANAGE_WEBHOOKS)
@post_only(page="delivery_of_webhook")
def send_again(request: DeskRequest, delivery_id: UUID) -> HttpResponse:
    """Has the message sent again; its own page says how that goes."""
    again = redeliver(get_delivery_for(request.place, delivery_id), actor=request.place.actor)
    messages.success(request, _("It is sent again within a few seconds."))
    return redirect("delivery_of_webhook", request.place.project.slug, again.pk)
