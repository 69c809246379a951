"""Failed calls of tools: report one and be told what to do, say how it went, read them and the cheat sheet."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_post
from reflection_app.api.viewset import (
    DeskViewSet,
    answer_body,
    answers_get,
    answers_list,
    answers_post,
    get_row,
    needing,
)
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.models import ApiKey, Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.values import Value
from reflection_app.repairs.answers.failures import (
    CheatSheetAnswer,
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
from reflection_app.repairs.cheat_sheet import CheatSheet, cheat_sheet, markdown_of
from reflection_app.repairs.completeness import CheckSubmission, check_completeness
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.repairs.tool_failures import (
    FixOutcomeSubmission,
    ToolFailureSubmission,
    report_fix_outcome,
    report_tool_failure,
)
from reflection_app.runs.models import Run

FAILURES = {
    "A search that timed out": {
        "tool": "mcp__arxiv-mcp-server__search_papers",
        "params": {"query": "multi-agent orchestration", "categories": ["cs.AI"]},
        "error_message": "Timeout after 30s",
        "agent": "academic-researcher",
    },
    "A limit of calls": {
        "tool": "mcp__zread__read_file",
        "params": {"path": "README.md"},
        "error_message": "Rate limit exceeded",
        "status": 429,
        "retry_after_seconds": 60,
        "tools": [{"name": "mcp__zread__search_doc", "description": "Searches a repository's documents."}],
    },
}
OUTCOMES = {
    "As advised": {"worked": True},
    "Otherwise": {"worked": True, "params": {"query": "multi-agent"}, "fix": "A shorter query", "delay_seconds": 5},
    "It did not help": {"worked": False, "note": "Still a timeout."},
}


class FixPairFilters(PageQuery):
    tool: str | None = Field(default=None, max_length=200, description="the tool's whole name")
    type: ErrorType | None = Field(default=None, serialization_alias="error_type")


class ToolFailureFilters(FixPairFilters):
    agent: str | None = Field(default=None, max_length=120)
    external_id: str | None = Field(default=None, max_length=200)
    worked: bool | None = Field(default=None, description="whether what was done about it worked, where that is known")


class CheatSheetQuery(Value):
    tool: str = Field(default="", max_length=200, description="a part of the tool's name")


def failures_to_show(project: Project) -> QuerySet[ToolFailure]:
    """The project's failures, with what an answer tells of their runs."""
    return ToolFailure.objects.filter(project=project).select_related("run").defer("run__spec")


def get_tool_failure_for(project: Project, failure_id: UUID) -> ToolFailure:
    """The failure. Raises NotFound."""
    return get_row(failures_to_show(project), "tool failure", pk=failure_id)


def settled(key: ApiKey, failure_id: UUID, *, wait_s: float) -> ToolFailure:
    """The failure, once it is diagnosed or so many seconds are over. Call it outside of transactions."""
    failure = get_tool_failure_for(key.project, failure_id)
    if wait_s and failure.run_id is not None and state_of(failure) is DiagnosisState.DIAGNOSING:
        wait_until_settled(failure.run_id, key=key, longest_s=wait_s)
        failure = get_tool_failure_for(key.project, failure_id)
    return failure


class ToolFailures(DeskViewSet):
    def check_found(self, **ids: Any) -> None:
        get_tool_failure_for(self.project, **ids)

    @answers_list(
        "list_tool_failures",
        Permission.READ,
        summary="Failed calls, newest first",
        query=ToolFailureFilters,
        answer=ToolFailurePage,
        shown=lambda rows: [tool_failure_answer(row) for row in rows],
    )
    def list(self, query: ToolFailureFilters) -> QuerySet[ToolFailure]:
        return failures_to_show(self.project).filter(**query.get_filters())

    @needing(Permission.HAND_IN, query=WaitQuery)
    @described_post(
        "report_tool_failure",
        summary="Report a failed call and be told what to do",
        body=ToolFailureSubmission,
        query=WaitQuery,
        answers={201: ToolFailureAnswer},
        examples=FAILURES,
    )
    def report(self, request: Request) -> Response:
        """A fix that has worked before, or a rule, answers at once. Where neither fits a model is asked:
        `wait` brings its diagnosis with this answer, or ask for the failure later."""
        query = read_query(request, WaitQuery)
        reported = self._report(request)
        failure = settled(self.key, UUID(reported.data["id"]), wait_s=query.wait)
        body = answer_body(ToolFailureAnswer, tool_failure_answer(failure))
        return Response(body, 201, headers=replayed(reported))

    @idempotent
    def _report(self, request: Request) -> Response:
        given = read_input(request, ToolFailureSubmission, what="report")
        return Response({"id": str(report_tool_failure(self.project, given, actor=self.actor).pk)}, 201)

    @answers_get(
        "get_tool_failure",
        Permission.READ,
        summary="One failed call, now or once it is diagnosed",
        query=WaitQuery,
        answer=ToolFailureAnswer,
        problems=(404,),
    )
    def detail(self, query: WaitQuery, failure_id: UUID) -> ToolFailureAnswer:
        return tool_failure_answer(settled(self.key, failure_id, wait_s=query.wait))

    @answers_post(
        "report_fix_outcome",
        Permission.HAND_IN,
        summary="Say how what was done about it went, once",
        body=FixOutcomeSubmission,
        what="outcome",
        answer=ToolFailureAnswer,
        problems=(404, 409),
        examples=OUTCOMES,
    )
    def report_outcome(self, given: FixOutcomeSubmission, failure_id: UUID) -> ToolFailureAnswer:
        """A fix that worked is kept as a fix pair and tried first the next time."""
        report_fix_outcome(get_tool_failure_for(self.project, failure_id), given, actor=self.actor)
        return tool_failure_answer(get_tool_failure_for(self.project, failure_id))


