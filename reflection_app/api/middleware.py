"""Requests of programs pass none of the pages' middleware: no session, login, CSRF, messages, language of a reader.

They are REST, OTLP, MCP and the probes. A key is the only credential there and no cookie is read, so there is nothing
that a foreign page could use.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.csp import ContentSecurityPolicyMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import translation

type Answer = Callable[[HttpRequest], HttpResponse]

OF_PROGRAMS = ("/api/", "/v1/", "/mcp", "/healthz", "/readyz")


def is_of_programs(path: str) -> bool:
    return path.startswith(OF_PROGRAMS)


class ProgramHandler(BaseHandler):
    """Answers the requests of programs, with the security headers that pages have."""

    _view_middleware: ClassVar[list[Any]] = []
    _template_response_middleware: ClassVar[list[Any]] = []
    _exception_middleware: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        answer: Any = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]
        for middleware in (for_programs, ContentSecurityPolicyMiddleware, SecurityMiddleware):
            answer = convert_exception_to_response(middleware(answer))
        self._middleware_chain = answer
        self.answer: Answer = answer


def for_programs(get_response: Answer) -> Answer:
    """A middleware: the host is checked, and the answer is English, of known length, and neither stored nor framed."""

    def answered(request: HttpRequest) -> HttpResponse:
        request.get_host()  # raises DisallowedHost
        # Their words are part of an interface that is written down in English.
        with translation.override(settings.LANGUAGE_CODE):
            response = get_response(request)
        headers = response.headers
        headers.setdefault("Content-Language", settings.LANGUAGE_CODE)
        headers.setdefault("Cache-Control", "private, no-store")
        headers.setdefault("X-Frame-Options", settings.X_FRAME_OPTIONS)
        if not response.streaming:
            headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return answered


def programs_apart(get_response: Answer) -> Answer:
    """A middleware, the first: a request of a program passes none of those that follow."""
    programs = ProgramHandler()

    def answered(request: HttpRequest) -> HttpResponse:
        return (programs.answer if is_of_programs(request.path_info) else get_response)(request)

    return answered
