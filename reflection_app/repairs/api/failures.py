"""Failed calls of tools: report one and be told what to do, say how it went, read them and the cheat sheet."""

from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once, replayed
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.storable import AgentName
from reflection_app.loops.values import Value
from reflection_app.repairs.answers.failures import (
    CheckAnswer,
    CheckPage,
    CheckStateAnswer,
    DiagnosisState,
    FixPairPage,
    ToolFailureAnswer,
    ToolFailurePage,
    check_answer,
    check_line,
    checks_to_show,
    fix_pair_answer,
    in_state,
    state_of,
    tool_failure_answer,
)
from reflection_app.repairs.cheat_sheet import CheatSheetAnswer, cheat_sheet
from reflection_app.repairs.completeness import CheckSubmission, check_completeness
from reflection_app.repairs.failures_by_meaning import judged_remedy
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.repairs.tool_failures import (
    DiagnosisJudgement,
    FixOutcomeSubmission,
    ToolFailureSubmission,
    judge_diagnosis,
    report_fix_outcome,
    report_tool_failure,
)
from reflection_app.runs.models import Run

FAILURES = {
    "Search timeout": {
        "tool": "mcp__arxiv-mcp-server__search_papers",
        "params": {"query": "multi-agent orchestration", "categories": ["cs.AI"]},
        "error_message": "Timeout after 30s",
        "agent": "academic-researcher",
    },
    "Rate limit": {
        "tool": "mcp__zread__read_file",
        "params": {"path": "README.md"},
        "error_message": "Rate limit exceeded",
        "status": 429,
        "retry_after_seconds": 60,
        "tools": [{"name": "mcp__zread__search_doc", "description": "Searches a repository's documents."}],
    },
}
OUTCOMES = {
    "Otherwise": {"worked": True, "params": {"query": "multi-agent"}, "fix": "A shorter query", "delay_seconds": 5},
}


JUDGEMENTS = {
    "Corrected diagnosis": {
        "error_type": "parameter_error",
        "remedy": "fix_and_retry",
        "action": "Ask for fewer results; it times out on more than 100.",
    },
}


class FixPairFilters(PageQuery):
    tool: str | None = Field(default=None, max_length=200, description="full name of the tool")
    type: ErrorType | None = Field(default=None, serialization_alias="error_type")


class ToolFailureFilters(FixPairFilters):
    agent: AgentName | None = Field(default=None, max_length=120)
    external_id: str | None = Field(default=None, max_length=200)
    worked: bool | None = Field(
        default=None, description="whether the applied fix worked; excludes failures without a reported outcome"
    )


class CheatSheetQuery(Value):
    tool: str = Field(default="", max_length=200, description="part of the tool's name")


def failures_to_show(project: Project) -> QuerySet[ToolFailure]:
    """The project's failures, with what an answer tells of their runs."""
    return ToolFailure.objects.filter(project=project).select_related("run").defer("run__spec")


class ToolFailures(DeskView):
    def get_object(self, failure_id: UUID) -> ToolFailure:
        return get_row(failures_to_show(self.project).filter(pk=failure_id), "tool failure")

    def get_settled(self, failure: ToolFailure, query: WaitQuery) -> ToolFailure:
        """The failure, once it is diagnosed or the wait is over. Call it outside of transactions."""
        if query.wait and failure.run_id is not None and state_of(failure) is DiagnosisState.DIAGNOSING:
            wait_until_settled(failure.run_id, key=self.key, longest_s=query.wait)
            failure = self.get_object(failure.pk)
        return failure

    @read("list_tool_failures", "List failed calls, newest first", may=Permission.READ)
    def list(self, query: ToolFailureFilters) -> ToolFailurePage:
        failures = failures_to_show(self.project).filter(**query.get_filters())
        return self.page(ToolFailurePage, failures, query, each=tool_failure_answer)

    @change(
        "report_tool_failure",
        "Report a failed call and get advice",
        may=Permission.HAND_IN,
        what="report",
        answers={201: ToolFailureAnswer},
        examples=FAILURES,
        once=False,
        location="tool-failures/{id}",
    )
    def create(self, query: WaitQuery, body: ToolFailureSubmission) -> Response:
        """A fix that worked before, or a rule, is returned at once. If neither fits, a model diagnoses the failure:
        `wait` returns its diagnosis with this response. Otherwise, retrieve the failure later.
        """
        judged = judged_remedy(body.failed_call(is_repeated=False))

        def report() -> Response:
            failure = report_tool_failure(self.project, body, actor=self.actor, judged=judged)
            return Response({"id": str(failure.pk)}, 201)

        reported = answer_once(self, report)
        failure = self.get_settled(self.get_object(UUID(reported.data["id"])), query)
        return response_of(tool_failure_answer(failure), 201, headers=replayed(reported))

    @read("get_tool_failure", "Get a failed call, optionally waiting for diagnosis", may=Permission.READ)
    def retrieve(self, failure: ToolFailure, query: WaitQuery) -> ToolFailureAnswer:
        return tool_failure_answer(self.get_settled(failure, query))

    @change(
        "report_fix_outcome",
        "Report the outcome of a fix, once",
        may=Permission.HAND_IN,
        what="outcome",
        problems=(409,),
        examples=OUTCOMES,
    )
    def report_outcome(self, failure: ToolFailure, body: FixOutcomeSubmission) -> ToolFailureAnswer:
        """A fix that worked is saved as a fix pair and tried first the next time."""
        report_fix_outcome(failure, body, actor=self.actor)
        return tool_failure_answer(self.get_object(failure.pk))

    @change(
        "judge_diagnosis",
        "Confirm or correct a diagnosis",
        may=Permission.REVIEW,
        what="judgement",
        problems=(409,),
        examples=JUDGEMENTS,
    )
    def judge(self, failure: ToolFailure, body: DiagnosisJudgement) -> ToolFailureAnswer:
        """The audit trail records who corrected the diagnosis."""
        judge_diagnosis(failure, body, actor=self.actor)
        return tool_failure_answer(self.get_object(failure.pk))


