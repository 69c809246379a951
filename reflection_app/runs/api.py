"""Runs: find them, wait for one, cancel one, fork one."""

from typing import Annotated, Any
from uuid import UUID

from django.db.models import Prefetch
from pydantic import BeforeValidator, Field
from rest_framework.response import Response

from notebook_app.public import entry_of
from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once, replayed
from reflection_app.api.pages import BY_NUMBER, BY_SEQ, Number, PageQuery
from reflection_app.api.reading import Answer, TextOrNull
from reflection_app.api.view import DeskView, Nothing, get_row, get_run_for
from reflection_app.api.waiting import LONGEST_WAIT_S, SETTLED, WaitQuery, WaitS, wait_for_event, wait_until_settled
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import Permission
from reflection_app.loops.graph_words import EdgeKind, NodeKind
from reflection_app.loops.questions import QuestionKind
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Verdict
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
    handed_in_answer,
    listed_answers,
    run_answer,
    run_with_next,
    step_answers,
)
from reflection_app.runs.events import Event
from reflection_app.runs.filters import RunFilters
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.handing_in import LOOK_AGAIN_AFTER_S, AttemptInput, hand_in_attempt
from reflection_app.runs.lesson_use import UseReason, told_to
from reflection_app.runs.models import Question, QuestionState, Run, Step, StepState
from reflection_app.runs.models import Verdict as VerdictRow
from reflection_app.runs.recorded_steps import graph_of_run
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run

FORKS = {
    "Edited verdict": {
        "from_step": 3,
        "result": {"verdict": "PASS", "score": 80},
        "note": "The critic was too strict.",
    },
    "Edited prompt": {"from_step": 1, "messages": [{"role": "user", "content": "Write a haiku about the sea."}]},
    "More attempts": {"from_step": 10, "limits": {"max_iterations": 5}},
}
ATTEMPTS = {
    "An attempt": {
        "content": "def add(a, b):\n    return a + b",
        "attempt": 1,
        "usage": {"prompt_tokens": 210, "completion_tokens": 35, "cost_usd": "0.0004", "model": "openai/gpt-4o-mini"},
        "self_check": {"is_satisfactory": True, "confidence": 0.8},
    },
}


class EventFilters(PageQuery):
    after: Number = Field(default=0, description="only events with a greater seq")
    wait: WaitS = Field(
        default=0,
        description=f"seconds to wait for a new event before returning an empty list; at most {LONGEST_WAIT_S:g}",
    )


class NodeAnswer(Answer):
    """A node of the graph: an event in the run, its task or its outcome."""

    id: str = Field(examples=["step-3"])
    kind: NodeKind
    label: str = Field(examples=["Attempt 1"])
    detail: TextOrNull = Field(description="short additional detail", examples=["1 of 3 tests"])
    state: StepState
    step: int | None = Field(description="seq of the step that the node represents; the first if there are several")
    attempt: int | None
    # Of a verdict that could not be read, there is none.
    verdict: Annotated[Verdict | None, BeforeValidator(lambda verdict: verdict if verdict in set(Verdict) else None)]
    score: float | None
    failed: bool = Field(description="whether the step failed or judged its attempt not good enough")
    is_best: bool = Field(description="whether it is the selected attempt")
    is_inherited: bool = Field(description="whether it was copied from the parent run")
    is_edited: bool = Field(description="whether a person edited its result in a fork")
    is_parting: bool = Field(description="whether a fork diverges from its parent here")


class EdgeAnswer(Answer):
    """How one node led to another. `label` is the kind and, for a failure, the reason."""

    source: str = Field(alias="from", examples=["step-1"])
    target: str = Field(alias="to", examples=["step-2"])
    kind: EdgeKind
    label: str = Field(examples=["failed: 1 of 3 tests"])


class GraphAnswer(Answer):
    """Context graph of a run, derived from its steps."""

    nodes: list[NodeAnswer]
    edges: list[EdgeAnswer]
    steps_left_out: int = Field(description="number of early steps of a very long run that are not in the graph")


class LessonQuery(Value):
    entry: UUID | None = Field(default=None, description="the id of one entry, considered or not")


class EntryUseAnswer(Answer):
    """How one notebook entry was used in a run."""

    entry_id: UUID
    name: TextOrNull = Field(description="null if the entry was deleted since")
    kind: TextOrNull = Field(examples=["rule"])
    version: int | None = Field(description="the version that was considered")
    reason: UseReason = Field(description="`used`, `control_group`, or the gate that stopped it")
    confidence: float | None = Field(
        description="confidence that the entry is relevant to the task, 0 to 1; null for rules"
    )
    needed: float | None = Field(description="confidence required for use")


class RunLessonsAnswer(Answer):
    """The notebook entries considered for a run."""

    results: list[EntryUseAnswer]
    used_meaning: bool | None = Field(description="false if retrieval searched text only; null before retrieval")
    problem: TextOrNull = Field(description="why retrieval failed, if it did")


