"""Middleware of all pages: compression, no store, and addresses that only act."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect
from django.urls import NoReverseMatch

from reflection_app.web.access import DeskRequest, ProjectView
from reflection_app.web.list_pages import wants_part

# Pages go out compressed where that tells nobody on the way what they hold.


# Seeds of second factors and recovery codes stand on pages that can be asked for again and again. Compressed, the
# length of such a page could be made to tell them (BREACH); Django's random padding only makes that slower.
SECRETS = "/account/two-factor/"


def compressed(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware that compresses HTML. What answers a form goes as it is: keys and links are shown there, once."""
    gzip = GZipMiddleware(get_response)

    def answered(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming
        if is_page and request.method == "GET" and not request.path.startswith(SECRETS):
            return gzip.process_response(request, response)  # type: ignore[return-value]
        return response

    return answered


# Pages and answers are for their reader alone: nothing on the way, and no browser's disk, may keep them.


def no_store(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware; an answer that says itself how long it may be kept goes as it is."""

    def answered(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return answered


# Addresses that only act. Reloaded or opened by hand, they lead to the page that they belong to.


def post_only[**P](*, page: str) -> Callable[[ProjectView[P]], ProjectView[P]]:
    """A view that acts on POST; whoever only looks is sent to `page`, which takes the same arguments, or none."""

    def decorate(view: ProjectView[P]) -> ProjectView[P]:
        @wraps(view)
        def acting(request: DeskRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method in {"GET", "HEAD"}:
                return _redirect_to(page, request.place.project.slug, *args, *kwargs.values())
            if request.method != "POST":
                return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
            return view(request, *args, **kwargs)

        return acting

    return decorate


def _redirect_to(page: str, *arguments: object) -> HttpResponse:
    """Redirect to `page` with all of `arguments`, or with the fewer that it takes."""
    for count in range(len(arguments), 0, -1):
        try:
            return redirect(page, *arguments[:count])
        except NoReverseMatch:
            continue
    return redirect(page)


# Addresses that answer a part of a page. Opened by hand or after a reload, they lead to the whole page.


def fragment[R: HttpRequest, **P](
    *, page: str
) -> Callable[[Callable[Concatenate[R, P], HttpResponse]], Callable[Concatenate[R, P], HttpResponse]]:
    """A view that answers htmx with a part of `page`, and every other request with a redirect to `page`."""

    def decorate(view: Callable[Concatenate[R, P], HttpResponse]) -> Callable[Concatenate[R, P], HttpResponse]:
        @wraps(view)
        def answered(request: R, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if wants_part(request):
                return view(request, *args, **kwargs)
            place = getattr(request, "place", None)
            slug = (place.project.slug,) if place else ()
            return _redirect_to(page, *slug, *args, *kwargs.values())

        answered.fragment_of = page  # type: ignore[attr-defined]
        return answered

    return decorate
