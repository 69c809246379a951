"""Sessions of agents: open one, add turns as they happen and be told what was reflected, end it, read it."""

import zlib
from collections import Counter
from typing import Any, ClassVar, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from pydantic import AliasPath, AwareDatetime, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once, replayed
from reflection_app.api.pages import BY_SEQ, PageQuery
from reflection_app.api.permissions import needs
from reflection_app.api.problems import UnsupportedBody
from reflection_app.api.reading import Answer, media_type_of, read_query
from reflection_app.api.view import (
    DeskView,
    NoParameters,
    Nothing,
    encoding_of,
    get_run_for,
    get_transcript_for,
)
from reflection_app.api.waiting import WaitQuery, wait_until_settled
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import AgentName
from reflection_app.sessions.answers import (
    TranscriptAnswer,
    TranscriptPage,
    TurnPage,
    TurnsAnswer,
    transcript_answer,
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
from reflection_app.sessions.traces import take_spans

EXAMPLES = {
    "Start of a session": {
        "objective": "Cancel the customer's second reservation.",
        "agent": "airline-agent",
        "messages": [{"role": "user", "content": "Please cancel my second trip."}],
        "reflection": {"mode": "inline", "every_turns": 5},
    },
}
TURNS_EXAMPLES = {
    "Tool result": {
        "after": 2,
        "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "Error: no such reservation"}],
    },
}


class TranscriptFilters(PageQuery):
    external_id: str | None = Field(default=None, max_length=200)
    agent: AgentName | None = Field(default=None, max_length=120)


class Transcripts(DeskView):
    def get_object(self, transcript_id: UUID) -> Transcript:
        return get_transcript_for(self.project, transcript_id)

    @read("list_transcripts", "List sessions, newest first", may=Permission.READ)
    def list(self, query: TranscriptFilters) -> TranscriptPage:
        transcripts = Transcript.objects.filter(project=self.project, **query.get_filters())
        return self.page(TranscriptPage, transcripts, query)

    @change(
        "open_transcript",
        "Submit a session, complete or partial",
        may=Permission.HAND_IN,
        what="session",
        status=201,
        examples=EXAMPLES,
        location="transcripts/{id}",
    )
    def create(self, body: TranscriptSubmission) -> TranscriptAnswer:
        return transcript_answer(session_state(open_transcript(self.project, body, actor=self.actor)))

    @read("get_transcript", "Get a session with its reflections", may=Permission.READ)
    def retrieve(self, transcript: Transcript) -> TranscriptAnswer:
        return transcript_answer(session_state(transcript))

    @read("list_turns", "List the turns of a session", may=Permission.READ)
    def turns(self, transcript: Transcript, query: PageQuery) -> TurnPage:
        return self.page(TurnPage, TranscriptTurn.objects.filter(transcript=transcript), query, order=BY_SEQ)

    @change(
        "add_turns",
        "Add turns and get the newest reflection",
        may=Permission.HAND_IN,
        what="list of turns",
        answers={200: TurnsAnswer},
        problems=(409,),
        examples=TURNS_EXAMPLES,
        once=False,
    )
    def add_turns(self, transcript: Transcript, query: WaitQuery, body: TurnsInput) -> Response:
        def add() -> Response:
            added = add_turns(transcript, body, actor=self.actor)
            return Response({"before": added.before, "is_repeated": added.is_repeated})

        added = answer_once(self, add)
        is_repeated = added.data["is_repeated"] or bool(replayed(added))
        transcript = self.get_object(transcript.pk)
        state = session_state(transcript)
        # Outside of the transaction that took the turns: the reflecting begins only when that has committed.
        if query.wait and state.is_pending and state.run is not None:
            wait_until_settled(state.run.pk, key=self.key, longest_s=query.wait)
            state = session_state(transcript)
        newest = tell_newest(state, covering=added.data["before"] if is_repeated else None)
        return response_of(turns_answer(state, newest=newest), headers=replayed(added))

    @change(
        "end_transcript",
        "End a session",
        may=Permission.HAND_IN,
        answers={200: TranscriptAnswer},
        once=False,
    )
    def end(self, transcript: Transcript, query: WaitQuery, body: Nothing) -> Response:
        def end() -> Response:
            end_transcript(transcript, actor=self.actor)
            return Response({})

        ended = answer_once(self, end)
        transcript = self.get_object(transcript.pk)
        if query.wait and transcript.run_id is not None:
            wait_until_settled(transcript.run_id, key=self.key, longest_s=query.wait)
        return response_of(transcript_answer(session_state(transcript)), headers=replayed(ended))


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
    run_id: UUID = Field(validation_alias="fork_id", description="the run of the reflector, with its steps and cost")
    outcome: str | None = Field(
        validation_alias=AliasPath("fork", "outcome"), description="null while the reflection is in progress"
    )
    score: float | None = Field(description="quality of the work, 0 to 100, from the error reflector")
    found: int
    added: int = Field(description="number of findings that became new notebook entries")
    counted: int = Field(description="number of findings already in the notebook, counted as another occurrence")
    findings: list[FoundAnswer]
    finished_at: AwareDatetime | None


class ReflectorsAnswer(Answer):
    """Results of both reflectors. Empty if no reflection was requested."""

    results: list[ReflectorAnswer]
    pending: bool


class Reflectors(DeskView):
    def get_object(self, **ids: UUID) -> QuerySet[Reflector]:
        """Of a run or of a session, whichever the address names."""
        if "run_id" in ids:
            rows = Reflector.objects.filter(run=get_run_for(self.project, **ids))
        else:
            rows = Reflector.objects.filter(transcript=get_transcript_for(self.project, **ids))
        return rows.select_related("fork").defer("fork__spec").order_by("kind")

    @read("get_run_reflectors", "Get the post-run reflections on a run", may=Permission.READ)
    def of_run(self, rows: QuerySet[Reflector]) -> ReflectorsAnswer:
        return reflectors_answer(rows)

    @read("get_transcript_reflectors", "Get the post-run reflections on a session", may=Permission.READ)
    def of_transcript(self, rows: QuerySet[Reflector]) -> ReflectorsAnswer:
        return reflectors_answer(rows)


def reflectors_answer(rows: QuerySet[Reflector]) -> ReflectorsAnswer:
    results = [ReflectorAnswer.from_row(row, findings=[finding_answer(one) for one in row.findings]) for row in rows]
    return ReflectorsAnswer(results=results, pending=any(one.finished_at is None for one in results))


def finding_answer(finding: dict[str, str]) -> FoundAnswer:
    known = {name: finding.get(name) or None for name in FoundAnswer.model_fields if name != "entry_id"}
    return FoundAnswer.model_validate(
        known | {"description": finding.get("description", ""), "entry_id": finding.get("entry") or None}
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
    content_encodings = ("identity", "gzip")

    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoParameters)
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
        rejected = Counter(received.rejected) + Counter(taken.rejected)
        if too_many := max(0, len(received.spans) - MOST_SPANS_AT_ONCE):
            rejected[f"a request has more than {MOST_SPANS_AT_ONCE:,} spans"] = too_many
        answer = success(rejected=rejected, media_type=media_type)
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


def body_of(request: Request) -> bytes:
    """Return the decoded body. Raises InvalidInput or TooLarge."""
    body: bytes = request.body
    if encoding_of(request) == "identity":
        return body
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
