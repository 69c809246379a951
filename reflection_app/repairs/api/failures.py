"""Failed calls of tools: report one and be told what to do, say how it went, read them and the cheat sheet."""

from typing import ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from pydantic import BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.errors import NotFound
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
    cheat_sheet_answer,
    check_answer,
    check_line,
    checks_to_show,
    fix_pair_answer,
    in_state,
    state_of,
    tool_failure_answer,
)
from reflection_app.repairs.cheat_sheet import cheat_sheet, markdown_of
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


class ToolFailureFilters(PageQuery):
    tool: str | None = Field(default=None, max_length=200, description="the tool's whole name")
    type: ErrorType | None = None
    agent: str | None = Field(default=None, max_length=120)
    external_id: str | None = Field(default=None, max_length=200)
    worked: bool | None = Field(default=None, description="whether what was done about it worked, where that is known")


class FixPairFilters(PageQuery):
    tool: str | None = Field(default=None, max_length=200, description="the tool's whole name")
    type: ErrorType | None = None


class CheatSheetQuery(Value):
    tool: str = Field(default="", max_length=200, description="a part of the tool's name")


def failures_to_show(project: Project) -> QuerySet[ToolFailure]:
    """The project's failures, with what an answer tells of their runs."""
    return ToolFailure.objects.filter(project=project).select_related("run").defer("run__spec")


def get_tool_failure_for(project: Project, failure_id: UUID) -> ToolFailure:
    """The failure. Raises NotFound."""
    failure = failures_to_show(project).filter(pk=failure_id).first()
    if failure is None:
        raise NotFound("There is no such tool failure.")
    return failure


def settled(key: ApiKey, failure_id: UUID, *, wait_s: float) -> ToolFailure:
    """The failure, once it is diagnosed or so many seconds are over. Call it outside of transactions."""
    failure = get_tool_failure_for(key.project, failure_id)
    if wait_s and failure.run_id is not None and state_of(failure) is DiagnosisState.DIAGNOSING:
        wait_until_settled(failure.run_id, key=key, longest_s=wait_s)
        failure = get_tool_failure_for(key.project, failure_id)
    return failure


class ToolFailureList(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)
    post_query: ClassVar[type[BaseModel]] = WaitQuery

    @described_get(
        "list_tool_failures", summary="Failed calls, newest first", query=ToolFailureFilters, answer=ToolFailurePage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ToolFailureFilters)
        wanted = query.model_dump(exclude_none=True, include={"tool", "agent", "external_id", "worked"})
        if query.type is not None:
            wanted["error_type"] = query.type.value
        rows = failures_to_show(self.project).filter(**wanted)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([tool_failure_answer(row) for row in page.rows]))

    @described_post(
        "report_tool_failure",
        summary="Report a failed call and be told what to do",
        body=ToolFailureSubmission,
        query=WaitQuery,
        answers={201: ToolFailureAnswer},
        examples=FAILURES,
    )
    def post(self, request: Request) -> Response:
        """A fix that has worked before, or a rule, answers at once. Where neither fits a model is asked:
        `wait` brings its diagnosis with this answer, or ask for the failure later."""
        query = read_query(request, WaitQuery)
        reported = self._report(request)
        failure = settled(self.key, UUID(reported.data["id"]), wait_s=query.wait)
        return Response(tool_failure_answer(failure).model_dump(mode="json"), 201, headers=replayed(reported))

    @idempotent
    def _report(self, request: Request) -> Response:
        given = read_input(request, ToolFailureSubmission, what="report")
        return Response({"id": str(report_tool_failure(self.project, given, actor=self.actor).pk)}, 201)


class ToolFailureDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_tool_failure",
        summary="One failed call, now or once it is diagnosed",
        query=WaitQuery,
        answer=ToolFailureAnswer,
        problems=(404,),
    )
    def get(self, request: Request, failure_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        failure = settled(self.key, failure_id, wait_s=query.wait)
        return Response(tool_failure_answer(failure).model_dump(mode="json"))


class ToolFailureOutcome(DeskView):
    permissions = needs(post=Permission.HAND_IN)

    @described_post(
        "report_fix_outcome",
        summary="Say how what was done about it went, once",
        body=FixOutcomeSubmission,
        answers={200: ToolFailureAnswer},
        problems=(404, 409),
        examples=OUTCOMES,
    )
    @idempotent
    def post(self, request: Request, failure_id: UUID) -> Response:
        """A fix that worked is kept as a fix pair and tried first the next time."""
        failure = get_tool_failure_for(self.project, failure_id)
        given = read_input(request, FixOutcomeSubmission, what="outcome")
        report_fix_outcome(failure, given, actor=self.actor)
        told = get_tool_failure_for(self.project, failure_id)
        return Response(tool_failure_answer(told).model_dump(mode="json"))


class FixPairList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "list_fix_pairs", summary="Fixes that worked, newest first", query=FixPairFilters, answer=FixPairPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, FixPairFilters)
        wanted = {"tool": query.tool, "error_type": query.type and query.type.value}
        rows = FixPair.objects.filter(project=self.project, **{name: one for name, one in wanted.items() if one})
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([fix_pair_answer(row) for row in page.rows]))


class CheatSheetDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_cheat_sheet",
        summary="What usually fails with each tool, and what helps",
        query=CheatSheetQuery,
        answer=CheatSheetAnswer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, CheatSheetQuery)
        sheet = cheat_sheet(self.project, tool=query.tool)
        return Response(cheat_sheet_answer(sheet).model_dump(mode="json"))


class CheatSheetMarkdown(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_cheat_sheet_markdown",
        summary="The cheat sheet as Markdown, for an agent's prompt",
        query=CheatSheetQuery,
        answer=str,
        media_type="text/markdown",
    )
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, CheatSheetQuery)
        text = markdown_of(cheat_sheet(self.project, tool=query.tool))
        return HttpResponse(text, content_type="text/markdown; charset=utf-8")


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


class CheckList(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)
    post_query: ClassVar[type[BaseModel]] = WaitQuery

    @described_get(
        "list_completeness_checks", summary="Checks of histories, newest first", query=CheckFilters, answer=CheckPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, CheckFilters)
        checks = checks_to_show(Run.objects.filter(project=self.project))
        if query.kind is not None:
            checks = checks.filter(task__kind=query.kind)
        if query.state is not None:
            checks = in_state(checks, query.state)
        page = get_page(checks, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([check_line(run) for run in page.rows]))

    @described_post(
        "check_completeness",
        summary="Hand in a history, and be told what it lacks",
        body=CheckSubmission,
        query=WaitQuery,
        answers={201: CheckAnswer},
        examples=EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        query = read_query(request, WaitQuery)
        begun = self._begin(request)
        run_id = UUID(str(begun.data["run_id"]))
        # Outside of the transaction that took the history: its run begins only when that has committed.
        if query.wait:
            wait_until_settled(run_id, key=self.key, longest_s=query.wait)
        answer = check_answer(get_check_for(self.project, run_id))
        return Response(answer.model_dump(mode="json"), 201, headers=replayed(begun))

    @idempotent
    def _begin(self, request: Request) -> Response:
        submission = read_input(request, CheckSubmission, what="completeness check")
        run = check_completeness(self.project, submission, actor=self.actor)
        return Response({"run_id": str(run.pk)})


class CheckDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_completeness_check",
        summary="One check, now or once it is made",
        query=WaitQuery,
        answer=CheckAnswer,
        problems=(404,),
    )
    def get(self, request: Request, check_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        check = get_check_for(self.project, check_id)
        if query.wait:
            wait_until_settled(check.pk, key=self.key, longest_s=query.wait)
            check = get_check_for(self.project, check_id)
        return Response(check_answer(check).model_dump(mode="json"))


def get_check_for(project: Project, check_id: UUID) -> Run:
    """The run of the check. Raises NotFound."""
    check = checks_to_show(Run.objects.filter(project=project, pk=check_id)).first()
    if check is None:
        raise NotFound("There is no such completeness check.")
    return check
