"""The cheat sheet: what usually fails with each tool, and what helped."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.loops.storable import storable
from reflection_app.repairs.cheat_sheet import cheat_sheet
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response

LONGEST_SEARCH = 200


@project_page()
@require_safe
def tool_cheat_sheet(request: DeskRequest) -> HttpResponse:
    tool = storable(request.GET.get("tool", "").strip())[:LONGEST_SEARCH]
    context = {"sheet": cheat_sheet(request.place.project, tool=tool), "tool": tool}
    return list_response(request, "failures/cheat_sheet.html", context)
