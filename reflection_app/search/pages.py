"""The search page; asked by htmx, its results alone, as the dialog that every page has shows them."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.search.asking import LONGEST_ASKED
from reflection_app.search.destinations import offered
from reflection_app.search.results import search
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response, text_of

# The element of the dialog that the results are put into, where they are options of a list box.
OPTIONS = "search-options"


@project_page()
@require_safe
def search_page(request: DeskRequest) -> HttpResponse:
    place, typed = request.place, text_of(LONGEST_ASKED)(request.GET.get("q", ""))
    context = {
        "typed": typed,
        "destinations": offered(place, request.user, typed),
        "groups": search(place.project, typed, may=place.may),
        "as_options": request.headers.get("HX-Target") == OPTIONS,
    }
    return list_response(request, "search/page.html", context)
