"""Completeness checks: hand in a history and be told what it lacks."""

from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.repairs.answers.completeness_answers import (
    CheckAnswer,
    CheckPage,
    CheckStateAnswer,
    check_answer,
    check_line,
    checks_to_show,
    in_state,
)
from reflection_app.repairs.check_completeness import check_completeness
from reflection_app.repairs.completeness_submission import CheckSubmission
from reflection_app.runs.models import Run

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
