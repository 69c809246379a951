"""What lessons do to first attempts, the draws behind it, and outcomes of work that is no run of the desk."""

from uuid import UUID

from django.http import Http404
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from notebook_app.public import EntryState, LessonLift, exposures_of, lift_of_all, name_of
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.notebook.answers.notebook_lift_answers import (
    ExposurePageAnswer,
    LiftPageAnswer,
    exposure_answer,
    lift_answer,
)
from reflection_app.notebook.notebook_outcome import OutcomeInput, report_outcome
from reflection_app.runs.models import Run


class AfterQuery(BaseModel):
    """Pages whose cursor is the id of the last row seen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=50, ge=1, le=200, description="how many at most")
    cursor: UUID | None = Field(default=None, description="taken from `next`")


class LiftQuery(AfterQuery):
    state: EntryState = Field(default=EntryState.APPROVED, description="lessons in this state, compared among them")


class OutcomeAnswer(Answer):
    """`lessons` is of how many lessons it was recorded, given or withheld."""

    for_: str = Field(serialization_alias="for")
    succeeded: bool | None
    lessons: int


class Lift(DeskView):
    permissions = needs(get=Permission.READ_LIFT)

    @described_get(
        "get_notebook_lift",
        summary="What each lesson does to first attempts, by name",
        query=LiftQuery,
        answer=LiftPageAnswer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, LiftQuery)
        share = self.project.get_notebook().holdout_share
        lessons = lift_of_all(self.project.pk, share=share, state=query.state)
        begin = _place_after(query.cursor, lessons)
        shown = lessons[begin : begin + query.limit]
        has_more = begin + query.limit < len(lessons)
        answer = LiftPageAnswer(
            holdout_share=share,
            results=[lift_answer(lesson) for lesson in shown],
            next=_next(request, shown[-1].entry_id) if has_more and shown else None,
        )
        return Response(answer.model_dump(mode="json"))


class EntryExposures(DeskView):
    permissions = needs(get=Permission.RECALL)

    @described_get(
        "list_entry_exposures",
        summary="Who was given an entry, from whom it was withheld, and how it went, newest first",
        query=AfterQuery,
        answer=ExposurePageAnswer,
        problems=(404,),
    )
    def get(self, request: Request, entry_id: UUID) -> Response:
        query = read_query(request, AfterQuery)
        if name_of(self.project.pk, entry_id=entry_id) is None:
            raise Http404("no such entry")
        page = exposures_of(self.project.pk, entry_id, limit=query.limit, after=query.cursor)
        named = {found for one in page.exposures if (found := id_from(one.subject))}
        runs = set(Run.objects.filter(project=self.project, pk__in=named).values_list("pk", flat=True))
        answer = ExposurePageAnswer(
            results=[exposure_answer(one, runs=runs) for one in page.exposures],
            next=_next(request, page.last) if page.last else None,
        )
        return Response(answer.model_dump(mode="json"))


class Outcomes(DeskView):
    permissions = needs(post=Permission.PROPOSE_ENTRIES)

    @described_post(
        "report_notebook_outcome",
        summary="Tell how a first attempt went for which lessons were recalled",
        body=OutcomeInput,
        answers={200: OutcomeAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Of work that is no run of the desk: how runs went, the desk knows itself.

        Tell it of every piece of work that lessons were recalled for, whether it went well or not.
        """
        told = read_input(request, OutcomeInput, what="outcome")
        lessons = report_outcome(self.project, told, actor=self.actor)
        answer = OutcomeAnswer(for_=told.subject, succeeded=told.succeeded, lessons=lessons)
        return Response(answer.model_dump(mode="json", by_alias=True))


def _place_after(cursor: UUID | None, lessons: list[LessonLift]) -> int:
    """Where the page begins; at the first lesson where the one of the cursor is in this state no more."""
    places = (place for place, lesson in enumerate(lessons, start=1) if lesson.entry_id == cursor)
    return next(places, 0)


def _next(request: Request, last: UUID) -> str:
    return str(replace_query_param(request.build_absolute_uri(), "cursor", str(last)))
