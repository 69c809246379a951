"""Completeness of a project: its checks, what keeps being missing, and the figures."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from reflection_app.api.actions import read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.storable import Moment
from reflection_app.metrics.completeness_figures import completeness_figures, recurring_supplements
from reflection_app.repairs.answers.completeness import (
    CompletenessFiguresAnswer,
    RecurringAnswer,
    RecurringList,
    RunCheckAnswer,
    RunCheckPage,
)
from reflection_app.repairs.models import CompletenessCheck

Kind = Annotated[str, Field(max_length=60)]


class RunCheckFilters(PageQuery):
    state: CheckState | None = None
    kind: Kind | None = Field(
        default=None,
        serialization_alias="task_kind",
        description="task kind; an empty string matches tasks without one",
    )
    since: Moment | None = Field(
        default=None, serialization_alias="created_at__gte", description="created at or after this time"
    )
    run_id: UUID | None = None


class RecurringQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind | None = Field(default=None, description="task kind; an empty string matches tasks without one")


class Completeness(DeskView):
    @read("list_run_checks", "List all completeness checks, newest first", may=Permission.READ)
    def checks(self, query: RunCheckFilters) -> RunCheckPage:
        rows = CompletenessCheck.objects.filter(project=self.project, **query.get_filters())
        return self.page(
            RunCheckPage, rows.select_related("run").prefetch_related("supplements"), query, each=RunCheckAnswer.of
        )

    @read("list_recurring_supplements", "List recurring missing steps, most frequent first", may=Permission.READ)
    def recurring(self, query: RecurringQuery) -> RecurringList:
        found = recurring_supplements(self.project.pk, task_kind=query.kind)
        return RecurringList(results=[RecurringAnswer.of(one) for one in found])

    @read("get_completeness_figures", "Get completeness figures", may=Permission.READ)
    def figures(self) -> CompletenessFiguresAnswer:
        return CompletenessFiguresAnswer.of(completeness_figures(self.project.pk))
