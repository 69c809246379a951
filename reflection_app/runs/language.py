"""In which language a socket draws: the one in which its page was drawn (web/language.py)."""

from typing import Any

from django.http import HttpRequest
from django.utils import translation


def language_of(scope: dict[str, Any]) -> str:
    """The language of the connection's cookie, else of the browser."""
    request = HttpRequest()
    request.COOKIES = dict(scope.get("cookies", {}))
    headers = dict(scope.get("headers", ()))
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language", b"").decode("latin-1")
    return translation.get_language_from_request(request)
