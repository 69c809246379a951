"""Writing a project into a file: all of it as it was at one moment, row by row, without holding it in memory."""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import IO, Any
from uuid import UUID

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.utils import timezone

from notebook_app.public import Row, TakenTable
from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.teams.archive.blind_rows import Blindness
from reflection_app.teams.archive.tables import (
    OF_PROJECT,
    STAYS,
    TABLES,
    columns_of,
    is_of_person,
    key_in_file,
    rows_of,
)
from reflection_app.teams.models.tool import Secret

FORMAT = "reflection-desk-project"
VERSION = 1
MANIFEST = "manifest.json"
ROWS_AT_ONCE = 200


@dataclass(frozen=True)
class Written:
    """How many rows of each table are in the file."""

    rows: dict[str, int]


def write_project(project: Project, file: IO[bytes], *, actor: Actor, hides_opinions: bool) -> Written:
    """The project is in `file`, a zip that need not be seekable; the trail tells who took it.

    With `hides_opinions`, what is said at seats of open blind panels stays out of it: nobody may read it yet.
    """
    # Within another transaction, it is that one's moment.
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        blindness = Blindness.of(project.pk) if hides_opinions else Blindness()
        counts: dict[str, int] = {}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for table in TABLES:
                counts[table.name] = _write_table(archive, table, project.pk, blindness)
            manifest = _manifest(project, counts=counts, hides_opinions=hides_opinions)
            archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2))
        audit(project.pk, actor, "project.exported", target=project, after={"rows": sum(counts.values())})
    return Written(counts)


def _write_table(archive: zipfile.ZipFile, table: TakenTable, project_id: UUID, blindness: Blindness) -> int:
    many = 0
    # Always with room for more than 4 GB: nobody knows beforehand.
    with archive.open(f"{table.name}.jsonl", "w", force_zip64=True) as lines, io.TextIOWrapper(lines, "utf-8") as text:
        for row in _rows(table, project_id):
            told = blindness.told(table.name, row)
            if told is not None:
                text.write(json.dumps(told, ensure_ascii=False, default=_as_json) + "\n")
                many += 1
    return many


def _rows(table: TakenTable, project_id: UUID) -> Iterator[Row]:
    columns = columns_of(table)
    plain = [column.attname for column in columns if not is_of_person(column)]
    people = {key_in_file(column): F(f"{column.name}__username") for column in columns if is_of_person(column)}
    rows = rows_of(table, project_id).values(*plain, **people)
    for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
        yield dict(row)


def _as_json(value: object) -> object:
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _manifest(project: Project, *, counts: dict[str, int], hides_opinions: bool) -> dict[str, Any]:
    applied = MigrationRecorder.Migration.objects.filter(app__in=("reflection_app", "notebook_app"))
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": timezone.now().isoformat(),
        "migrations": sorted(f"{one.app}.{one.name}" for one in applied),
        "project": {"id": str(project.pk), "slug": project.slug, "name": project.name}
        | {name: getattr(project, name) for name in OF_PROJECT},
        "rows": counts,
        "opinions_left_out": hides_opinions,
        "secrets_to_enter": list(Secret.objects.filter(project=project).order_by("name").values("name", "origin")),
        "left_out": STAYS,
    }
