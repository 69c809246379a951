"""Guessing passwords is slow: a name that failed too often from one address has to wait, and so has an address that
fails with ever other names.
"""

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from allauth.account.forms import LoginForm
from allauth.account.views import LoginView
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from redis.exceptions import RedisError

from reflection_app.core.audit import client_address, counted_address

log = logging.getLogger(__name__)

MOST_FAILURES = 10
# Of all names together; behind one address there may be a whole office.
MOST_FAILURES_OF_ADDRESS = 100
WITHIN_S = 15 * 60


class DeskLoginForm(LoginForm):  # type: ignore[misc]  # allauth is not typed
    """Asks for the name as `username`, the word that the keepers of passwords know."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else field_name


class BrakedLoginView(LoginView):  # type: ignore[misc]  # allauth is not typed
    """The login page; 429 for a name and address with too many failures, be the password right or wrong."""

    def post(self, request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        key, key_of_address = _key_of(request), f"login-from:{counted_address(request.META)}"
        # Counted before the password is looked at: of many requests at once none slips past the count.
        tries = _asked(lambda: _count(key))
        # A broker that did not answer is asked nothing more for this login: each question takes a second.
        tries_of_address = None if tries is None else _asked(lambda: _count(key_of_address))
        if (tries or 0) > MOST_FAILURES or (tries_of_address or 0) > MOST_FAILURES_OF_ADDRESS:
            log.warning("a login from %s was refused: too many failures", client_address(request.META))
            return self._refused()
        response: HttpResponse = super().post(request, *args, **kwargs)
        # It leads on where the password was right, be it to the second factor.
        if tries_of_address is not None and 300 <= response.status_code < 400:
            _asked(lambda: cache.delete(key))
            _asked(lambda: _uncount(key_of_address))
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"next": self.get_next_url() or ""}

    def _refused(self) -> HttpResponse:
        context = self.get_context_data(too_many=True, wait_minutes=WITHIN_S // 60)
        answer: HttpResponse = self.response_class(
            self.request, self.get_template_names(), context, status=429, headers={"Retry-After": str(WITHIN_S)}
        )
        return answer


def _key_of(request: HttpRequest) -> str:
    who = f"{request.POST.get('username', '').strip().casefold()}\n{counted_address(request.META)}"
    return f"login:{hashlib.sha256(who.encode(errors='replace')).hexdigest()}"


def _count(key: str) -> int:
    """How often it was tried with this key within the time, this one included."""
    if cache.add(key, 1, timeout=WITHIN_S):
        return 1
    try:
        return cache.incr(key)
    except ValueError:
        # It ran out between the two.
        return 1


def _uncount(key: str) -> int:
    try:
        return cache.decr(key)
    except ValueError:
        return 0


def _asked[T](question: Callable[[], T]) -> T | None:
    """The cache's answer, or None without one: then nobody is locked out."""
    try:
        return question()
    except (RedisError, OSError) as error:
        log.warning("logins are not counted, the broker is away: %s", error)
        return None
