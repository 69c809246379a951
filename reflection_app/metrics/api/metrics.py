"""Metrics of runs and of the review desk, and the runs behind them."""

from typing import Annotated

from django.http import HttpResponse
from django.utils.translation import gettext as _
from pydantic import ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView, NoParameters
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.metrics.answers.metrics_answers import (
    DefinitionAnswer,
    DefinitionsAnswer,
    MetricsAnswer,
    ReviewMetricsAnswer,
    RunsBehindPage,
    metrics_answer,
    review_metrics_answer,
    run_behind,
)
from reflection_app.metrics.api.metrics_query import ChosenQuery, Name, chosen_by, read_chosen
from reflection_app.metrics.definitions import DEFINITIONS
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.metric_lines import as_csv
from reflection_app.metrics.review_figures import review_figures
from reflection_app.metrics.runs_behind import runs_behind
from reflection_app.metrics.runs_behind_reviews import OF_REVIEWS, runs_behind_reviews
from reflection_app.metrics.values import Chosen, ChosenHour

CSV = "text/csv"


class BehindQuery(ChosenQuery, PageQuery):
    model_config = ConfigDict(extra="forbid", frozen=True)

    figure: Name = Field(max_length=60, description="the name of a figure, or of a family of bars")
    key: Name = Field(
        default="", max_length=300, description="of a share `yes` or `no`; of bars which one; of spend `role|model`"
    )
    hour: Annotated[int, Field(ge=0, le=23)] | None = Field(
        default=None, description="of a period of one day: only this hour, in UTC"
    )


class MetricsOfRuns(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get("get_metrics", summary="The metrics of a period", query=ChosenQuery, answer=MetricsAnswer)
    def get(self, request: Request) -> Response:
        found = metrics_of(self.project.pk, read_chosen(request))
        return Response(metrics_answer(found).model_dump(mode="json"))


class MetricsTable(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "get_metrics_table",
        summary="The same as lines of a table, in CSV",
        query=ChosenQuery,
        answer=str,
        media_type=CSV,
    )
    def get(self, request: Request) -> HttpResponse:
        """A cell that a spreadsheet would take for a formula begins with an apostrophe."""
        found = metrics_of(self.project.pk, read_chosen(request))
        return HttpResponse(as_csv(found), content_type=f"{CSV}; charset=utf-8")


class MetricsOfReviews(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "get_review_metrics",
        summary="The queue of reviews as it is, and the decisions of a period",
        query=ChosenQuery,
        answer=ReviewMetricsAnswer,
    )
    def get(self, request: Request) -> Response:
        """What people say blindly is in none of it before all of them have spoken."""
        found = review_figures(self.project.pk, read_chosen(request))
        return Response(review_metrics_answer(found).model_dump(mode="json"))


class MetricsRuns(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "list_runs_behind_metrics",
        summary="The runs that a figure, or a bar, was counted from, newest first",
        query=BehindQuery,
        answer=RunsBehindPage,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, BehindQuery)
        behind = runs_behind_reviews if query.figure in OF_REVIEWS else runs_behind
        try:
            runs = behind(self.project.pk, _of_hour(chosen_by(query), query.hour), query.figure, query.key)
        except ValueError as error:
            wrong = [{"field": "figure", "message": str(error)}]
            raise InvalidInput(_("There are no runs behind that."), errors=wrong) from None
        shown = runs.defer("spec", "edited_prompts")
        page = get_page(shown, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([run_behind(run) for run in page.rows]))


class MetricDefinitions(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get("get_metric_definitions", summary="What each figure of runs is", answer=DefinitionsAnswer)
    def get(self, request: Request) -> Response:
        read_query(request, NoParameters)
        results = [
            DefinitionAnswer(name=one.__name__, unit=unit, definition=" ".join((one.__doc__ or "").split()))
            for unit, definitions in DEFINITIONS.items()
            for one in definitions
        ]
        return Response(DefinitionsAnswer(results=results).model_dump(mode="json"))


def _of_hour(chosen: Chosen, hour: int | None) -> Chosen:
    """The choice, or that hour of it. Raises InvalidInput where it is of several days."""
    if hour is None:
        return chosen
    if chosen.days != 1:
        wrong = [{"field": "hour", "message": _("an hour is one of a single day")}]
        raise InvalidInput(_("There are no metrics of such a period."), errors=wrong)
    return ChosenHour(**vars(chosen), hour=hour)
