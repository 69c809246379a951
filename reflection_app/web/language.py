"""Language and theme of a page: the person's own, else the browser's."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from reflection_app.core.models import Profile, Theme

# In whose language a page is drawn: the person's own, else the browser's. REST speaks English to everybody.
#
# A person's choice is kept in the profile and goes into a cookie when it is made and at each login, so that no request
# has to ask the database for it. Logging out takes the cookie away: the next person at this browser may read another.


# Light or dark: the system's, unless a person chose. A cookie holds the choice: pages are drawn in it at once.

COOKIE = "desk_theme"
SCHEMES = {"": "light dark", Theme.LIGHT: "light", Theme.DARK: "dark"}


def theme_of(request: HttpRequest) -> str:
    """The theme chosen for this browser; empty where the system decides."""
    kept = request.COOKIES.get(COOKIE, "")
    return kept if kept in Theme.values else ""


def keep_theme[Response: HttpResponseBase](response: Response, theme: str) -> Response:
    """`response`, with which the browser keeps `theme`; with an empty one the system decides again."""
    return _keep(response, COOKIE, theme)


def _keep[Response: HttpResponseBase](response: Response, name: str, value: str) -> Response:
    if not value:
        response.delete_cookie(name, samesite="Lax")
        return response
    response.set_cookie(
        name,
        value,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def in_the_readers_language(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware; not Django's own, which leaves the language of one request to whatever its thread does next."""

    def answered(request: HttpRequest) -> HttpResponse:
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    return answered


def keep_language[Response: HttpResponseBase](response: Response, language: str) -> Response:
    """`response`, with which the browser keeps `language`; with an empty one it goes back to its own."""
    return _keep(response, settings.LANGUAGE_COOKIE_NAME, language)


def greet[Response: HttpResponseBase](response: Response, user: User) -> Response:
    """The answer to a login: from here on in the person's language, or as chosen on the login page, and theme."""
    profile = Profile.objects.filter(user=user).first()
    if profile is None:
        return response
    keep_theme(response, profile.theme)
    return keep_language(response, profile.language) if profile.language else response


class ForgettingLogoutView(LogoutView):
    """Logs out, and leaves the language and the theme to the browser."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return keep_theme(keep_language(super().post(request, *args, **kwargs), ""), "")
