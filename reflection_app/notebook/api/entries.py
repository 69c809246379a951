"""The notebook's entries: listed, proposed, read and edited."""

from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app import public
from notebook_app.public import KEPT, EntryFilter, EntryKind, EntryState, KeptEntry, Listing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, Number, Order, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, get_run_for, get_transcript_for
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Moment, Text
from reflection_app.notebook.answers import (
    EntryAnswer,
    EntryListPage,
    EvidenceAnswer,
    EvidencePage,
    ProposalAnswer,
    VersionDiffAnswer,
    VersionPage,
    diff_answer,
    entry_answer,
    entry_answers,
    version_answer,
)
from reflection_app.notebook.curating import edit_entry, owner_named
from reflection_app.notebook.input import EntryEdit, EntryInput, Version
from reflection_app.notebook.proposing import propose_entry

# The base of what decides on entries: a key that may only propose does not get this far.


class CuratingView(DeskView):
    permissions = needs(post=Permission.CURATE)


PROPOSALS: dict[str, Any] = {
    "A mistake": {
        "kind": "error_note",
        "name": "Totals without tax",
        "description": "The total of order 4711 was given without tax.",
        "category": "incomplete_answer",
        "details": {"cause": "The tool's field net_total was read.", "suggestion": "Read gross_total."},
        "agent": "billing",
        "evidence": {"run": "01890a5d-ac96-774b-bcce-b302099a8057"},
    },
    "A rule": {"kind": "rule", "name": "Dates", "content": "Write dates as 2026-01-31."},
}
TOTAL = TypeAdapter(tuple[Number, UUID])


class EntrySort(StrEnum):
    NEWEST = "newest"
    OCCURRENCES = "occurrences"
    RECALLED = "recalled"
    STALE = "stale"


ORDERS = {
    EntrySort.NEWEST: NEWEST_FIRST,
    EntrySort.OCCURRENCES: Order(("occurrences", "id"), descending=True, position=TOTAL),
    EntrySort.RECALLED: Order(("recalled", "id"), descending=True, position=TOTAL),
    EntrySort.STALE: Order(("unused_since", "id"), descending=False, position=TypeAdapter(tuple[Moment, UUID])),
}


class EntryQuery(PageQuery):
    state: EntryState | None = Field(default=None, description="every state where left out")
    kind: EntryKind | None = None
    category: Text | None = Field(default=None, max_length=120)
    agent: Text | None = Field(default=None, max_length=120, description="the entry's own agent")
    tag: Text | None = Field(default=None, max_length=60)
    owner: Text | None = Field(default=None, max_length=150, description="the name of a member; empty is nobody")
    flagged: bool = Field(default=False, description="those that screening found something in, which nobody cleared")
    run: UUID | None = Field(default=None, description="entries that rest on this run")
    transcript: UUID | None = Field(default=None, description="entries that rest on this session")
    q: Text | None = Field(
        default=None, max_length=200, description="words that all stand in it; to search, use recall"
    )
    sort: EntrySort = Field(default=EntrySort.NEWEST, description="`stale`: the approved, longest untold first")


