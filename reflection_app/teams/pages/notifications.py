"""What a person is told of, in all projects that they are a member of."""

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.teams.notifications import count_unread, notices_of, path_of, read_all, read_notice, sentence_of
from reflection_app.web.access import DeskRequest
from reflection_app.web.layout import stand_in_project
from reflection_app.web.list_pages import Filters, list_context
from reflection_app.web.middleware import fragment


@login_required
@require_safe
def notifications(request: HttpRequest) -> HttpResponse:
    """The list, newest first, inside the project that the person came from, if there is one."""
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    rows = notices_of(desk_request.user.pk)
    context = list_context(
        request,
        rows,
        called="lines",
        view=lambda notices: [(one, sentence_of(one), path_of(one)) for one in notices],
        among=rows.select_related(None),
        filters=_address(request, "project"),
    )
    context |= {
        "has_unread": count_unread(desk_request.user.pk) > 0,
        "here": _address(request, "project", "before").query,
    }
    return render(request, "teams/notifications/page.html", context)


@login_required
@require_safe
@fragment(page="notifications")
def count(request: HttpRequest) -> HttpResponse:
    """The number at the bell, for its own refresh."""
    return render(request, "_notification_count.html", {"count": count_unread(cast("User", request.user).pk)})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def read_one(request: HttpRequest, notice_id: UUID) -> HttpResponse:
    """Marks one as read; the list comes back where it was."""
    if request.method == "POST" and not read_notice(cast("User", request.user), notice_id):
        raise Http404("no such notification")
    return _back(request)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def read_them_all(request: HttpRequest) -> HttpResponse:
    """Marks all as read."""
    if request.method == "POST":
        read_all(cast("User", request.user))
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    query = _address(request, "project", "before").query
    return redirect(f"{reverse('notifications')}?{query}" if query else "notifications")


def _address(request: HttpRequest, *names: str) -> Filters:
    """What the address says of these, to go on with."""
    return Filters({name: request.GET.get(name, "") for name in names})
