"""What an entry was and what it rests on, and what rests on a run or a session."""

from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app import public
from notebook_app.public import KEPT, Listing
from reflection_app.api.access import get_run_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.pages import NEWEST_FIRST, Number, Order, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import Permission
from reflection_app.notebook.answers.notebook_answers import (
    EntryListPage,
    EvidenceAnswer,
    EvidencePage,
    VersionDiffAnswer,
    VersionPage,
    diff_answer,
    entry_answers,
    version_answer,
)
from reflection_app.notebook.api.notebook_entries import ORDERS, EntrySort, get_entry_for, rests_on_transcript
from reflection_app.notebook.notebook_input import Version

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