class EntryList(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK, post=Permission.PROPOSE_ENTRIES)

    @described_get(
        "list_entries", summary="Entries of the notebook, the newest first", query=EntryQuery, answer=EntryListPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, EntryQuery)
        wanted = _listing(self.project, query)
        listed = public.stale_rows if query.sort is EntrySort.STALE else public.entry_rows
        page = get_page(listed(self.project.pk, wanted), request=request, query=query, order=ORDERS[query.sort])
        return Response(page.with_results(entry_answers([public.shown(row) for row in page.rows])))

    @described_post(
        "propose_entry",
        summary="Propose an entry; what the notebook has already is counted there",
        body=EntryInput,
        answers={200: ProposalAnswer, 201: ProposalAnswer},
        examples=PROPOSALS,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """201 where it is new, 200 where it was known. It is told to nobody before somebody has approved it.

        What differs in case, spaces and punctuation alone is the same; mistakes are the same whatever their numbers and
        ids. The same evidence is counted once; a proposal without evidence is an occurrence of its own.
        """
        told = propose_entry(self.project, read_input(request, EntryInput, what="entry"), actor=self.actor)
        answer = ProposalAnswer(entry=entry_answer(told.entry), is_new=told.is_new, is_counted=told.is_counted)
        return Response(answer.model_dump(mode="json"), 201 if told.is_new else 200)


class EntryDetail(CuratingView):
    http_method_names: ClassVar[list[str]] = ["get", "patch", "head"]  # type: ignore[misc]
    permissions = needs(get=Permission.READ_NOTEBOOK, patch=Permission.CURATE)

    @described_get("get_entry", summary="One entry", answer=EntryAnswer, problems=(404,))
    def get(self, request: Request, entry_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(entry_answer(get_entry_for(self.project, entry_id)).model_dump(mode="json"))

    @described_post(
        "edit_entry",
        summary="Say an entry in other words, or label it otherwise; its state stays",
        body=EntryEdit,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"Other words": {"content": "Read gross_total.", "reason": "Shorter", "expected_version": 2}},
    )
    @idempotent
    def patch(self, request: Request, entry_id: UUID) -> Response:
        """What is left out stays. Needs the scope `reviews:write` besides, as every decision on an entry does."""
        get_entry_for(self.project, entry_id)
        told = read_input(request, EntryEdit, what="edit")
        entry = edit_entry(self.project, entry_id, told, actor=self.actor)
        return Response(entry_answer(entry).model_dump(mode="json"))


def get_entry_for(project: Project, entry_id: UUID) -> KeptEntry:
    """The project's entry. Raises NotFound."""
    entry = public.entry_of(project.pk, entry_id)
    if entry is None:
        raise NotFound("There is no such entry.")
    return entry


def rests_on_transcript(project: Project, transcript_id: UUID) -> tuple[dict[str, str], ...]:
    """What evidence of a session, or of the run that reflected on it meanwhile, holds. Raises NotFound."""
    transcript = get_transcript_for(project, transcript_id)
    of_run = ({"run": str(transcript.run_id)},) if transcript.run_id else ()
    return ({"transcript": str(transcript.pk)}, *of_run)


def _listing(project: Project, query: EntryQuery) -> Listing:
    owner_id = owner_named(project, query.owner).pk if query.owner else None
    return Listing(
        among=EntryFilter(
            states=(query.state,) if query.state else (),
            kinds=(query.kind,) if query.kind else (),
            category=query.category or "",
            tags=(query.tag,) if query.tag else (),
        ),
        words=query.q or "",
        agent=query.agent or "",
        owner_id=owner_id,
        is_unowned=query.owner == "",
        is_flagged=query.flagged,
        resting_on=_resting_on(project, query),
    )


def _resting_on(project: Project, query: EntryQuery) -> tuple[dict[str, str], ...]:
    if query.run is not None and query.transcript is not None:
        raise InvalidInput(
            "One of run and transcript.", errors=[{"field": "transcript", "message": "run is given too"}]
        )
    if query.transcript is not None:
        return rests_on_transcript(project, query.transcript)
    return ({"run": str(query.run)},) if query.run else ()


# What an entry was and what it rests on, and what rests on a run or a session.

NEWEST_VERSION_FIRST = Order(("number",), descending=True, position=TypeAdapter(tuple[Number]))


class EntryVersions(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)

    @described_get(
        "list_entry_versions",
        summary="What an entry was: who changed it how and why, the newest first",
        query=PageQuery,
        answer=VersionPage,
        problems=(404,),
    )
    def get(self, request: Request, entry_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        get_entry_for(self.project, entry_id)
        rows = public.version_rows(self.project.pk, entry_id)
        page = get_page(rows, request=request, query=query, order=NEWEST_VERSION_FIRST)
        return Response(page.with_results([version_answer(row) for row in page.rows]))


class TwoVersions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    before: Version | None = Field(default=None, description="the one before the last, where left out")
    after: Version | None = Field(default=None, description="the last one, where left out")


class EntryVersionDiff(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)

    @described_get(
        "compare_entry_versions",
        summary="What one version of an entry says otherwise than another, field by field",
        query=TwoVersions,
        answer=VersionDiffAnswer,
        problems=(404,),
    )
    def get(self, request: Request, entry_id: UUID) -> Response:
        query = read_query(request, TwoVersions)
        entry = get_entry_for(self.project, entry_id)
        after = query.after or entry.version
        before = query.before or max(after - 1, 1)
        rows = public.version_rows(self.project.pk, entry_id).filter(number__in=(before, after))
        kept = dict(rows.values_list("number", "kept"))
        if missing := {before, after} - kept.keys():
            raise NotFound(f"The entry has no version {min(missing)}.")
        fields = public.diff_of(kept[before], kept[after], fields=KEPT)
        return Response(diff_answer(before, after, fields).model_dump(mode="json"))


class EntryEvidence(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)

    @described_get(
        "list_entry_evidence",
        summary="Where what an entry says was found, the newest first",
        query=PageQuery,
        answer=EvidencePage,
        problems=(404,),
    )
    def get(self, request: Request, entry_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        get_entry_for(self.project, entry_id)
        rows = public.evidence_rows(self.project.pk, entry_id)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        found = [EvidenceAnswer(id=row.pk, refs=row.refs, created_at=row.created_at) for row in page.rows]
        return Response(page.with_results(found))


class _EntriesOf(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)
    order: ClassVar[Order] = ORDERS[EntrySort.NEWEST]

    def listed(self, request: Request, query: PageQuery, resting_on: tuple[dict[str, str], ...]) -> Response:
        rows = public.entry_rows(self.project.pk, Listing(resting_on=resting_on))
        page = get_page(rows, request=request, query=query, order=self.order)
        return Response(page.with_results(entry_answers([public.shown(row) for row in page.rows])))


class RunEntries(_EntriesOf):
    @described_get(
        "list_run_entries",
        summary="The entries of the notebook that rest on a run",
        query=PageQuery,
        answer=EntryListPage,
        problems=(404,),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        run = get_run_for(self.project, run_id)
        return self.listed(request, query, ({"run": str(run.pk)},))


class TranscriptEntries(_EntriesOf):
    @described_get(
        "list_transcript_entries",
        summary="The entries of the notebook that rest on a session",
        query=PageQuery,
        answer=EntryListPage,
        problems=(404,),
    )
    def get(self, request: Request, transcript_id: UUID) -> Response:
        query = read_query(request, PageQuery)
        return self.listed(request, query, rests_on_transcript(self.project, transcript_id))
