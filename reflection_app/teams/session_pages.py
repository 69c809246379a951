"""Where a person is logged in, browser by browser, and logging out elsewhere."""

from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe


@login_required
@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    # One that is older than the list of sessions is on it from now on.
    UserSession.objects.create_from_request(request)
    open_ones = UserSession.objects.purge_and_list(request.user)
    newest_first = sorted(open_ones, key=lambda session: session.created_at, reverse=True)
    return render(request, "usersessions/list.html", {"sessions": newest_first})


@login_required
@require_POST
def end_one(request: HttpRequest, session_id: int) -> HttpResponse:
    """Logs that browser out; one that is not the person's, or not there any more, stays as it is."""
    own = UserSession.objects.filter(user=request.user, pk=session_id)
    end_sessions(request, list(own))
    if not request.user.is_authenticated:
        return redirect("login")
    messages.success(request, _("That browser is logged out."))
    return redirect("usersessions_list")


@login_required
@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    others = UserSession.objects.filter(user=request.user).exclude(session_key=request.session.session_key)
    end_sessions(request, list(others))
    messages.success(request, _("All other browsers are logged out."))
    return redirect("usersessions_list")
