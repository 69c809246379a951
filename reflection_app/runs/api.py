"""Runs: find them, wait for one, cancel one, fork one."""

from typing import ClassVar
from uuid import UUID

from django.db.models import Prefetch
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import BY_NUMBER, BY_SEQ, NEWEST_FIRST, Number, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing, get_run_for
from reflection_app.api.waiting import LONGEST_WAIT_S, SETTLED, WaitQuery, WaitS, wait_for_event, wait_until_settled
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.graph_words import Edge, EdgeKind, Node, NodeKind
from reflection_app.loops.questions import QuestionKind
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Outcome, Verdict
from reflection_app.runs.answers import (
    AttemptPage,
    EventPage,
    HandedInAnswer,
    QuestionAnswer,
    QuestionPage,
    RunAnswer,
    RunPage,
    RunWithNext,
    StepPage,
    attempt_answer,
    event_answer,
    handed_in_answer,
    question_answer,
    run_answer,
    run_answers,
    run_with_next,
    runs_to_list,
    step_answer,
)
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.handing_in import LOOK_AGAIN_AFTER_S, AttemptInput, hand_in_attempt
from reflection_app.runs.models import NOT_OF_THE_DESK, Attempt, Question, QuestionState, Run, RunState, Step, StepState
from reflection_app.runs.models import Verdict as VerdictRow
from reflection_app.runs.recorded_steps import graph_of_run
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run

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


# What happened inside a run: its journal and its events.


class EventFilters(PageQuery):
    after: Number = Field(default=0, description="only events whose seq is greater")
    wait: WaitS = Field(
        default=0,
        description=f"where there is none yet, answer when there is, or with none after so many seconds; "
        f"at most {LONGEST_WAIT_S:g} are waited",
    )