class Fixes(DeskViewSet):
    @answers_list(
        "list_fix_pairs",
        Permission.READ,
        summary="Fixes that worked, newest first",
        query=FixPairFilters,
        answer=FixPairPage,
        shown=lambda rows: [fix_pair_answer(row) for row in rows],
    )
    def list(self, query: FixPairFilters) -> QuerySet[FixPair]:
        wanted = {name: value for name, value in query.get_filters().items() if value}
        return FixPair.objects.filter(project=self.project, **wanted)

    @answers_get(
        "get_cheat_sheet",
        Permission.READ,
        summary="What usually fails with each tool, and what helps",
        query=CheatSheetQuery,
        answer=CheatSheetAnswer,
    )
    def cheat_sheet(self, query: CheatSheetQuery) -> CheatSheet:
        return cheat_sheet(self.project, tool=query.tool)

    @answers_get(
        "get_cheat_sheet_markdown",
        Permission.READ,
        summary="The cheat sheet as Markdown, for an agent's prompt",
        query=CheatSheetQuery,
        answer=str,
        media_type="text/markdown",
    )
    def cheat_sheet_markdown(self, query: CheatSheetQuery) -> str:
        return markdown_of(cheat_sheet(self.project, tool=query.tool))


# Completeness checks: hand in a history and be told what it lacks.

EXAMPLES = {
    "Searched, but nobody was told": {
        "objective": "Search the newest news on AI and tell the user.",
        "history": [{"operation": "Search the news", "tool": "search_web", "ok": True, "result": "Three articles …"}],
        "tools": [{"name": "search_web"}, {"name": "message_send", "description": "Sends the user a message."}],
        "kind": "research",
    },
}


class CheckFilters(PageQuery):
    state: CheckStateAnswer | None = None
    kind: str | None = Field(default=None, max_length=60)


class Checks(DeskViewSet):
    @answers_list(
        "list_completeness_checks",
        Permission.READ,
        summary="Checks of histories, newest first",
        query=CheckFilters,
        answer=CheckPage,
        shown=lambda rows: [check_line(row) for row in rows],
    )
    def list(self, query: CheckFilters) -> QuerySet[Run]:
        checks = checks_to_show(Run.objects.filter(project=self.project))
        if query.kind is not None:
            checks = checks.filter(task__kind=query.kind)
        return checks if query.state is None else in_state(checks, query.state)

    @needing(Permission.HAND_IN, query=WaitQuery)
    @described_post(
        "check_completeness",
        summary="Hand in a history, and be told what it lacks",
        body=CheckSubmission,
        query=WaitQuery,
        answers={201: CheckAnswer},
        examples=EXAMPLES,
    )
    def check(self, request: Request) -> Response:
        query = read_query(request, WaitQuery)
        begun = self._begin(request)
        run_id = UUID(str(begun.data["run_id"]))
        # Outside of the transaction that took the history: its run begins only when that has committed.
        if query.wait:
            wait_until_settled(run_id, key=self.key, longest_s=query.wait)
        body = answer_body(CheckAnswer, check_answer(get_check_for(self.project, run_id)))
        return Response(body, 201, headers=replayed(begun))

    @idempotent
    def _begin(self, request: Request) -> Response:
        submission = read_input(request, CheckSubmission, what="completeness check")
        run = check_completeness(self.project, submission, actor=self.actor)
        return Response({"run_id": str(run.pk)})

    @answers_get(
        "get_completeness_check",
        Permission.READ,
        summary="One check, now or once it is made",
        query=WaitQuery,
        answer=CheckAnswer,
        problems=(404,),
    )
    def detail(self, query: WaitQuery, check_id: UUID) -> CheckAnswer:
        check = get_check_for(self.project, check_id)
        if query.wait:
            wait_until_settled(check.pk, key=self.key, longest_s=query.wait)
            check = get_check_for(self.project, check_id)
        return check_answer(check)


def get_check_for(project: Project, check_id: UUID) -> Run:
    """The run of the check. Raises NotFound."""
    return get_row(checks_to_show(Run.objects.filter(project=project)), "completeness check", pk=check_id)
