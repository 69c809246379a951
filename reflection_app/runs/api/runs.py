"""Runs: find them, wait for one, cancel one, fork one."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.desk_view import DeskView, Nothing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.permissions import Permission
from reflection_app.loops.ends import Outcome
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.answers.next_answer import RunWithNext, run_with_next
from reflection_app.runs.answers.run_answers import RunAnswer, RunPage, run_answer, run_answers, runs_to_list
from reflection_app.runs.cancel_run import cancel_run
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.fork_run import fork_run
from reflection_app.runs.models.run import NOT_OF_THE_DESK, Run, RunState

FORKS = {
    "Another verdict": {
        "from_step": 3,
        "result": {"verdict": "PASS", "score": 80},
        "note": "The critic was too strict.",
    },
    "Another prompt": {"from_step": 1, "messages": [{"role": "user", "content": "Write a haiku about the sea."}]},
    "More attempts": {"from_step": 10, "limits": {"max_iterations": 5}},
}


class RunFilters(PageQuery):
    state: RunState | None = None
    outcome: Outcome | None = None
    mode: Mode | None = Field(default=None, description="without it, no runs that look back at others")
    agent: str | None = Field(default=None, max_length=120, description="which agent's tasks")
    task: UUID | None = Field(default=None, description="the id of a task")
    parent: UUID | None = Field(default=None, description="the id of a run: its forks")


class RunList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_runs", summary="Runs, newest first", query=RunFilters, answer=RunPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, RunFilters)
        wanted = query.model_dump(exclude_none=True, include={"state", "outcome", "mode", "task", "parent"})
        runs = runs_to_list(Run.objects.filter(project=self.project, **wanted))
        if query.agent is not None:
            runs = runs.filter(task__agent=query.agent)
        if not wanted.keys() & {"mode", "task", "parent"}:
            runs = runs.filter(NOT_OF_THE_DESK)
        page = get_page(runs, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results(run_answers(page.rows)))


class RunDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_run",
        summary="One run, now or once it is settled",
        query=WaitQuery,
        answer=RunWithNext,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        run = get_run_for(self.project, run_id)
        if query.wait:
            wait_until_settled(run.pk, key=self.key, longest_s=query.wait)
            run = get_run_for(self.project, run_id)
        return Response(run_with_next(run).model_dump(mode="json"))


class CancelRun(DeskView):
    permissions = needs(post=Permission.HAND_IN)

    @described_post(
        "cancel_run", summary="End a run as cancelled", body=Nothing, answers={200: RunAnswer}, problems=(404, 409)
    )
    @idempotent
    def post(self, request: Request, run_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        cancelled = cancel_run(get_run_for(self.project, run_id), actor=self.actor)
        return Response(run_answer(cancelled).model_dump(mode="json"))


class ForkRun(DeskView):
    permissions = needs(post=Permission.HAND_IN)

    @described_post(
        "fork_run",
        summary="Begin a second run with this one's steps up to a point",
        body=ForkInput,
        answers={201: RunAnswer},
        problems=(404, 409),
        examples=FORKS,
    )
    @idempotent
    def post(self, request: Request, run_id: UUID) -> Response:
        run = get_run_for(self.project, run_id)
        fork = fork_run(run, read_input(request, ForkInput, what="fork"), actor=self.actor)
        return Response(run_answer(fork).model_dump(mode="json"), 201)
