"""The audit trail as a file, streamed page by page so that no query and no memory is held for all of it."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterator, Sequence

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse

from reflection_app.core.audit import AuditEntry
from reflection_app.metrics.review_figures import FORMULA_STARTS
from reflection_app.teams.audit_trail import is_hidden, made_by
from reflection_app.web.access import DeskRequest

PAGE = 500
COLUMNS = ("id", "at", "who", "key_made_by", "action", "target", "target_id", "before", "after", "is_hidden", "address")
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


def as_file(request: DeskRequest, entries: QuerySet[AuditEntry], *, form: str) -> StreamingHttpResponse:
    """The entries as `csv` or `jsonl`, to be kept."""
    lines = _csv_pages(entries) if form == "csv" else _jsonl_pages(entries)
    # Served by ASGI, an ordinary generator would be read to its end before the first byte is sent.
    body = _off_the_loop(lines) if isinstance(request, ASGIRequest) else lines
    name = f"audit-{request.place.project.slug}.{form}"
    return StreamingHttpResponse(
        body,
        content_type=MEDIA_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


async def _off_the_loop(lines: Iterator[str]) -> AsyncIterator[str]:
    def next_text() -> str | None:
        return next(lines, None)

    while (text := await sync_to_async(next_text)()) is not None:
        yield text


def _pages(entries: QuerySet[AuditEntry]) -> Iterator[list[AuditEntry]]:
    """The entries newest first; each page is asked for after the last row of the one before."""
    rows = list(entries[:PAGE])
    while rows:
        yield rows
        at, pk = rows[-1].created_at, rows[-1].pk
        rows = list(entries.filter(created_at__lte=at).filter(Q(created_at__lt=at) | Q(pk__lt=pk))[:PAGE])


def _facts(entry: AuditEntry) -> dict[str, object]:
    hidden = is_hidden(entry)
    return {
        "id": str(entry.pk),
        "at": entry.created_at.isoformat(),
        "who": entry.actor_label,
        "key_made_by": made_by(entry),
        "action": entry.action,
        "target": entry.target,
        "target_id": str(entry.target_id),
        "before": {} if hidden else entry.before,
        "after": {} if hidden else entry.after,
        "is_hidden": hidden,
        "address": entry.address or "",
    }


def _jsonl_pages(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    for rows in _pages(entries):
        yield "".join(json.dumps(_facts(row), ensure_ascii=False) + "\n" for row in rows)


def _csv_pages(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    yield _csv([COLUMNS])
    for rows in _pages(entries):
        yield _csv([[_cell(value) for value in _facts(row).values()] for row in rows])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
