"""The audit trail, entry by entry."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.audit import AuditEntry
from reflection_app.core.permissions import Permission
from reflection_app.teams.audit_trail import AuditFilter, entries_for, is_hidden, made_by


class AuditQuery(AuditFilter, PageQuery):
    """The filters, and the page."""


class AuditAnswer(BaseModel):
    id: UUID
    created_at: datetime
    actor: str = Field(description="a user name, `key <name>` or `system`, as it was then")
    key_made_by: str | None = Field(
        description="of a key, the user who made it; null of people, and of keys made by the desk's command"
    )
    action: str
    target: str = Field(description="the kind of thing")
    target_id: UUID
    before: dict[str, Any]
    after: dict[str, Any]
    is_hidden: bool = Field(description="whether before and after are withheld while others judge the same blindly")
    address: str | None


class AuditPage(BaseModel):
    results: list[AuditAnswer]
    next: str | None
    previous: str | None


class AuditEntryList(DeskView):
    permissions = needs(get=Permission.READ_AUDIT)

    @described_get(
        "list_audit_entries", summary="Who did what to what, newest first", query=AuditQuery, answer=AuditPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, AuditQuery)
        rows = entries_for(self.project, query, reader=self.actor)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([audit_answer(entry) for entry in page.rows]))


def audit_answer(entry: AuditEntry) -> AuditAnswer:
    hidden = is_hidden(entry)
    return AuditAnswer(
        id=entry.pk,
        created_at=entry.created_at,
        actor=entry.actor_label,
        key_made_by=made_by(entry) or None,
        action=entry.action,
        target=entry.target,
        target_id=entry.target_id,
        before={} if hidden else entry.before,
        after={} if hidden else entry.after,
        is_hidden=hidden,
        address=entry.address,
    )
