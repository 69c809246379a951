"""The notebook's entries: listed, proposed, read and edited."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app import public
from notebook_app.public import KEPT, EntryFilter, EntryKind, EntryState, KeptEntry, Listing
from reflection_app.api.pages import NEWEST_FIRST, Number, Order, PageQuery, get_page
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.api.view import get_run_for, get_transcript_for
from reflection_app.api.viewset import DeskViewSet, answer_body, answers_get, answers_list, answers_post, needing
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Moment, Text
from reflection_app.notebook.answers import (
    EntryAnswer,
    EntryListPage,
    EvidencePage,
    ProposalAnswer,
    VersionDiffAnswer,
    VersionPage,
    entry_answer,
    entry_answers,
    version_answer,
)
from reflection_app.notebook.curating import edit_entry, owner_named
from reflection_app.notebook.input import EntryEdit, EntryInput, Version
from reflection_app.notebook.proposing import propose_entry

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


def _entries(rows: Sequence[Any]) -> list[EntryAnswer]:
    return entry_answers([public.shown(row) for row in rows])


class Entries(DeskViewSet):
    # Each sort has a cursor of its own.
    @needing(Permission.READ_NOTEBOOK)
    @described_get(
        "list_entries", summary="Entries of the notebook, the newest first", query=EntryQuery, answer=EntryListPage
    )
    def list(self, request: Request) -> Response:
        query = read_query(request, EntryQuery)
        project = self.project
        owner_id = owner_named(project, query.owner).pk if query.owner else None
        wanted = Listing(
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
        listed = public.stale_rows if query.sort is EntrySort.STALE else public.entry_rows
        page = get_page(listed(self.project.pk, wanted), request=request, query=query, order=ORDERS[query.sort])
        return Response(page.with_results(_entries(page.rows)))

    @answers_post(
        "propose_entry",
        Permission.PROPOSE_ENTRIES,
        summary="Propose an entry; what the notebook has already is counted there",
        body=EntryInput,
        what="entry",
        answer=ProposalAnswer,
        statuses=(200, 201),
        examples=PROPOSALS,
    )
    def propose(self, given: EntryInput) -> Response:
        """201 where it is new, 200 where it was known. It is told to nobody before somebody has approved it.

        What differs in case, spaces and punctuation alone is the same; mistakes are the same whatever their numbers and
        ids. The same evidence is counted once; a proposal without evidence is an occurrence of its own.
        """
        told = propose_entry(self.project, given, actor=self.actor)
        answer = ProposalAnswer.from_row(told, entry=entry_answer(told.entry))
        return Response(answer_body(ProposalAnswer, answer), 201 if told.is_new else 200)

    def check_found(self, **ids: Any) -> None:
        if ids:
            get_entry_for(self.project, **ids)

    @answers_get("get_entry", Permission.READ_NOTEBOOK, summary="One entry", answer=EntryAnswer, problems=(404,))
    def detail(self, entry_id: UUID) -> EntryAnswer:
        return entry_answer(get_entry_for(self.project, entry_id))

    @answers_post(
        "edit_entry",
        Permission.CURATE,
        summary="Say an entry in other words, or label it otherwise; its state stays",
        body=EntryEdit,
        what="edit",
        answer=EntryAnswer,
        problems=(404, 409),
        examples={"Other words": {"content": "Read gross_total.", "reason": "Shorter", "expected_version": 2}},
    )
    def edit(self, told: EntryEdit, entry_id: UUID) -> EntryAnswer:
        """What is left out stays. Needs the scope `reviews:write` besides, as every decision on an entry does."""
        return entry_answer(edit_entry(self.project, entry_id, told, actor=self.actor))


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


class TwoVersions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    before: Version | None = Field(default=None, description="the one before the last, where left out")
    after: Version | None = Field(default=None, description="the last one, where left out")


class EntryHistory(DeskViewSet):
    @answers_list(
        "list_entry_versions",
        Permission.READ_NOTEBOOK,
        summary="What an entry was: who changed it how and why, the newest first",
        answer=VersionPage,
        order=NEWEST_VERSION_FIRST,
        shown=lambda rows: [version_answer(row) for row in rows],
        problems=(404,),
    )
    def versions(self, _query: PageQuery, entry_id: UUID) -> QuerySet[Any]:
        get_entry_for(self.project, entry_id)
        return public.version_rows(self.project.pk, entry_id)

    @answers_get(
        "compare_entry_versions",
        Permission.READ_NOTEBOOK,
        summary="What one version of an entry says otherwise than another, field by field",
        query=TwoVersions,
        answer=VersionDiffAnswer,
        problems=(404,),
    )
    def diff(self, query: TwoVersions, entry_id: UUID) -> dict[str, Any]:
        entry = get_entry_for(self.project, entry_id)
        after = query.after or entry.version
        before = query.before or max(after - 1, 1)
        rows = public.version_rows(self.project.pk, entry_id).filter(number__in=(before, after))
        kept = dict(rows.values_list("number", "kept"))
        if missing := {before, after} - kept.keys():
            raise NotFound(f"The entry has no version {min(missing)}.")
        fields = public.diff_of(kept[before], kept[after], fields=KEPT)
        return {"before": before, "after": after, "fields": fields}

    @answers_list(
        "list_entry_evidence",
        Permission.READ_NOTEBOOK,
        summary="Where what an entry says was found, the newest first",
        answer=EvidencePage,
        problems=(404,),
    )
    def evidence(self, _query: PageQuery, entry_id: UUID) -> QuerySet[Any]:
        get_entry_for(self.project, entry_id)
        return public.evidence_rows(self.project.pk, entry_id)


class EntriesOf(DeskViewSet):
    @answers_list(
        "list_run_entries",
        Permission.READ_NOTEBOOK,
        summary="The entries of the notebook that rest on a run",
        answer=EntryListPage,
        shown=_entries,
        problems=(404,),
    )
    def of_run(self, _query: PageQuery, run_id: UUID) -> QuerySet[Any]:
        run = get_run_for(self.project, run_id)
        return public.entry_rows(self.project.pk, Listing(resting_on=({"run": str(run.pk)},)))

    @answers_list(
        "list_transcript_entries",
        Permission.READ_NOTEBOOK,
        summary="The entries of the notebook that rest on a session",
        answer=EntryListPage,
        shown=_entries,
        problems=(404,),
    )
    def of_transcript(self, _query: PageQuery, transcript_id: UUID) -> QuerySet[Any]:
        resting_on = rests_on_transcript(self.project, transcript_id)
        return public.entry_rows(self.project.pk, Listing(resting_on=resting_on))