class RunSteps(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_steps", summary="The journal of a run", query=PageQuery, answer=StepPage, problems=(404,))
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        steps = Step.objects.filter(run=get_run_for(self.project, run_id))
        page = get_page(steps, request=request, query=query, order=BY_SEQ)
        return Response(page.with_results([step_answer(step) for step in page.rows]))


class RunEvents(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "list_events",
        summary="What happened to a run, now or once something has",
        query=EventFilters,
        answer=EventPage,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, EventFilters)
        run = get_run_for(self.project, run_id)
        if query.wait:
            wait_for_event(run.pk, after=query.after, key=self.key, longest_s=query.wait)
        events = Event.objects.filter(run=run, seq__gt=query.after)
        page = get_page(events, request=request, query=query, order=BY_SEQ)
        return Response(page.with_results([event_answer(event) for event in page.rows]))


# The context graph of a run over REST.


class NoQuery(Value):
    """This call takes no parameters."""


class NodeAnswer(Answer):
    """One thing that happened in the run, or its task or its outcome."""

    id: str = Field(examples=["step-3"])
    kind: NodeKind
    label: str = Field(examples=["Attempt 1"])
    detail: str | None = Field(description="a few words more", examples=["1 of 3 tests"])
    state: StepState
    step: int | None = Field(description="the seq of the step that it stands for; of several, the first")
    attempt: int | None
    verdict: Verdict | None
    score: float | None
    failed: bool = Field(description="whether it broke, or judged its attempt not good enough")
    is_best: bool = Field(description="whether it is the attempt that is kept")
    is_inherited: bool = Field(description="whether it was copied from the run that this one was forked from")
    is_edited: bool = Field(description="whether a person wrote its result in a fork")
    is_parting: bool = Field(description="whether a fork and its parent part here")


class EdgeAnswer(Answer):
    """How one node came of another. `label` is the kind and, of a failure, what it was."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: str = Field(alias="from", examples=["step-1"])
    target: str = Field(alias="to", examples=["step-2"])
    kind: EdgeKind
    label: str = Field(examples=["failed: 1 of 3 tests"])


class GraphAnswer(Answer):
    """What led to what in a run, derived from its steps."""

    nodes: list[NodeAnswer]
    edges: list[EdgeAnswer]
    steps_left_out: int = Field(description="how many of the first steps of a very long run are not in the graph")


class RunGraph(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_run_graph", summary="The context graph of a run", answer=GraphAnswer, problems=(404,))
    def get(self, request: Request, run_id: UUID) -> Response:
        read_query(request, NoQuery)
        graph, left_out = graph_of_run(get_run_for(self.project, run_id))
        answer = GraphAnswer(
            nodes=[node_answer(node) for node in graph.nodes],
            edges=[edge_answer(edge) for edge in graph.edges],
            steps_left_out=left_out,
        )
        return Response(answer.model_dump(mode="json"))


def node_answer(node: Node) -> NodeAnswer:
    known = node.verdict in {verdict.value for verdict in Verdict}
    values = node.model_dump() | {
        "detail": node.detail or None,
        "state": StepState(node.state),
        "verdict": Verdict(node.verdict) if known else None,
    }
    return NodeAnswer(**values)


def edge_answer(edge: Edge) -> EdgeAnswer:
    return EdgeAnswer(source=edge.source, target=edge.target, kind=edge.kind, label=edge.label)


# The attempts of a run: read them, or hand in the one that the run waits for.

EXAMPLES = {
    "An attempt": {
        "content": "def add(a, b):\n    return a + b",
        "attempt": 1,
        "usage": {"prompt_tokens": 210, "completion_tokens": 35, "cost_usd": "0.0004"},
        "self_check": {"is_satisfactory": True, "confidence": 0.8},
    },
}


class RunAttempts(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)
    post_query: ClassVar[type[BaseModel]] = WaitQuery

    @described_get(
        "list_attempts", summary="The attempts of a run, judged", query=PageQuery, answer=AttemptPage, problems=(404,)
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        verdicts = Prefetch("verdicts", queryset=VerdictRow.objects.select_related("given_by"))
        attempts = Attempt.objects.filter(run=get_run_for(self.project, run_id)).prefetch_related(verdicts)
        page = get_page(attempts, request=request, query=query, order=BY_NUMBER)
        return Response(page.with_results([attempt_answer(attempt) for attempt in page.rows]))

    @described_post(
        "hand_in_attempt",
        summary="Hand in the attempt that an external run waits for, and be told how it goes on",
        body=AttemptInput,
        query=WaitQuery,
        answers={200: HandedInAnswer, 202: HandedInAnswer},
        problems=(404, 409),
        examples=EXAMPLES,
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        taken = self._hand_in(request, run_id=run_id)
        # Outside of the transaction that took the attempt: the judging begins only when that has committed.
        if query.wait:
            wait_until_settled(run_id, key=self.key, longest_s=query.wait)
        run = get_run_for(self.project, run_id)
        answer, headers = handed_in_answer(run), replayed(taken)
        if run.state in SETTLED:
            return Response(answer.model_dump(mode="json"), headers=headers)
        return Response(answer.model_dump(mode="json"), 202, headers=headers | {"Retry-After": str(LOOK_AGAIN_AFTER_S)})

    @idempotent
    def _hand_in(self, request: Request, run_id: UUID) -> Response:
        given = read_input(request, AttemptInput, what="attempt")
        taken = hand_in_attempt(get_run_for(self.project, run_id), given, actor=self.actor)
        return Response({"attempt": taken.number})


# Questions that runs put to people: read, and answered.

ANSWERS = {
    "In words": {"choice": "answer", "text": "The tariff is 4.2 % since March; see the notice on the intranet."},
    "The permission was given": {"choice": "try_again"},
    "Go on without": {"choice": "skip"},
}


class QuestionFilters(PageQuery):
    state: QuestionState | None = None
    kind: QuestionKind | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class QuestionList(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("list_questions", summary="Questions, newest first", query=QuestionFilters, answer=QuestionPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, QuestionFilters)
        wanted = query.model_dump(exclude_none=True, include={"state", "kind", "run"})
        questions = Question.objects.filter(project=self.project, **wanted)
        page = get_page(questions, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([question_answer(row) for row in page.rows]))


class QuestionDetail(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("get_question", summary="One question", answer=QuestionAnswer, problems=(404,))
    def get(self, request: Request, question_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(question_answer(get_question_for(self.project, question_id)).model_dump(mode="json"))


class AnswerQuestion(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "answer_question",
        summary="Answer a question; its run goes on",
        body=AnswerInput,
        answers={200: QuestionAnswer},
        problems=(404, 409),
        examples=ANSWERS,
    )
    @idempotent
    def post(self, request: Request, question_id: UUID) -> Response:
        question = get_question_for(self.project, question_id)
        answered = answer_question(question, read_input(request, AnswerInput, what="answer"), actor=self.actor)
        return Response(question_answer(answered).model_dump(mode="json"))


def get_question_for(project: Project, question_id: UUID) -> Question:
    """The question. Raises NotFound."""
    question = Question.objects.select_related("step").filter(project=project, pk=question_id).first()
    if question is None:
        raise NotFound("There is no such question.")
    return question
