"""Metrics of runs and of the review desk, and the runs behind them."""

from datetime import UTC, date, timedelta
from typing import Annotated

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from reflection_app.api.actions import read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import AgentFilter, storable
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.answers import (
    CalibrationAnswer,
    DefinitionAnswer,
    DefinitionsAnswer,
    MetricsAnswer,
    ReviewMetricsAnswer,
    RunsBehindPage,
    calibration_answer,
    metrics_answer,
)
from reflection_app.metrics.critics import calibration_figures
from reflection_app.metrics.definitions import DEFINITIONS, LONGEST_DAYS, Chosen
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.review_figures import as_csv, review_figures
from reflection_app.metrics.runs_behind import OF_REVIEWS, runs_behind, runs_behind_reviews

# Which runs the metrics are asked of, as query parameters say it.

USUAL_DAYS = 30
EARLIEST, LATEST = date(2000, 1, 1), date(9000, 1, 1)
Name = Annotated[str, AfterValidator(storable)]
Day = Annotated[date, Field(ge=EARLIEST, le=LATEST), WithJsonSchema({"type": "string", "format": "date"})]


class ChosenQuery(BaseModel):
    """Query parameters of every call for metrics."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Day | None = Field(
        default=None, description=f"first day, in UTC; default: the {USUAL_DAYS} days up to `until`"
    )
    until: Day | None = Field(default=None, description="last day, in UTC; default: today")
    agent: AgentFilter = Field(default="", max_length=120, description="only tasks of this agent")
    mode: Mode | None = Field(default=None, description="only runs of this loop")
    model: Name = Field(default="", max_length=200, description="only runs whose attempts this model made")
    kind: Name = Field(default="", max_length=60, description="only tasks of this type")
    scripted: bool = Field(default=False, description="only runs of the scripted model, which are otherwise excluded")


def chosen_by(query: ChosenQuery) -> Chosen:
    """Return the choice. Raises InvalidInput for a period that ends before it begins, or is too long."""
    until = query.until or timezone.now().astimezone(UTC).date()
    since = query.since or max(EARLIEST, until - timedelta(days=USUAL_DAYS - 1))
    chosen = Chosen(
        since=since,
        until=until,
        agent=query.agent,
        mode=query.mode.value if query.mode else "",
        model=query.model,
        kind=query.kind,
        scripted=query.scripted,
    )
    if chosen.days < 1:
        raise _wrong("since", _("must not be after the end date"))
    if chosen.days > LONGEST_DAYS:
        raise _wrong("since", _("a period has at most %(days)s days") % {"days": LONGEST_DAYS})
    return chosen


def _wrong(name: str, message: str) -> InvalidInput:
    return InvalidInput(_("Invalid period for metrics."), errors=[{"field": name, "message": message}])


class BehindQuery(ChosenQuery, PageQuery):
    model_config = ConfigDict(extra="forbid", frozen=True)

    figure: Name = Field(max_length=60, description="name of a figure or of a group of bars")
    key: Name = Field(
        default="",
        max_length=300,
        description="for a share `yes` or `no`; for bars the key of the bar; for spend `role|model`",
    )


class Figures(DeskView):
    @read("get_metrics", "Get the metrics of a period", may=Permission.READ_METRICS)
    def retrieve(self, query: ChosenQuery) -> MetricsAnswer:
        return metrics_answer(metrics_of(self.project.pk, chosen_by(query)))

    @read(
        "get_metrics_table",
        "Get the metrics of a period as CSV",
        may=Permission.READ_METRICS,
        media_type="text/csv",
    )
    def table(self, query: ChosenQuery) -> str:
        """Cells that a spreadsheet would read as a formula start with an apostrophe."""
        return as_csv(metrics_of(self.project.pk, chosen_by(query)))

    @read(
        "get_review_metrics",
        "Get review queue and decision metrics",
        may=Permission.READ_METRICS,
    )
    def of_reviews(self, query: ChosenQuery) -> ReviewMetricsAnswer:
        """Blind opinions are excluded until all reviewers have submitted theirs."""
        return ReviewMetricsAnswer.from_row(review_figures(self.project.pk, chosen_by(query)))

    @read(
        "list_runs_behind_metrics",
        "List runs behind a figure, newest first",
        may=Permission.READ_METRICS,
    )
    def runs(self, query: BehindQuery) -> RunsBehindPage:
        behind = runs_behind_reviews if query.figure in OF_REVIEWS else runs_behind
        try:
            runs = behind(self.project.pk, chosen_by(query), query.figure, query.key)
        except ValueError as error:
            wrong = [{"field": "figure", "message": str(error)}]
            raise InvalidInput(_("No runs found for this metric or key."), errors=wrong) from None
        return self.page(RunsBehindPage, runs.defer("spec", "edited_prompts"), query)

    @read("get_metric_definitions", "List the definitions of run metrics", may=Permission.READ_METRICS)
    def definitions(self) -> DefinitionsAnswer:
        results = [DefinitionAnswer(name=one.name, unit=one.unit, definition=str(one.meaning)) for one in DEFINITIONS]
        return DefinitionsAnswer(results=results)


# How far each critic can be believed.


class CalibrationQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Day | None = Field(default=None, description="first day of the verdicts, in UTC; default: the last 30 days")
    until: Day | None = Field(default=None, description="last day, in UTC; default: today")
    agent: AgentFilter = Field(default="", max_length=120, description="only tasks of this agent")
    mode: Mode | None = Field(default=None, description="only runs of this loop")
    kind: Name = Field(default="", max_length=60, description="only tasks of this type")


class Calibration(DeskView):
    @read(
        "get_calibration",
        "Compare critics' verdicts with human verdicts",
        may=Permission.READ_METRICS,
    )
    def retrieve(self, query: CalibrationQuery) -> CalibrationAnswer:
        """Verdicts are weighted inversely to their probability of being selected for review by a policy. A blind panel
        counts once it is settled. Imported judgments have no day or agent, so all of them count.
        """
        chosen = chosen_by(ChosenQuery(**query.model_dump()))
        return calibration_answer(calibration_figures(self.project.pk, chosen), chosen)
