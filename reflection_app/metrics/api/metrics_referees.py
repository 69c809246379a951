"""How well the referee did on recorded runs, as it was measured."""

from datetime import datetime
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.metrics.models.referee_measurement import RefereeMeasurement
from reflection_app.metrics.referee_quality import RefereeQuality


class MeasurementAnswer(Answer):
    id: UUID
    name: str = Field(description="the file of recorded runs")
    figures: RefereeQuality
    measured_by: str
    created_at: datetime


class MeasurementPage(PageAnswer):
    results: list[MeasurementAnswer]


class RefereeMeasurements(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "list_referee_measurements",
        summary="How often the attempt that is kept is right, as measured on recorded runs",
        query=PageQuery,
        answer=MeasurementPage,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        rows = RefereeMeasurement.objects.filter(project=self.project)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([_answer(row) for row in page.rows]))


def _answer(row: RefereeMeasurement) -> MeasurementAnswer:
    figures = RefereeQuality.model_validate(row.figures)
    return MeasurementAnswer(
        id=row.pk, name=row.name, figures=figures, measured_by=row.by_label, created_at=row.created_at
    )
