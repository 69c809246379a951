"""Who may see and do what on the pages. Views obtain projects, runs and reviews only through here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from reflection_app.alerts.models import Channel
from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError
from reflection_app.core.models import ApiKey, Membership, Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.repairs.models import Ticket, ToolFailure
from reflection_app.reviews.models import BulkDecision, Review
from reflection_app.runs.models import Run, Step
from reflection_app.sessions.models import Transcript
from reflection_app.teams.models import Delivery, Secret, Tool, Webhook

# The page for a change that was not made. Each class of error has its status (core/errors.py).


def refused(request: HttpRequest, error: ActionError) -> HttpResponse:
    return render(request, "refused.html", {"error": error, "title": _(error.title)}, status=error.status)


@dataclass(frozen=True)
class Place:
    """The project that a request is about, and the member who makes it."""

    project: Project
    membership: Membership
    actor: Actor

    def may(self, permission: Permission) -> bool:
        return member_may(self.membership, permission)


class DeskRequest(HttpRequest):
    """A request of somebody who is logged in and a member of the project in its address."""

    user: User
    place: Place
    # What this request has decided, for the words of its answer (reviews/views/decision.py).
    last_decision: Any
    # The named queues that its reader works from, asked for once (queues/views/named.py).
    worked_from: Any
    # How much waits for a person, where the page has counted it already (reviews/pages/queue.py).
    open_reviews: int


def back_to(
    request: DeskRequest, page: str, *args: object, message: str = "", level: int = messages.SUCCESS
) -> HttpResponse:
    """What follows a post that did something: a page of the project, which says so."""
    return lead_to(request, page, request.place.project.slug, *args, message=message, level=level)


def lead_to(
    request: HttpRequest, page: str, *args: object, message: str = "", level: int = messages.SUCCESS
) -> HttpResponse:
    """The same for an address, or for a page that stands in no project or in another."""
    if message:
        messages.add_message(request, level, message)
    return redirect(page, *args)


def confirm_page(
    request: DeskRequest, *, title: str, text: str, button: str, back: str, about: str = "", look: str = "danger"
) -> HttpResponse:
    """The page that asks before a POST to the same address acts."""
    context = {"title": title, "about": about, "text": text, "button": button, "back": back, "look": look}
    return render(request, "confirm.html", context)


def keep_secret_once(request: DeskRequest, name: str, secret: str, *, of: UUID) -> None:
    """Keeps a secret that was made just now until the page of `of` shows it, once."""
    request.session[name] = {"of": str(of), "secret": secret}


def take_secret_once(request: DeskRequest, name: str, *, of: UUID) -> str:
    """The secret that was kept for this page, else nothing."""
    made: dict[str, str] = request.session.get(name) or {}
    if request.method != "GET" or made.get("of") != str(of):
        return ""
    del request.session[name]
    return made["secret"]


def get_membership_for(user: User, *, slug: str) -> Membership | None:
    """The membership of `user` in the project, with the project; None where there is none."""
    rows = Membership.objects.select_related("project")
    return rows.filter(user=user, project__slug=slug, project__deleted_at__isnull=True).first()


def get_run_for(place: Place, run_id: UUID) -> Run:
    """The project's run, with its task. Raises Http404, like all of these."""
    runs = Run.objects.select_related("task", "project", "best_attempt")
    return get_object_or_404(runs, project=place.project, pk=run_id)


def get_step_for(place: Place, run_id: UUID, seq: int) -> Step:
    steps = Step.objects.select_related("run__task")
    return get_object_or_404(steps, run__project=place.project, run=run_id, seq=seq)


def get_attachment_for(place: Place, attachment_id: UUID) -> Attachment:
    """The project's attachment, without its bytes."""
    return get_object_or_404(Attachment, project=place.project, pk=attachment_id)


def get_rendered_page_for(place: Place, attachment_id: UUID, *, page: int) -> RenderedPage:
    """The newest picture of a page of the project's attachment."""
    pages = RenderedPage.objects.filter(attachment__project=place.project, attachment=attachment_id, page=page)
    newest = pages.order_by("-created_at").first()
    if newest is None:
        raise Http404
    return newest


def get_ticket_for(place: Place, ticket_id: str) -> Ticket:
    """The project's rewind ticket with all that its page shows."""
    tickets = Ticket.objects.select_related("run__task", "attempt", "superseded_by", "resolved_by")
    return get_object_or_404(tickets, project=place.project, ticket_id=ticket_id)


