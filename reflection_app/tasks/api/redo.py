"""Ordering a finished run again, with instructions."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.core.permissions import Permission
from reflection_app.runs.answers.run_answers import RunAnswer, run_answer
from reflection_app.tasks.redo_run import RedoInput, redo_run

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
