"""Rows of the notebook for whoever shows lists page by page in an order of their own; to be read, not changed."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from notebook_app.life import EntryState
from notebook_app.listing import Listing
from notebook_app.models import EntryVersion, Evidence


def entry_rows(project_id: UUID, wanted: Listing) -> QuerySet[Any]:
    """The entries that are meant, in no order; each can be `shown`."""
    return wanted.rows(project_id).defer("search")


def stale_rows(project_id: UUID, wanted: Listing) -> QuerySet[Any]:
    """Those of them that are approved, each with `unused_since`: when it was last told anybody, or else approved."""
    rows = entry_rows(project_id, wanted).filter(state=EntryState.APPROVED)
    annotated: QuerySet[Any] = rows.annotate(unused_since=Coalesce("last_recalled_at", "decided_at", "created_at"))
    return annotated


def version_rows(project_id: UUID, entry_id: UUID) -> QuerySet[Any]:
    """The versions of the project's entry; each can be made a `KeptVersion` by `version_of`."""
    return EntryVersion.objects.filter(entry=entry_id, entry__project_id=project_id)


def evidence_rows(project_id: UUID, entry_id: UUID) -> QuerySet[Any]:
    """The evidence of the project's entry, with `refs` and `created_at`."""
    return Evidence.objects.filter(entry=entry_id, project_id=project_id)
