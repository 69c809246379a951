"""The notebook's entries: listed, proposed, read and edited."""

from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from rest_framework.response import Response

from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.listing import Listing, entry_rows, evidence_rows, stale_rows, version_rows
from notebook_app.public import Entry
from notebook_app.versions import KEPT, diff_of
from reflection_app.api.actions import change, read, response_of
from reflection_app.api.pages import NEWEST_FIRST, Number, Order, PageQuery
from reflection_app.api.schema import IF_MATCH
from reflection_app.api.view import DeskView, get_run_for, get_transcript_for
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
from reflection_app.notebook.proposing import get_entry_for, propose_entry
from reflection_app.sessions.models import Transcript

PROPOSALS: dict[str, Any] = {
    "Error note": {
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
# A caller may send a session again under its id; its entries rest on any of them.
MOST_SESSIONS = 50
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
    state: EntryState | None = Field(default=None, description="default: every state")
    kind: EntryKind | None = None
    category: Text | None = Field(default=None, max_length=120)
    agent: Text | None = Field(default=None, max_length=120, description="only entries of this agent")
    tag: Text | None = Field(default=None, max_length=60)
    owner: Text | None = Field(
        default=None, max_length=150, description="username of the owner; empty for entries without an owner"
    )
    flagged: bool = Field(default=False, description="only entries with safety flags that are not cleared")
    run: UUID | None = Field(default=None, description="only entries based on this run")
    transcript: UUID | None = Field(default=None, description="only entries based on this session")
    session: Text | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="only entries based on the sessions with this `external_id`, or whose evidence has it as `session`",
    )
    q: Text | None = Field(
        default=None,
        max_length=200,
        description="words that an entry must all contain; for a ranked search, use recall",
    )
    sort: EntrySort = Field(default=EntrySort.NEWEST, description="`stale`: approved entries, longest unused first")


class Entries(DeskView):
    def get_object(self, entry_id: UUID) -> Entry:
        return get_entry_for(self.project, entry_id)

    def get_edited(self, entry: Entry) -> int:
        return entry.version

    @read(
        "list_entries", "List notebook entries, newest first by default", may=Permission.READ_NOTEBOOK, problems=(404,)
    )
    def list(self, query: EntryQuery) -> EntryListPage:
        given = [name for name in ("run", "transcript", "session") if getattr(query, name) is not None]
        if len(given) > 1:
            raise InvalidInput(
                "One of run, transcript and session.",
                errors=[{"field": given[-1], "message": f"{given[0]} is given too"}],
            )
        owner_id = owner_named(self.project, query.owner).pk if query.owner else None
        resting_on: tuple[dict[str, str], ...] = ({"run": str(query.run)},) if query.run else ()
        if query.transcript is not None:
            resting_on = rests_on(get_transcript_for(self.project, query.transcript))
        if query.session is not None:
            resting_on = rests_on_session(self.project, query.session)
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
            resting_on=resting_on,
        )
        listed = stale_rows if query.sort is EntrySort.STALE else entry_rows
        # Each sort has a cursor of its own.
        rows, order = listed(self.project.pk, wanted), ORDERS[query.sort]
        return self.page(EntryListPage, rows, query, order=order, answers=entry_answers)

    @change(
        "propose_entry",
        "Propose an entry",
        may=Permission.PROPOSE_ENTRIES,
        what="entry",
        answers={200: ProposalAnswer, 201: ProposalAnswer},
        examples=PROPOSALS,
        location="notebook/entries/{entry[id]}",
    )
    def create(self, body: EntryInput) -> Response:
        """Returns 201 for a new entry, 200 for a known one. An entry is not used before it is approved.

        Entries of one kind are the same only if their text is, apart from Unicode form (NFC) and runs of whitespace;
        agent and labels do not matter. Different text under the same source is stored with the evidence. The same
        evidence is counted once; a proposal without evidence is a separate occurrence.
        """
        proposed = propose_entry(self.project, body, actor=self.actor)
        answer = ProposalAnswer.from_row(proposed, entry=entry_answer(proposed.entry))
        return response_of(answer, 201 if proposed.is_new else 200)

    @read(
        "get_entry",
        "Get an entry",
        may=Permission.READ_NOTEBOOK,
        tagged=True,
    )
    def retrieve(self, entry: Entry) -> EntryAnswer:
        return entry_answer(entry)

    @change(
        "edit_entry",
        "Edit the text or labels of an entry",
        may=Permission.CURATE,
        what="edit",
        problems=(409,),
        examples={"New text": {"content": "Read gross_total.", "reason": "Shorter", "expected_version": 2}},
        guarded=True,
    )
    def partial_update(self, entry: Entry, body: EntryEdit) -> EntryAnswer:
        """Omitted fields and the state are unchanged. As every decision on an entry, it also needs the scope
        `reviews:write`.
        """
        if IF_MATCH.name in self.request.headers and body.expected_version is None:
            # The notebook locks its own rows: it is told which version was looked at.
            body = body.model_copy(update={"expected_version": entry.version})
        return entry_answer(edit_entry(self.project, entry.id, body, actor=self.actor))