def get_review_for(place: Place, review_id: UUID) -> Review:
    """The project's review with all that its page shows."""
    reviews = Review.objects.filter(project=place.project).select_related("run__task", "attempt", "verdict", "step")
    review = get_object_or_404(reviews, pk=review_id)
    # What few reviews have is asked for where it is used: joined in, thirteen tables would be planned and read for each
    # heartbeat and each decision.
    review.project = place.project
    for verdict in (review.verdict, review.decided_verdict):
        if verdict is not None and verdict.attempt_id == review.attempt_id:
            verdict.attempt = review.attempt
    return review


def get_bulk_for(place: Place, bulk_id: UUID) -> BulkDecision:
    return get_object_or_404(BulkDecision, project=place.project, pk=bulk_id)


def get_transcript_for(place: Place, transcript_id: UUID) -> Transcript:
    return get_object_or_404(Transcript, project=place.project, pk=transcript_id)


def get_api_key_for(place: Place, key_id: UUID) -> ApiKey:
    return get_object_or_404(ApiKey, project=place.project, pk=key_id)


def get_tool_for(place: Place, tool_id: UUID) -> Tool:
    tools = Tool.objects.select_related("project", "created_by")
    return get_object_or_404(tools, project=place.project, pk=tool_id)


def get_tool_failure_for(place: Place, failure_id: UUID) -> ToolFailure:
    """The project's failed call with what its page shows."""
    failures = ToolFailure.objects.select_related("run", "step", "fix_pair").defer("run__spec")
    return get_object_or_404(failures, project=place.project, pk=failure_id)


def get_secret_for(place: Place, secret_id: UUID) -> Secret:
    """The project's secret, without its value."""
    return get_object_or_404(Secret.objects.defer("ciphertext"), project=place.project, pk=secret_id)


def get_webhook_for(place: Place, webhook_id: UUID) -> Webhook:
    """The project's webhook, without its secrets."""
    webhooks = Webhook.objects.select_related("project", "created_by").defer("ciphertext", "former_ciphertext")
    return get_object_or_404(webhooks, project=place.project, pk=webhook_id)


def get_channel_for(place: Place, channel_id: UUID) -> Channel:
    """The project's channel, without its address."""
    channels = Channel.objects.select_related("project", "created_by").defer("ciphertext")
    return get_object_or_404(channels, project=place.project, pk=channel_id)


def get_delivery_for(place: Place, delivery_id: UUID) -> Delivery:
    """What a webhook of the project was sent, with its event."""
    deliveries = Delivery.objects.select_related("event", "webhook__project", "again")
    return get_object_or_404(deliveries, project=place.project, pk=delivery_id)


type ProjectView[**P] = Callable[Concatenate[DeskRequest, P], HttpResponse]

READING = frozenset({"GET", "HEAD"})


def project_page[**P](
    permission: Permission = Permission.READ, *, post: Permission | None = None
) -> Callable[[ProjectView[P]], Callable[..., HttpResponse]]:
    """A view of `/p/<slug>/…`, for members with the permission; a stranger gets 404, as if no such project existed.

    What is not read needs `post`, where that is another.
    """
    to_change = post or permission

    def decorate(view: ProjectView[P]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            desk_request = cast("DeskRequest", request)
            membership = get_membership_for(desk_request.user, slug=slug)
            if membership is None:
                raise Http404("no such project")
            desk_request.place = place_of(desk_request, membership)
            if not desk_request.place.may(permission if request.method in READING else to_change):
                raise PermissionDenied
            try:
                return view(desk_request, *args, **kwargs)
            except ActionError as error:
                return refused(request, error)
            except ObjectDoesNotExist as error:
                # Found a moment ago, and deleted before it could be locked.
                raise Http404("deleted meanwhile") from error

        # What the walk over all pages and the written matrix go by.
        guarded.permissions = {"GET": permission, "POST": to_change}  # type: ignore[attr-defined]
        return cast("Callable[..., HttpResponse]", login_required(cast("Any", guarded)))

    return decorate


def place_of(request: DeskRequest, membership: Membership) -> Place:
    """Where the member who makes `request` is, and as whom they act there."""
    actor = Actor(user=request.user, address=client_address(request.META))
    return Place(project=membership.project, membership=membership, actor=actor)


MARK = "must_change_password"


def must_change_password(session: SessionBase) -> bool:
    """Whether who logged in with this session has yet to choose a password."""
    return bool(session.get(MARK))