class Fixes(DeskView):
    @read("list_fix_pairs", "List fixes that worked, newest first", may=Permission.READ)
    def list(self, query: FixPairFilters) -> FixPairPage:
        wanted = {name: value for name, value in query.get_filters().items() if value}
        pairs = FixPair.objects.filter(project=self.project, **wanted)
        return self.page(FixPairPage, pairs, query, each=fix_pair_answer)

    @read("get_cheat_sheet", "Get usual failures and fixes per tool", may=Permission.READ)
    def cheat_sheet(self, query: CheatSheetQuery) -> CheatSheetAnswer:
        return cheat_sheet(self.project, tool=query.tool)


# Completeness checks: hand in a history and be told what it lacks.

EXAMPLES = {
    "User was not notified": {
        "objective": "Search the newest news on AI and tell the user.",
        "history": [{"operation": "Search the news", "tool": "search_web", "ok": True, "result": "Three articles …"}],
        "tools": [{"name": "search_web"}, {"name": "message_send", "description": "Sends the user a message."}],
        "kind": "research",
    },
}


class CheckFilters(PageQuery):
    state: CheckStateAnswer | None = None
    kind: str | None = Field(default=None, max_length=60)


class Checks(DeskView):
    def get_object(self, check_id: UUID) -> Run:
        checks = checks_to_show(Run.objects.filter(project=self.project, pk=check_id))
        return get_row(checks, "completeness check")

    @read("list_completeness_checks", "List completeness checks of histories, newest first", may=Permission.READ)
    def list(self, query: CheckFilters) -> CheckPage:
        checks = checks_to_show(Run.objects.filter(project=self.project))
        if query.kind is not None:
            checks = checks.filter(task__kind=query.kind)
        if query.state is not None:
            checks = in_state(checks, query.state)
        return self.page(CheckPage, checks, query, each=check_line)

    @change(
        "check_completeness",
        "Check a submitted history for completeness",
        may=Permission.HAND_IN,
        what="completeness check",
        answers={201: CheckAnswer},
        examples=EXAMPLES,
        once=False,
        location="completeness-checks/{id}",
    )
    def create(self, query: WaitQuery, body: CheckSubmission) -> Response:
        def begin() -> Response:
            return Response({"run_id": str(check_completeness(self.project, body, actor=self.actor).pk)})

        begun = answer_once(self, begin)
        run_id = UUID(begun.data["run_id"])
        # Outside of the transaction that took the history: its run begins only when that has committed.
        if query.wait:
            wait_until_settled(run_id, key=self.key, longest_s=query.wait)
        return response_of(check_answer(self.get_object(run_id)), 201, headers=replayed(begun))

    @read("get_completeness_check", "Get a completeness check, optionally waiting for it", may=Permission.READ)
    def retrieve(self, check: Run, query: WaitQuery) -> CheckAnswer:
        if query.wait:
            wait_until_settled(check.pk, key=self.key, longest_s=query.wait)
            check = self.get_object(check.pk)
        return check_answer(check)
