"""Addresses that only act. Reloaded or opened by hand, they lead to the page that they belong to."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect

from reflection_app.web.access import DeskRequest, ProjectView


def post_only[**P](*, page: str) -> Callable[[ProjectView[P]], ProjectView[P]]:
    """A view that acts on POST; whoever only looks is sent to `page`, which takes the same arguments."""

    def decorate(view: ProjectView[P]) -> ProjectView[P]:
        @wraps(view)
        def acting(request: DeskRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method in {"GET", "HEAD"}:
                return redirect(page, request.place.project.slug, *args, *kwargs.values())
            if request.method != "POST":
                return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
            return view(request, *args, **kwargs)

        return acting

    return decorate
