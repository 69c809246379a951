"""Error trace reports: find them, read one in any form, and say that its class is another."""

from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_report_for
from reflection_app.api.desk_view import DeskView, NoParameters
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.permissions import Permission
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.report_documents import markdown_of
from reflection_app.repairs.answers.report_answers import (
    ReportAnswer,
    ReportDocument,
    ReportLine,
    ReportPage,
    line_of,
    report_body,
    reports_to_show,
)
from reflection_app.repairs.correct_class import CorrectionInput, correct_class
from reflection_app.repairs.models.report import Report


class ReportFilters(PageQuery):
    run: UUID | None = Field(default=None, description="the id of a run")
    agent: str | None = Field(default=None, max_length=120)
    type: ErrorClass | None = Field(default=None, description="the class that holds")


class ReportList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_reports", summary="Reflection reports, newest first", query=ReportFilters, answer=ReportPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, ReportFilters)
        wanted = Q(project=self.project, **query.model_dump(exclude_none=True, include={"run", "agent"}))
        if query.type is not None:
            wanted &= of_class(query.type)
        page = get_page(
            reports_to_show(Report.objects.filter(wanted)), request=request, query=query, order=NEWEST_FIRST
        )
        return Response(page.with_results([ReportLine(**line_of(row)) for row in page.rows]))


def of_class(type_: ErrorClass) -> Q:
    """Reports of which this class holds."""
    return Q(corrected_type=type_.value) | Q(corrected_type__isnull=True, error_type=type_.value)


class ReportDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_report", summary="One report with all that is known of it", answer=ReportAnswer, problems=(404,)
    )
    def get(self, request: Request, reflection_id: str) -> Response:
        read_query(request, NoParameters)
        return Response(report_body(get_report_for(self.project, reflection_id)))


class ReportJson(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_report_document", summary="The report as a document", answer=ReportDocument, problems=(404,))
    def get(self, request: Request, reflection_id: str) -> Response:
        """In just the form of the Reflection Protocol, to be kept as `reflection_{id}.json`."""
        read_query(request, NoParameters)
        report = get_report_for(self.project, reflection_id)
        return Response(report.get_document(), headers=_attached(f"reflection_{report.reflection_id}.json"))


class ReportMarkdown(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_report_markdown",
        summary="The report as Markdown",
        answer=str,
        media_type="text/markdown",
        problems=(404,),
    )
    def get(self, request: Request, reflection_id: str) -> HttpResponse:
        read_query(request, NoParameters)
        report = get_report_for(self.project, reflection_id)
        return HttpResponse(
            markdown_of(report.get_document()),
            content_type="text/markdown; charset=utf-8",
            headers=_attached(f"reflection_{report.reflection_id}.md"),
        )


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


class CorrectClass(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "correct_report_class",
        summary="Say that the class of the error is another; the correction is kept as a label",
        body=CorrectionInput,
        answers={200: ReportAnswer},
        problems=(404, 409),
        examples={"The fourth time": {"type": "3.3.1", "reason": "It stops early however it is told to go on."}},
    )
    @idempotent
    def post(self, request: Request, reflection_id: str) -> Response:
        told = read_input(request, CorrectionInput, what="correction")
        correct_class(get_report_for(self.project, reflection_id), told, actor=self.actor)
        return Response(report_body(get_report_for(self.project, reflection_id)))