def rests_on(*transcripts: Transcript) -> tuple[dict[str, str], ...]:
    """Return what evidence of the sessions, or of the runs that reflected on them meanwhile, holds."""
    of_sessions = [{"transcript": str(one.pk)} for one in transcripts]
    return (*of_sessions, *({"run": str(one.run_id)} for one in transcripts if one.run_id))


def rests_on_session(project: Project, external_id: str) -> tuple[dict[str, str], ...]:
    """Return what evidence of the newest sessions with this id of the caller's holds, or evidence that names the id.

    Raises NotFound if there is neither.
    """
    named = {"session": external_id}
    rows = Transcript.objects.filter(project=project, external_id=external_id).only("pk", "run_id")
    found = list(rows.order_by("-created_at", "-id")[:MOST_SESSIONS])
    of_evidence = Listing(EntryFilter(states=()), resting_on=(named,))
    if not found and not entry_rows(project.pk, of_evidence).exists():
        raise NotFound("There is no session with this id.")
    return (named, *rests_on(*found))


# What an entry was and what it rests on, and what rests on a run or a session.

NEWEST_VERSION_FIRST = Order(("number",), descending=True, position=TypeAdapter(tuple[Number]))


class TwoVersions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    before: Version | None = Field(
        default=None, description="earlier version; default: the one before the later version"
    )
    after: Version | None = Field(default=None, description="later version; default: the latest")


class EntryHistory(Entries):
    @read(
        "list_entry_versions",
        "List versions of an entry, newest first",
        may=Permission.READ_NOTEBOOK,
    )
    def versions(self, entry: Entry, query: PageQuery) -> VersionPage:
        rows = version_rows(self.project.pk, entry.id)
        return self.page(VersionPage, rows, query, order=NEWEST_VERSION_FIRST, each=version_answer)

    @read(
        "compare_entry_versions",
        "Compare two versions of an entry",
        may=Permission.READ_NOTEBOOK,
    )
    def diff(self, entry: Entry, query: TwoVersions) -> VersionDiffAnswer:
        after = query.after or entry.version
        before = query.before or max(after - 1, 1)
        rows = version_rows(self.project.pk, entry.id).filter(number__in=(before, after))
        kept = dict(rows.values_list("number", "kept"))
        if missing := {before, after} - kept.keys():
            raise NotFound(f"The entry has no version {min(missing)}.")
        fields = diff_of(kept[before], kept[after], fields=KEPT)
        return VersionDiffAnswer.model_validate({"before": before, "after": after, "fields": fields})

    @read("list_entry_evidence", "List evidence of an entry, newest first", may=Permission.READ_NOTEBOOK)
    def evidence(self, entry: Entry, query: PageQuery) -> EvidencePage:
        return self.page(EvidencePage, evidence_rows(self.project.pk, entry.id), query)


class EntriesOf(DeskView):
    def get_object(self, **ids: UUID) -> tuple[dict[str, str], ...]:
        """What evidence of the run or the session holds, whichever the address names."""
        if "run_id" in ids:
            return ({"run": str(get_run_for(self.project, **ids).pk)},)
        return rests_on(get_transcript_for(self.project, **ids))

    @read("list_run_entries", "List entries based on a run", may=Permission.READ_NOTEBOOK)
    def of_run(self, resting_on: tuple[dict[str, str], ...], query: PageQuery) -> EntryListPage:
        rows = entry_rows(self.project.pk, Listing(resting_on=resting_on))
        return self.page(EntryListPage, rows, query, answers=entry_answers)

    @read("list_transcript_entries", "List entries based on a session", may=Permission.READ_NOTEBOOK)
    def of_transcript(self, resting_on: tuple[dict[str, str], ...], query: PageQuery) -> EntryListPage:
        rows = entry_rows(self.project.pk, Listing(resting_on=resting_on))
        return self.page(EntryListPage, rows, query, answers=entry_answers)
