"""Light or dark: the system's, unless a person chose. A cookie holds the choice: pages are drawn in it at once."""

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from reflection_app.core.models import Theme

COOKIE = "desk_theme"
SCHEMES = {"": "light dark", Theme.LIGHT: "light", Theme.DARK: "dark"}


def theme_of(request: HttpRequest) -> str:
    """The theme chosen for this browser; empty where the system decides."""
    kept = request.COOKIES.get(COOKIE, "")
    return kept if kept in Theme.values else ""


def keep_theme[Response: HttpResponseBase](response: Response, theme: str) -> Response:
    """`response`, with which the browser keeps `theme`; with an empty one the system decides again."""
    if not theme:
        response.delete_cookie(COOKIE, samesite="Lax")
        return response
    response.set_cookie(
        COOKIE,
        theme,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response
