"""Sessions of agents: open one, add turns as they happen and be told what was reflected, end it, read it."""

from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_transcript_for
from reflection_app.api.desk_view import DeskView, NoParameters, Nothing
from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import BY_SEQ, NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.permissions import Permission
from reflection_app.sessions.answers.transcript_answers import (
    TranscriptAnswer,
    TranscriptPage,
    TurnPage,
    TurnsAnswer,
    transcript_answer,
    transcript_lines,
    turn_answer,
    turns_answer,
)
from reflection_app.sessions.models.transcript import Transcript, TranscriptTurn
from reflection_app.sessions.session_state import session_state, tell_newest
from reflection_app.sessions.transcript_submission import TranscriptSubmission, TurnsInput
from reflection_app.sessions.transcripts import add_turns, end_transcript, open_transcript

EXAMPLES = {
    "The beginning of a session": {
        "objective": "Cancel the customer's second reservation.",
        "agent": "airline-agent",
        "messages": [{"role": "user", "content": "Please cancel my second trip."}],
        "reflection": {"mode": "inline", "every_turns": 5},
    },
}
TURNS_EXAMPLES = {
    "A tool's answer": {
        "after": 2,
        "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "Error: no such reservation"}],
    },
}


class TranscriptFilters(PageQuery):
    external_id: str | None = Field(default=None, max_length=200)
    agent: str | None = Field(default=None, max_length=120)


class TranscriptList(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)

    @described_get("list_transcripts", summary="Sessions, newest first", query=TranscriptFilters, answer=TranscriptPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, TranscriptFilters)
        wanted = query.model_dump(exclude_none=True, include={"external_id", "agent"})
        rows = Transcript.objects.filter(project=self.project, **wanted)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results(transcript_lines(page.rows)))

    @described_post(
        "open_transcript",
        summary="Hand in a session, whole or its beginning",
        body=TranscriptSubmission,
        answers={201: TranscriptAnswer},
        examples=EXAMPLES,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        submission = read_input(request, TranscriptSubmission, what="session")
        opened = open_transcript(self.project, submission, actor=self.actor)
        return Response(transcript_answer(session_state(opened)).model_dump(mode="json"), 201)


class TranscriptDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_transcript", summary="One session, reflected on", answer=TranscriptAnswer, problems=(404,))
    def get(self, request: Request, transcript_id: UUID) -> Response:
        read_query(request, NoParameters)
        transcript = get_transcript_for(self.project, transcript_id)
        return Response(transcript_answer(session_state(transcript)).model_dump(mode="json"))


class TranscriptTurns(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.HAND_IN)
    post_query: ClassVar[type[BaseModel]] = WaitQuery

    @described_get("list_turns", summary="The turns of a session", query=PageQuery, answer=TurnPage, problems=(404,))
    def get(self, request: Request, transcript_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        turns = TranscriptTurn.objects.filter(transcript=get_transcript_for(self.project, transcript_id))
        page = get_page(turns, request=request, query=query, order=BY_SEQ)
        return Response(page.with_results([turn_answer(turn) for turn in page.rows]))

    @described_post(
        "add_turns",
        summary="Add turns to a session, and be told what was reflected on it",
        body=TurnsInput,
        query=WaitQuery,
        answers={200: TurnsAnswer},
        problems=(404, 409),
        examples=TURNS_EXAMPLES,
    )
    def post(self, request: Request, transcript_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        added = self._add(request, transcript_id=transcript_id)
        is_repeated = added.data["is_repeated"] or bool(replayed(added))
        transcript = get_transcript_for(self.project, transcript_id)
        state = session_state(transcript)
        # Outside of the transaction that took the turns: the reflecting begins only when that has committed.
        if query.wait and state.is_pending and state.run is not None:
            wait_until_settled(state.run.pk, key=self.key, longest_s=query.wait)
            state = session_state(transcript)
        newest = tell_newest(state, covering=added.data["before"] if is_repeated else None)
        return Response(turns_answer(state, newest=newest).model_dump(mode="json"), headers=replayed(added))

    @idempotent
    def _add(self, request: Request, transcript_id: UUID) -> Response:
        given = read_input(request, TurnsInput, what="list of turns")
        added = add_turns(get_transcript_for(self.project, transcript_id), given, actor=self.actor)
        return Response({"before": added.before, "is_repeated": added.is_repeated})


class EndTranscript(DeskView):
    permissions = needs(post=Permission.HAND_IN)
    post_query: ClassVar[type[BaseModel]] = WaitQuery

    @described_post(
        "end_transcript",
        summary="Say that a session has ended",
        body=Nothing,
        query=WaitQuery,
        answers={200: TranscriptAnswer},
        problems=(404,),
    )
    def post(self, request: Request, transcript_id: UUID) -> Response:
        query = read_query(request, WaitQuery)
        ended = self._end(request, transcript_id=transcript_id)
        transcript = get_transcript_for(self.project, transcript_id)
        if query.wait and transcript.run_id is not None:
            wait_until_settled(transcript.run_id, key=self.key, longest_s=query.wait)
        answer = transcript_answer(session_state(transcript))
        return Response(answer.model_dump(mode="json"), headers=replayed(ended))

    @idempotent
    def _end(self, request: Request, transcript_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        end_transcript(get_transcript_for(self.project, transcript_id), actor=self.actor)
        return Response({})