class Runs(DeskView):
    def get_object(self, run_id: UUID) -> Run:
        return get_run_for(self.project, run_id)

    @read("list_runs", "List runs, newest first by default", may=Permission.READ)
    def list(self, query: RunFilters) -> RunPage:
        # Tuples, which take a tenth of the time that as many models do.
        runs: Any = query.narrow(Run.objects.filter(project=self.project)).values_list(*query.order.fields, named=True)
        return self.page(RunPage, runs, query, order=query.order, answers=listed_answers)

    @read("get_run", "Get a run, optionally waiting until it settles", may=Permission.READ)
    def retrieve(self, run: Run, query: WaitQuery) -> RunWithNext:
        if query.wait:
            wait_until_settled(run.pk, key=self.key, longest_s=query.wait)
            run = self.get_object(run.pk)
        return run_with_next(run)

    @change("cancel_run", "Cancel a run", may=Permission.HAND_IN, problems=(409,))
    def cancel(self, run: Run, body: Nothing) -> RunAnswer:
        return run_answer(cancel_run(run, actor=self.actor))

    @change(
        "fork_run",
        "Fork a run from a step",
        may=Permission.HAND_IN,
        what="fork",
        status=201,
        problems=(409,),
        examples=FORKS,
        location="runs/{id}",
    )
    def fork(self, run: Run, body: ForkInput) -> RunAnswer:
        return run_answer(fork_run(run, body, actor=self.actor))


# What happened inside a run, and the attempt that it waits for.


class RunHistory(Runs):
    @read("list_steps", "List the steps of a run", may=Permission.READ)
    def steps(self, run: Run, query: PageQuery) -> StepPage:
        return self.page(StepPage, Step.objects.filter(run=run), query, order=BY_SEQ, answers=step_answers)

    @read("list_events", "List run events, optionally waiting for new ones", may=Permission.READ)
    def events(self, run: Run, query: EventFilters) -> EventPage:
        if query.wait:
            wait_for_event(run.pk, after=query.after, key=self.key, longest_s=query.wait)
        return self.page(EventPage, Event.objects.filter(run=run, seq__gt=query.after), query, order=BY_SEQ)

    @read("get_run_graph", "Get the context graph of a run", may=Permission.READ)
    def graph(self, run: Run) -> GraphAnswer:
        graph, left_out = graph_of_run(run)
        return GraphAnswer.from_row(graph, steps_left_out=left_out)

    @read("get_run_lessons", "List notebook entries considered for a run", may=Permission.READ)
    def lessons(self, run: Run, query: LessonQuery) -> RunLessonsAnswer:
        entry = entry_of(run.project_id, query.entry) if query.entry is not None else None
        if entry is None and query.entry is not None:
            raise NotFound("There is no such entry.")
        told = told_to(run, about=entry)
        return RunLessonsAnswer(
            results=[
                EntryUseAnswer.from_row(
                    one.use, name=one.entry.name if one.entry else None, kind=one.entry.kind if one.entry else None
                )
                for one in told.entries
            ],
            used_meaning=told.found.used_meaning if told.found else None,
            problem=(told.found.problem or None) if told.found else None,
        )

    @read("list_attempts", "List the attempts of a run with verdicts", may=Permission.READ)
    def attempts(self, run: Run, query: PageQuery) -> AttemptPage:
        verdicts = Prefetch("verdicts", queryset=VerdictRow.objects.select_related("given_by"))
        return self.page(
            AttemptPage,
            run.attempts.prefetch_related(verdicts, "attachments__attachment", "looked_at"),
            query,
            order=BY_NUMBER,
        )

    @change(
        "hand_in_attempt",
        "Submit the attempt that an external run awaits",
        may=Permission.HAND_IN,
        answers={200: HandedInAnswer, 202: HandedInAnswer},
        problems=(409,),
        examples=ATTEMPTS,
        once=False,
    )
    def hand_in(self, run: Run, query: WaitQuery, body: AttemptInput) -> Response:
        def hand_in() -> Response:
            return Response({"attempt": hand_in_attempt(run, body, actor=self.actor).number})

        taken = answer_once(self, hand_in)
        # Outside of the transaction that took the attempt: the judging begins only when that has committed.
        if query.wait:
            wait_until_settled(run.pk, key=self.key, longest_s=query.wait)
        settled = self.get_object(run.pk)
        is_settled = settled.state in SETTLED
        headers = replayed(taken) | ({} if is_settled else {"Retry-After": str(LOOK_AGAIN_AFTER_S)})
        return response_of(handed_in_answer(settled), 200 if is_settled else 202, headers=headers)


# Questions that runs put to people: read, and answered.

ANSWERS = {
    "Text answer": {"choice": "answer", "text": "The tariff is 4.2 % since March; see the notice on the intranet."},
    "Permission granted": {"choice": "try_again"},
    "Skip": {"choice": "skip"},
    "Allow the prepared call": {"choice": "allow"},
    "Refuse the prepared call": {"choice": "refuse", "text": "We check this invoice, we do not pay it."},
}


class QuestionFilters(PageQuery):
    state: QuestionState | None = None
    kind: QuestionKind | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class Questions(DeskView):
    def get_object(self, question_id: UUID) -> Question:
        questions = Question.objects.select_related("step")
        return get_row(questions.filter(project=self.project, pk=question_id), "question")

    @read("list_questions", "List questions, newest first", may=Permission.READ_QUEUE)
    def list(self, query: QuestionFilters) -> QuestionPage:
        questions = Question.objects.filter(project=self.project, **query.get_filters())
        return self.page(QuestionPage, questions, query)

    @read("get_question", "Get a question", may=Permission.READ_QUEUE)
    def retrieve(self, question: Question) -> QuestionAnswer:
        return QuestionAnswer.from_row(question)

    @change(
        "answer_question",
        "Answer a question and resume its run",
        may=Permission.REVIEW,
        what="answer",
        problems=(409,),
        examples=ANSWERS,
    )
    def answer(self, question: Question, body: AnswerInput) -> QuestionAnswer:
        return QuestionAnswer.from_row(answer_question(question, body, actor=self.actor))
