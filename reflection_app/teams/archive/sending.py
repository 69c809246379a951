"""A project's file for somebody who asked for it over HTTP: written whole before the first byte is sent.

So an error on the way is told as one, where a file that breaks off would be taken for the project.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import batched
from typing import IO

from asgiref.sync import sync_to_async

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.runs.told import mark_told
from reflection_app.teams.archive.writing import write_project

PIECE = 256 * 1024
RUNS_AT_ONCE = 5_000


def whole_file(project: Project, *, actor: Actor) -> IO[bytes]:
    """The file, at its beginning and without a name on the disk. A pipeline that gets it is told of every run."""
    if actor.api_key is not None:
        runs = Run.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        for some in batched(runs.iterator(), RUNS_AT_ONCE):
            mark_told(project, set(some))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever sends it
    try:
        write_project(project, file, actor=actor, hides_opinions=True)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def headers_of(project: Project) -> dict[str, str]:
    return {
        "Content-Disposition": f'attachment; filename="project-{project.slug}.zip"',
        "Cache-Control": "no-store",
    }


class Pieces:
    """The file piece by piece. Django closes it with the answer, also where nobody reads any of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        with self._file:
            while piece := self._file.read(PIECE):
                yield piece

    def close(self) -> None:
        self._file.close()


class PiecesOffTheLoop:
    """The same for a server that must not wait for the disk, and would read an ordinary generator to its end first."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._file:
            while piece := await sync_to_async(self._file.read)(PIECE):
                yield piece

    def close(self) -> None:
        self._file.close()
