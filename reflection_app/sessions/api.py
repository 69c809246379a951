"""Sessions of agents: open one, add turns as they happen and be told what was reflected, end it, read it."""

import zlib
from typing import Any, ClassVar, Literal
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from pydantic import AwareDatetime, BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import BY_SEQ, NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.problems import UnsupportedBody
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing, get_run_for, get_transcript_for
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.sessions.answers import (
    TranscriptAnswer,
    TranscriptPage,
    TurnPage,
    TurnsAnswer,
    transcript_answer,
    transcript_lines,
    turn_answer,
    turns_answer,
)
from reflection_app.sessions.models import Reflector, Transcript, TranscriptTurn
from reflection_app.sessions.otlp.wire import JSON, PROTOBUF, TooManyParts, Unreadable, read_export, refusal, success
from reflection_app.sessions.recording import (
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
    session_state,
    tell_newest,
)
from reflection_app.sessions.traces import FULL, take_spans

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


# What those who look back found, for a run or a session that has ended.


class FoundAnswer(Answer):
    """A finding of the error reflector (category, cause, suggestion), or a memory (type, name, content)."""

    category: str | None
    type: str | None
    name: str | None
    description: str
    cause: str | None
    suggestion: str | None
    content: str | None
    became: Literal["added", "counted", "refused"]
    why: str | None = Field(description="why it was refused: told, counted_before or name_taken")
    entry_id: UUID | None


class ReflectorAnswer(Answer):
    kind: Literal["errors", "memory"]
    run_id: UUID = Field(description="the run that looks back, with its steps and its cost")
    outcome: str | None = Field(description="null while it looks back")
    score: float | None = Field(description="of the work, 0 to 100, by the error reflector")
    found: int
    added: int = Field(description="how many became new entries of the notebook")
    counted: int = Field(description="how many the notebook knew, counted once more")
    findings: list[FoundAnswer]
    finished_at: AwareDatetime | None


class ReflectorsAnswer(Answer):
    """Both forks; neither where nobody was asked to look back."""

    results: list[ReflectorAnswer]
    pending: bool


class RunReflectors(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_run_reflectors",
        summary="What those who look back at a run found",
        answer=ReflectorsAnswer,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        read_query(request, NoParameters)
        return _answered(Q(run=get_run_for(self.project, run_id)))


class TranscriptReflectors(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_transcript_reflectors",
        summary="What those who look back at a session found",
        answer=ReflectorsAnswer,
        problems=(404,),
    )
    def get(self, request: Request, transcript_id: UUID) -> Response:
        read_query(request, NoParameters)
        return _answered(Q(transcript=get_transcript_for(self.project, transcript_id)))


def _answered(about: Q) -> Response:
    rows = Reflector.objects.filter(about).select_related("fork").defer("fork__spec").order_by("kind")
    results = [reflector_answer(row) for row in rows]
    pending = any(one.finished_at is None for one in results)
    return Response(ReflectorsAnswer(results=results, pending=pending).model_dump(mode="json"))


def reflector_answer(row: Reflector) -> ReflectorAnswer:
    return ReflectorAnswer(
        kind=row.kind,
        run_id=row.fork_id,
        outcome=row.fork.outcome,
        score=row.score,
        found=row.found,
        added=row.added,
        counted=row.counted,
        findings=[_found(one) for one in row.findings],
        finished_at=row.finished_at,
    )


def _found(one: dict[str, str]) -> FoundAnswer:
    told = {name: one.get(name) or None for name in FoundAnswer.model_fields if name != "entry_id"}
    return FoundAnswer.model_validate(
        told | {"description": one.get("description", ""), "entry_id": one.get("entry") or None}
    )


# `POST /v1/traces`, where OTLP has it: the traces of agents, from any exporter that is given a key.

# Of what a gzip body unfolds to; the body itself is bounded like every other.
LARGEST_UNFOLDED = 40_000_000
# Many of an SDK's batches (512), and two of a collector's (8,192).
MOST_SPANS_AT_ONCE = 20_000
GZIP_WINDOW = 16 + zlib.MAX_WBITS


class TooLarge(ActionError):
    """The body unfolds to more than is read, or is made of too many parts."""

    status = 413
    title = "Content too large"


class TraceIntake(DeskView):
    http_method_names: ClassVar[list[str]] = ["post"]  # type: ignore[misc]
    permissions = needs(post=Permission.HAND_IN)
    # OTLP's own specification describes it.
    schema = None

    def post(self, request: Request) -> HttpResponse:
        media_type = media_type_of(request)
        if media_type not in {PROTOBUF, JSON}:
            raise UnsupportedBody(f"Send {PROTOBUF} or {JSON}.")
        try:
            received = read_export(body_of(request), media_type=media_type)
        except TooManyParts as error:
            raise TooLarge(str(error)) from None
        except Unreadable as error:
            raise InvalidInput(str(error)) from None
        taken = take_spans(self.project, received.spans[:MOST_SPANS_AT_ONCE])
        too_many = max(0, len(received.spans) - MOST_SPANS_AT_ONCE)
        rejected = len(received.rejected) + taken.refused + too_many
        reasons = [*received.rejected]
        if taken.refused:
            reasons.append(FULL)
        if too_many:
            reasons.append(f"a request has more than {MOST_SPANS_AT_ONCE:,} spans")
        answer = success(rejected=rejected, reasons=tuple(reasons), media_type=media_type)
        return HttpResponse(answer, content_type=media_type)

    def handle_exception(self, exc: Exception) -> Any:
        """The refusal in OTLP's form, with the status and headers of a problem of REST."""
        problem: Response = super().handle_exception(exc)
        body = problem.data
        lines = [body["detail"], *(f"{error['field']}: {error['message']}" for error in body.get("errors", ()))]
        sent = media_type_of(self.request)
        media_type = sent if sent == JSON else PROTOBUF
        answer = refusal("\n".join(lines), status=problem.status_code, media_type=media_type)
        headers = {name: value for name, value in problem.headers.items() if name.lower() != "content-type"}
        return HttpResponse(answer, status=problem.status_code, content_type=media_type, headers=headers)


def media_type_of(request: Request) -> str:
    return (request.headers.get("Content-Type") or "").partition(";")[0].strip().lower()


def body_of(request: Request) -> bytes:
    """The body, unfolded. Raises UnsupportedBody, InvalidInput or TooLarge."""
    body: bytes = request.body
    encoding = (request.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise UnsupportedBody("Send the body as it is, or with Content-Encoding: gzip.")
    unfolding = zlib.decompressobj(GZIP_WINDOW)
    try:
        unfolded = unfolding.decompress(body, LARGEST_UNFOLDED)
    except zlib.error:
        raise InvalidInput("The body is not gzip.") from None
    if unfolding.unconsumed_tail:
        raise TooLarge(f"The body unfolds to more than {LARGEST_UNFOLDED:,} bytes.")
    if not unfolding.eof or unfolding.unused_data:
        raise InvalidInput("The body is not one whole gzip.")
    return unfolded
