"""Pages and answers are for their reader alone: nothing on the way, and no browser's disk, may keep them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def no_store(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware; an answer that says itself how long it may be kept goes as it is."""

    def answered(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return answered
