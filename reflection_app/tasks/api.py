"""Tasks: hand in one or many, find them again."""

from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once
from reflection_app.api.view import DeskView, get_row, get_run_for
from reflection_app.api.waiting import LONGEST_WAIT_S, WaitS, wait_until
from reflection_app.core.errors import ActionError, ExternalIdTaken, InvalidInput, capped
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.runs.agent_leases import TokenInput, WorkInput, claim_work, keep_work, release_work, work_for
from reflection_app.runs.answers import RunAnswer, run_answer
from reflection_app.runs.filters import TaskFilters
from reflection_app.runs.models import Run
from reflection_app.tasks.answers import (
    BatchAnswer,
    HoldAnswer,
    TaskAnswer,
    TaskPage,
    WorkAnswer,
    submitted_answers,
    task_answers,
    work_answer,
)
from reflection_app.tasks.changing import TaskChange, change_task, delete_task
from reflection_app.tasks.external_ids import are_wanted_once
from reflection_app.tasks.models import Task
from reflection_app.tasks.redo import RedoInput, redo_run
from reflection_app.tasks.submission import TaskSubmission, read_submission
from reflection_app.tasks.submitting import submit_task, submit_together

MOST_IN_A_BATCH = 500

EXAMPLES = {
    "A text": {"objective": "Write a haiku about the sea.", "external_id": "poem-1"},
    "Code with tests": {
        "objective": "Write add(a, b), which returns the sum.",
        "kind": "code_generation",
        "tests": {"entry_point": "add", "cases": [{"name": "small", "args": [2, 3], "expected": 5}]},
        "limits": {"max_iterations": 3, "cost_budget_usd": "0.10"},
    },
    "Data with minimum requirements": {
        "objective": "Collect papers on multi-agent orchestration.",
        "agent": "academic-researcher",
        "requirements": {
            "required_fields": ["papers[].title"],
            "counts": [
                {"name": "papers", "path": "papers", "min": 5},
                {"name": "key papers", "path": "papers", "where": {"is_key": True}, "min": 3},
            ],
        },
    },
}


class Batch(Value):
    """Tasks to submit together: all or none."""

    tasks: Annotated[list[TaskSubmission], Field(min_length=1, max_length=MOST_IN_A_BATCH)]


class InvalidBatch(ActionError):
    """Some of the tasks cannot be used; each error carries the place of its task."""

    status = 400
    title = "Invalid input"

    def __init__(self, message: str, *, errors: list[dict[str, str | int]]) -> None:
        super().__init__(message)
        self.errors = capped(errors)


def read_batch(body: Any) -> Batch:
    """The batch in `body`. Raises InvalidInput, or InvalidBatch, which names every bad task by its index."""
    items = body.get("tasks") if isinstance(body, dict) else None
    if not isinstance(items, list) or not 1 <= len(items) <= MOST_IN_A_BATCH or len(body) != 1:
        raise InvalidInput(
            'A batch is {"tasks": [...]}.',
            errors=[{"field": "tasks", "message": f"a list of 1 to {MOST_IN_A_BATCH} tasks, and nothing beside it"}],
        )
    submissions: list[TaskSubmission] = []
    errors: list[dict[str, str | int]] = []
    for index, item in enumerate(items):
        try:
            submissions.append(read_submission(item))
        except InvalidInput as refusal:
            problems = refusal.errors or [{"field": "", "message": str(refusal)}]
            errors += [{"index": index, **problem} for problem in problems]
    if errors:
        raise InvalidBatch("Some tasks were not accepted; nothing was stored.", errors=errors)
    return Batch.model_construct(tasks=submissions)


