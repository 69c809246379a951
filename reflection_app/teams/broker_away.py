"""Accounts need what the broker counts (tries, used codes). Where it is away nothing is done, and that is said."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

RETRY_AFTER_S = 30
ACCOUNTS = ("/account/", "/login/")


class BrokerAway:
    """A middleware: 503 in place of an error. Nobody is let in uncounted, for a second factor is guessed quickly."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, RedisError) or not request.path.startswith(ACCOUNTS):
            return None
        context = {
            "title": _("Not possible just now"),
            "error": _(
                "A part of the desk that this needs is being started anew. Nothing was changed; try again soon."
            ),
        }
        response = render(request, "refused.html", context, status=503)
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
