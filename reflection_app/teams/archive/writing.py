"""Writing a project into a file: all of it as it was at one moment, row by row, without holding it in memory."""

import io
import json
import tempfile
import zipfile
from datetime import datetime
from functools import partial
from itertools import batched
from typing import IO

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from reflection_app.core.audit import Actor, audit, hand_of
from reflection_app.core.models import Project
from reflection_app.core.streamed import as_file
from reflection_app.runs.models import Run
from reflection_app.runs.seen import mark_seen
from reflection_app.teams.archive.tables import (
    HEX,
    OF_PROJECT,
    STAYS,
    TABLES,
    Blindness,
    columns_of,
    is_of_person,
    key_in_file,
    rows_at_once,
    rows_of,
)
from reflection_app.teams.models import Secret

FORMAT = "reflection-desk-project"
VERSION = 1
MANIFEST = "manifest.json"


def write_project(project: Project, file: IO[bytes], *, actor: Actor, hides_opinions: bool) -> dict[str, int]:
    """Write the project into `file`, a zip that need not be seekable, and return how many rows each table has.

    With `hides_opinions`, what is said at seats of open blind panels stays out of it: nobody may read it yet.
    """
    # Within another transaction, it is that one's moment.
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        blindness = Blindness.of(project.pk) if hides_opinions else Blindness()
        names = {hand_of(pk): name for pk, name in User.objects.values_list("pk", "username")}
        counts: dict[str, int] = {}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for table in TABLES:
                columns = columns_of(table)
                plain = [column.attname for column in columns if not is_of_person(column)]
                people = {
                    key_in_file(column): F(f"{column.name}__username") for column in columns if is_of_person(column)
                }
                rows = rows_of(table, project.pk).values(*plain, **people)
                many = 0
                # Always with room for more than 4 GB: nobody knows beforehand.
                with (
                    archive.open(f"{table.name}.jsonl", "w", force_zip64=True) as lines,
                    io.TextIOWrapper(lines, "utf-8") as text,
                ):
                    for row in rows.iterator(chunk_size=rows_at_once(table)):
                        told = blindness.told(table.name, dict(row))
                        if told is not None:
                            if table.model is Run:
                                # By name, as all people are; a key counts as its maker, and is unnamed without one.
                                told["handed_in_by"] = [names.get(hand, "") for hand in row["handed_in_by"]]
                            text.write(json.dumps(told, ensure_ascii=False, default=_as_json) + "\n")
                            many += 1
                counts[table.name] = many
            applied = MigrationRecorder.Migration.objects.filter(app__in=("reflection_app", "notebook_app"))
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "made_at": timezone.now().isoformat(),
                "migrations": sorted(f"{one.app}.{one.name}" for one in applied),
                "project": {"id": str(project.pk), "slug": project.slug, "name": project.name}
                | {name: getattr(project, name) for name in OF_PROJECT},
                "rows": counts,
                "opinions_left_out": hides_opinions,
                "secrets_to_enter": list(
                    Secret.objects.filter(project=project).order_by("name").values("name", "origin")
                ),
                "left_out": STAYS,
            }
            archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2))
        audit(project.pk, actor, "project.exported", target=project, after={"rows": sum(counts.values())})
    return counts


def _as_json(value: object) -> object:
    if isinstance(value, bytes | memoryview):
        return HEX + bytes(value).hex()
    return value.isoformat() if isinstance(value, datetime) else str(value)


# A project's file for somebody who asked for it over HTTP: written whole before the first byte is sent.
#
# So an error on the way is told as one, where a file that breaks off would be taken for the project.

PIECE = 256 * 1024
RUNS_AT_ONCE = 5_000


def whole_file(project: Project, *, actor: Actor) -> IO[bytes]:
    """The file, at its beginning and without a name on the disk. A pipeline that gets it is told of every run."""
    if actor.api_key is not None:
        runs = Run.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        for some in batched(runs.iterator(), RUNS_AT_ONCE):
            mark_seen(project, set(some))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever sends it
    try:
        write_project(project, file, actor=actor, hides_opinions=True)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def file_response(request: HttpRequest, project: Project, *, actor: Actor) -> StreamingHttpResponse:
    """The answer with the whole file."""
    file = whole_file(project, actor=actor)
    pieces = iter(partial(file.read, PIECE), b"")
    response = as_file(request, pieces, name=f"project-{project.slug}.zip", media_type="application/zip")
    # Also where nobody reads any of it.
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]  # noqa: SLF001 - as Django's FileResponse
    return response
