"""The attempts of a run: read them, or hand in the one that the run waits for."""

from typing import ClassVar
from uuid import UUID

from django.db.models import Prefetch
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import BY_NUMBER, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.waiting import SETTLED, WaitQuery, wait_until_settled
from reflection_app.core.permissions import Permission
from reflection_app.runs.answers.journal_answers import AttemptPage, attempt_answer
from reflection_app.runs.answers.next_answer import HandedInAnswer, handed_in_answer
from reflection_app.runs.hand_in_attempt import LOOK_AGAIN_AFTER_S, AttemptInput, hand_in_attempt
from reflection_app.runs.models.attempt import Attempt, Verdict

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
        verdicts = Prefetch("verdicts", queryset=Verdict.objects.select_related("given_by"))
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
