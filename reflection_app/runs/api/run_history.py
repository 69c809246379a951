"""What happened inside a run: its journal and its events."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.pages import BY_SEQ, Number, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.api.waiting import LONGEST_WAIT_S, WaitS, wait_for_event
from reflection_app.core.events import Event
from reflection_app.core.permissions import Permission
from reflection_app.runs.answers.journal_answers import (
    EventPage,
    StepPage,
    event_answer,
    step_answer,
)
from reflection_app.runs.models.run import Step


class EventFilters(PageQuery):
    after: Number = Field(default=0, description="only events whose seq is greater")
    wait: WaitS = Field(
        default=0,
        description=f"where there is none yet, answer when there is, or with none after so many seconds; "
        f"at most {LONGEST_WAIT_S:g} are waited",
    )


class RunSteps(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_steps", summary="The journal of a run", query=PageQuery, answer=StepPage, problems=(404,))
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        steps = Step.objects.filter(run=get_run_for(self.project, run_id))
        page = get_page(steps, request=request, query=query, order=BY_SEQ)
        return Response(page.with_results([step_answer(step) for step in page.rows]))


class RunEvents(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "list_events",
        summary="What happened to a run, now or once something has",
        query=EventFilters,
        answer=EventPage,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, EventFilters)
        run = get_run_for(self.project, run_id)
        if query.wait:
            wait_for_event(run.pk, after=query.after, key=self.key, longest_s=query.wait)
        events = Event.objects.filter(run=run, seq__gt=query.after)
        page = get_page(events, request=request, query=query, order=BY_SEQ)
        return Response(page.with_results([event_answer(event) for event in page.rows]))
