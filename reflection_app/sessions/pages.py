"""The pages of sessions: the list, and one session turn by turn, which grows while somebody looks."""

from uuid import UUID

from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from reflection_app.notebook.views.entry import learned_from_session
from reflection_app.queues.models import ListName
from reflection_app.queues.views.saved import saved_views, understood
from reflection_app.sessions.models import Transcript
from reflection_app.sessions.traces import traces_without_session
from reflection_app.sessions.views import (
    SessionStory,
    looking_back_context,
    read_session_filters,
    sessions_found,
    tell_news,
    tell_session,
)
from reflection_app.web.access import DeskRequest, back_to, get_transcript_for, project_page
from reflection_app.web.list_pages import list_context, wants_part

NOTHING_NEW = 204
LARGEST_NUMBER = 2**31 - 1


@project_page()
@require_safe
def session_list(request: DeskRequest) -> HttpResponse:
    among, filters = Transcript.objects.filter(project=request.place.project), read_session_filters(request.GET)
    rows = sessions_found(request.place.project, filters).select_related("run")
    rows = rows.annotate(failures=Count("turns", filter=Q(turns__is_tool_failure=True)))
    rows = rows.order_by("-created_at", "-id")
    context = list_context(request, rows, called="sessions", among=among, filters=filters)
    context["saved"] = saved_views(request, ListName.SESSIONS, understood(ListName.SESSIONS, filters.query))
    context["without_session"] = traces_without_session(request.place.project)
    return render(request, "sessions/list.html", context)


@project_page()
@require_safe
def session_page(request: DeskRequest, transcript_id: UUID) -> HttpResponse:
    """The session; asked by htmx, what came after the turn and the reflection that the page shows last."""
    transcript = get_transcript_for(request.place, transcript_id)
    if wants_part(request) and "after" in request.GET:
        story = tell_news(transcript, after=_number(request, "after"), reflected=_number(request, "reflected"))
        # The end of a session changes its head and ends the asking, also where no turn comes with it.
        if not story.lines and story.is_live and bool(_number(request, "pending")) == story.state.is_pending:
            return HttpResponse(status=NOTHING_NEW)
        return render(request, "sessions/_news.html", _context(request, story))
    is_raw = request.GET.get("view") == "raw"
    story = tell_session(transcript, before=_number(request, "before") or None, is_raw=is_raw)
    context = _context(request, story) | {"learned": learned_from_session(transcript), "is_raw": is_raw}
    response = render(request, "sessions/page.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _context(request: DeskRequest, story: SessionStory) -> dict[str, object]:
    last = max((line.row.seq for line in story.lines if hasattr(line, "row")), default=story.first - 1)
    session = story.state.transcript
    back = looking_back_context(transcript=session)
    return {
        "story": story,
        "session": session,
        "project": request.place.project,
        "last": last,
        **back,
    }


@project_page()
@require_safe
def former_page(request: DeskRequest, /, **_ids: UUID) -> HttpResponse:
    return back_to(request, "sessions")


def _number(request: DeskRequest, name: str) -> int:
    """The number in the address, 0 where there is none that makes sense."""
    text = request.GET.get(name, "")
    return min(int(text), LARGEST_NUMBER) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
