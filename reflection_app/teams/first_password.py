"""The password of a first start was seen by whoever reads along: nothing is open to its owner until they chose another.

That is looked up at each login and noted in the session, so that no page has to ask the database for it. Choosing one
ends all other sessions of the person.
"""

from collections.abc import Callable
from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from reflection_app.core.models import Profile

MARK = "must_change_password"
# By the names of their addresses. Everything else is closed, what is not written yet included.
OPEN = frozenset({"first_password", "logout", "account_logout", "set_language"})
# There a session counts for nothing: programs come with a key.
OF_PROGRAMS = ("/api/", "/v1/", "/mcp", "/healthz", "/readyz")


def must_change_password(session: SessionBase) -> bool:
    """Whether who logged in with this session has yet to choose a password."""
    return bool(session.get(MARK))


class OwnPasswordFirst:
    """A middleware: who has yet to choose a password is led to where they do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or request.path_info.startswith(OF_PROGRAMS):
            return None
        # The mark of a session that ended with another password is nobody's.
        if not must_change_password(request.session) or not request.user.is_authenticated:
            return None
        if request.resolver_match and request.resolver_match.url_name in OPEN:
            return None
        # Of a part of a page the whole has to go.
        address = reverse("first_password")
        return HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)


def _note(sender: object, request: HttpRequest, user: User, **told: Any) -> None:
    if Profile.objects.filter(user=user, must_change_password=True).exists():
        request.session[MARK] = True


def _forget(sender: object, request: HttpRequest, user: User, **told: Any) -> None:
    Profile.objects.filter(user=user).update(must_change_password=False)
    request.session.pop(MARK, None)


def listen() -> None:
    """Notes at each login who has yet to choose a password, and forgets it however one is chosen."""
    user_logged_in.connect(_note, dispatch_uid="note-first-password")
    for chosen in (password_set, password_changed, password_reset):
        chosen.connect(_forget, dispatch_uid="forget-first-password")