class Tasks(DeskView):
    def get_object(self, task_id: UUID) -> Task:
        return get_row(Task.objects.filter(project=self.project, pk=task_id), "task")

    def get_edited(self, task: Task) -> dict[str, object]:
        return {name: getattr(task, name) for name in TaskChange.model_fields}

    @read("list_tasks", "List tasks, newest first by default", may=Permission.READ)
    def list(self, query: TaskFilters) -> TaskPage:
        tasks = query.narrow_tasks(Task.objects.filter(project=self.project)).defer("tests")
        return self.page(TaskPage, tasks, query, order=query.order, answers=task_answers)

    @read("get_task", "Get a task with its newest run", may=Permission.READ, tagged=True)
    def retrieve(self, task: Task) -> TaskAnswer:
        return task_answers([task])[0]

    @change(
        "change_task",
        "Change a task's external id or metadata",
        may=Permission.HAND_IN,
        what="change",
        problems=(409,),
        examples={"New external id": {"external_id": "poem-2"}, "New metadata": {"metadata": {"team": "blue"}}},
        guarded=True,
    )
    def partial_update(self, task: Task, body: TaskChange) -> TaskAnswer:
        return task_answers([change_task(task, body, actor=self.actor)])[0]

    @change(
        "delete_task",
        "Delete a task with its runs and results",
        may=Permission.DELETE_TASKS,
        problems=(409,),
        guarded=True,
    )
    def destroy(self, task: Task) -> None:
        """Refused while one of its runs is in progress: cancel that run first. Its share in the metrics remains."""
        delete_task(task, actor=self.actor)

    @change(
        "submit_task",
        "Submit a task",
        may=Permission.HAND_IN,
        reader=read_submission,
        status=201,
        problems=(409,),
        examples=EXAMPLES,
        location="tasks/{id}",
    )
    def create(self, body: TaskSubmission) -> TaskAnswer:
        return submitted_answers([submit_task(self.project, body, actor=self.actor)])[0]

    @change(
        "submit_tasks",
        "Submit up to 500 tasks, all or none",
        may=Permission.HAND_IN,
        reader=read_batch,
        status=201,
        problems=(409,),
        examples={"Two tasks": {"tasks": [*EXAMPLES.values()]}},
    )
    def create_batch(self, body: Batch) -> BatchAnswer:
        if all(submission.external_id is None for submission in body.tasks):
            return BatchAnswer(results=submitted_answers(submit_together(self.project, body.tasks, actor=self.actor)))
        places: dict[UUID, int] = {}
        with transaction.atomic():
            runs: list[Run] = []
            if not are_wanted_once(self.project):
                runs = submit_together(self.project, body.tasks, actor=self.actor)
                return BatchAnswer(results=submitted_answers(runs))
            for index, submission in enumerate(body.tasks):
                try:
                    runs.append(submit_task(self.project, submission, actor=self.actor))
                except ExternalIdTaken as refusal:
                    if refusal.task_id in places:
                        why = f"task {places[refusal.task_id]} of this batch has the same external id"
                        raise InvalidBatch(
                            "Some tasks were not accepted; nothing was stored.",
                            errors=[{"index": index, "field": "external_id", "message": why}],
                        ) from None
                    refusal.errors = [{"index": index, **error} for error in refusal.errors]
                    raise
                places[runs[-1].task_id] = index
        return BatchAnswer(results=submitted_answers(runs))


# Work that agents pull: the next attempt to be made, held by a lease.

WORK = {
    "Any work": {},
    "One of several workers": {"agents": ["coder"], "holder": "coder-3", "lease_s": 120},
}


class ClaimQuery(Value):
    wait: WaitS = Field(
        default=0,
        description=f"seconds to wait for work before responding with 204; at most {LONGEST_WAIT_S:g}",
    )


class AgentWork(DeskView):
    def get_object(self, run_id: UUID) -> Run:
        return get_run_for(self.project, run_id)

    @change(
        "claim_task",
        "Claim the next attempt for an agent",
        may=Permission.HAND_IN,
        what="claim",
        answers={200: WorkAnswer, 204: None},
        examples=WORK,
        once=False,
    )
    def claim(self, query: ClaimQuery, body: WorkInput) -> Response:
        """Each agent gets a different run. If a holder stops sending heartbeats, the next agent gets its run."""
        if query.wait:
            # Somebody else may be quicker, and the answer is 204 then: ask again.
            wait_until(work_for(self.project, body).exists, key=self.key, longest_s=query.wait)

        def claim() -> Response:
            lease = claim_work(self.project, body, actor=self.actor)
            return response_of(work_answer(lease) if lease else None)

        return answer_once(self, claim)

    @change(
        "keep_run",
        "Extend the lease of a claimed run",
        may=Permission.HAND_IN,
        what="heartbeat",
        problems=(409,),
        once=False,
    )
    def keep(self, run: Run, body: TokenInput) -> HoldAnswer:
        return HoldAnswer(lease_until=keep_work(run, token=body.lease_token))

    @change(
        "release_run",
        "Release a claimed run",
        may=Permission.HAND_IN,
        what="release",
        problems=(409,),
    )
    def release(self, run: Run, body: TokenInput) -> None:
        release_work(run, token=body.lease_token, actor=self.actor)


# Ordering a finished run again, with instructions.

ORDERS = {
    "Best attempt": {"instructions": "Keep the structure, and give a source for every number."},
    "Specific attempt": {"instructions": "Half as long.", "attempt": 2},
}


class RedoRun(DeskView):
    def get_object(self, run_id: UUID) -> Run:
        return get_run_for(self.project, run_id)

    # The order counts as a person's word, as a review does: a pipeline that hands tasks in cannot pose as a reviewer.
    @change(
        "redo_run",
        "Redo a finished run with instructions",
        may=Permission.REVIEW,
        what="order",
        status=201,
        problems=(409,),
        examples=ORDERS,
        location="runs/{id}",
    )
    def redo(self, run: Run, body: RedoInput) -> RunAnswer:
        return run_answer(redo_run(run, body, actor=self.actor))
