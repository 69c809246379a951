"""Pages go out compressed where that tells nobody on the way what they hold."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware

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
