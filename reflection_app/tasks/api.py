"""Tasks: hand in one or many, find them again."""

from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_body, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, get_run_for, get_task_for
from reflection_app.core.errors import ActionError, InvalidInput, capped
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.values import Value
from reflection_app.runs.answers import RunAnswer, run_answer
from reflection_app.runs.models import NOT_OF_THE_DESK
from reflection_app.tasks.answers import BatchAnswer, TaskAnswer, TaskPage, submitted_answers, task_answers
from reflection_app.tasks.models import Task
from reflection_app.tasks.redo import RedoInput, redo_run
from reflection_app.tasks.submission import TaskSubmission, read_submission
from reflection_app.tasks.submitting import submit_task

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


class TaskFilters(PageQuery):
    external_id: str | None = Field(default=None, max_length=200)
    kind: str | None = Field(default=None, max_length=60)
    agent: str | None = Field(default=None, max_length=120)
    mode: Mode | None = Field(default=None, description="the loop that was asked for")


class Batch(Value):
    """Tasks to be handed in together: all of them, or none."""

    tasks: Annotated[list[TaskSubmission], Field(min_length=1, max_length=MOST_IN_A_BATCH)]


class InvalidBatch(ActionError):
    """Some of the tasks cannot be used; each error carries the place of its task."""

    status = 400
    title = "Invalid input"

    def __init__(self, message: str, *, errors: list[dict[str, str | int]]) -> None:
        super().__init__(message)
        self.errors = capped(errors)


class TaskList(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)

    @described_get("list_tasks", summary="Tasks, newest first", query=TaskFilters, answer=TaskPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, TaskFilters)
        wanted = query.model_dump(exclude_none=True, include={"external_id", "kind", "agent", "mode"})
        tasks = Task.objects.filter(project=self.project, **wanted).defer("tests")
        if query.mode is None:
            tasks = tasks.filter(NOT_OF_THE_DESK)
        page = get_page(tasks, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results(task_answers(page.rows)))

    @described_post(
        "submit_task", summary="Hand in a task", body=TaskSubmission, answers={201: TaskAnswer}, examples=EXAMPLES
    )
    @idempotent
    def post(self, request: Request) -> Response:
        run = submit_task(self.project, read_submission(read_body(request)), actor=self.actor)
        return Response(submitted_answers([run])[0].model_dump(mode="json"), 201)


class TaskBatch(DeskView):
    permissions = needs(post=Permission.HAND_IN)

    @described_post(
        "submit_tasks",
        summary="Hand in up to 500 tasks, all or none",
        body=Batch,
        answers={201: BatchAnswer},
        examples={"Two tasks": {"tasks": list(EXAMPLES.values())}},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        submissions = read_batch(read_body(request))
        with transaction.atomic():
            runs = [submit_task(self.project, submission, actor=self.actor) for submission in submissions]
        answer = BatchAnswer(results=submitted_answers(runs))
        return Response(answer.model_dump(mode="json"), 201)


class TaskDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_task", summary="One task with its newest run", answer=TaskAnswer, problems=(404,))
    def get(self, request: Request, task_id: UUID) -> Response:
        read_query(request, NoParameters)
        task = get_task_for(self.project, task_id)
        return Response(task_answers([task])[0].model_dump(mode="json"))


def read_batch(body: Any) -> list[TaskSubmission]:
    """The submissions of `body`. Raises InvalidInput, or InvalidBatch, which names every bad task by its index."""
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
    return submissions


# Ordering a finished run again, with instructions.

ORDERS = {
    "The best attempt": {"instructions": "Keep the structure, and give a source for every number."},
    "A certain attempt": {"instructions": "Half as long.", "attempt": 2},
}


class RedoRun(DeskView):
    # The order counts as a person's word, as a review does: a pipeline that hands tasks in cannot pose as a reviewer.
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "redo_run",
        summary="Order a finished run again, with instructions: a new run that begins with its answer",
        body=RedoInput,
        answers={201: RunAnswer},
        problems=(404, 409),
        examples=ORDERS,
    )
    @idempotent
    def post(self, request: Request, run_id: UUID) -> Response:
        run = get_run_for(self.project, run_id)
        redone = redo_run(run, read_input(request, RedoInput, what="order"), actor=self.actor)
        return Response(run_answer(redone).model_dump(mode="json"), 201)
