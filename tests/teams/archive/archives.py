"""Files of projects for tests: read whole, changed, and written again."""

import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.teams.archive.writing import write_project

Rows = list[dict[str, Any]]
MANIFEST = "manifest.json"


def everybody() -> dict[str, int]:
    """The users of this desk, as the people of a file of the same names."""
    return dict(User.objects.values_list("username", "pk"))


def written(project: Project, *, hides_opinions: bool = False) -> bytes:
    file = BytesIO()
    write_project(project, file, actor=Actor(), hides_opinions=hides_opinions)
    return file.getvalue()


def manifest_of(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        found: dict[str, Any] = json.loads(archive.read(MANIFEST))
        return found


def rows_of(content: bytes) -> dict[str, Rows]:
    """The rows by table."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {
            name.removesuffix(".jsonl"): [json.loads(line) for line in archive.read(name).splitlines()]
            for name in archive.namelist()
            if name != MANIFEST
        }


def saved(
    path: Path, *, manifest: dict[str, Any], rows: dict[str, Rows], extra: dict[str, bytes] | None = None
) -> Path:
    """A file with just these rows."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for table, lines in rows.items():
            archive.writestr(f"{table}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        for name, content in (extra or {}).items():
            archive.writestr(name, content)
    return path
