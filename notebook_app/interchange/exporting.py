"""Entries written out: as JSON lines, or as a ZIP archive in the file forms of the design seeds."""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from typing import Any
from uuid import UUID

from notebook_app.interchange.formats import file_name, index_of, written_line, written_markdown, written_note
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.models import Entry, Evidence
from notebook_app.reading import wordings_of

READ_AT_ONCE = 500


def json_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """One line an entry, each with its end."""
    for some in batched(entries, READ_AT_ONCE):
        wordings = wordings_of(some)
        yield from (f"{written_line(entry, wordings.get(entry.id, ()))}\n" for entry in some)


def archive(entries: Iterable[Entry], *, sessions: dict[str, str], documents: Iterable[tuple[str, str]] = ()) -> bytes:
    """A ZIP archive: error notes as `index.json` and `entries/*.json`, anti-patterns as `anti_patterns/*.md`.

    Every entry, those too, is in `entries.jsonl`, which loses nothing. `sessions` are the runs or sessions of notes by
    their entries' ids; `documents` are further files by their names, such as reports.
    """
    held = io.BytesIO()
    kept = list(entries)
    notes = [
        written_note(one, session_id=sessions.get(str(one.id), "")) for one in kept if one.kind == EntryKind.ERROR_NOTE
    ]
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as written:
        # First, so that whoever reads the archive in its order has the whole of an entry before its shorter forms.
        written.writestr("entries.jsonl", "".join(json_lines(kept)))
        written.writestr("index.json", _pretty(index_of(notes)))
        for note in notes:
            written.writestr(f"entries/{note['id']}.json", _pretty(note))
        for entry in kept:
            if entry.kind == EntryKind.ANTI_PATTERN:
                written.writestr(f"anti_patterns/{file_name(entry)}", written_markdown(entry))
        for name, text in documents:
            written.writestr(name, text)
    return held.getvalue()


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def every_entry(project_id: UUID, *, state: str = "") -> Iterator[Entry]:
    """The project's entries, oldest first, those of one state where it is named; read piece by piece."""
    rows = Entry.objects.filter(project_id=project_id)
    if state in EntryState:
        rows = rows.filter(state=state)
    return rows.order_by("created_at", "id").iterator(chunk_size=500)


def sessions_of(entry_ids: Sequence[UUID]) -> dict[str, str]:
    """The run or the session in which each entry was first learned, by the entry's id, where one is known."""
    found: dict[str, str] = {}
    for start in range(0, len(entry_ids), 1_000):
        rows = Evidence.objects.filter(entry__in=entry_ids[start : start + 1_000]).order_by("created_at", "id")
        for entry_id, refs in rows.values_list("entry_id", "refs"):
            session = refs.get("transcript") or refs.get("run")
            if session:
                found.setdefault(str(entry_id), str(session))
    return found
