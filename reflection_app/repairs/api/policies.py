"""How often kinds of tasks are checked for completeness, and deciding on what is suggested of it."""

from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission
from reflection_app.repairs.answers.policies import (
    CheckPolicies,
    CheckSuggestionAnswer,
    CheckSuggestionPage,
    policies_answer,
    suggestion_answer,
)
from reflection_app.repairs.check_suggestions import SuggestionInput, decide_suggestion
from reflection_app.repairs.kind_policies import kind_policies
from reflection_app.repairs.models import CheckSuggestion, SuggestionState

DECISIONS = {"Accept": {"decision": "accept"}, "Decline": {"decision": "decline"}}


class Policies(DeskView):
    @read("list_check_policies", "How often each kind of task is checked, and what that is worth", may=Permission.READ)
    def list(self) -> CheckPolicies:
        """The kinds with an open suggestion first, then those that were checked last."""
        return policies_answer(kind_policies(self.project))


class SuggestionFilters(PageQuery):
    state: SuggestionState | None = None
    kind: str | None = Field(default=None, max_length=60, serialization_alias="task_kind")


class Suggestions(DeskView):
    def get_object(self, suggestion_id: UUID) -> CheckSuggestion:
        return get_row(CheckSuggestion.objects.filter(project=self.project, pk=suggestion_id), "suggestion")

    @read("list_check_suggestions", "Suggested policies of completeness checks, newest first", may=Permission.READ)
    def list(self, query: SuggestionFilters) -> CheckSuggestionPage:
        rows = CheckSuggestion.objects.filter(project=self.project, **query.get_filters())
        return self.page(CheckSuggestionPage, rows, query, each=suggestion_answer)

    @read("get_check_suggestion", "One suggested policy", may=Permission.READ)
    def retrieve(self, suggestion: CheckSuggestion) -> CheckSuggestionAnswer:
        return suggestion_answer(suggestion)

    @change(
        "decide_check_suggestion",
        "Accept a suggested policy, or decline it",
        may=Permission.CHANGE_SETTINGS,
        what="decision",
        problems=(409,),
        examples=DECISIONS,
    )
    def decide(self, suggestion: CheckSuggestion, body: SuggestionInput) -> CheckSuggestionAnswer:
        """What is accepted stands in the kind's settings at once; what is declined comes back on other figures only."""
        return suggestion_answer(decide_suggestion(suggestion, body, actor=self.actor))
