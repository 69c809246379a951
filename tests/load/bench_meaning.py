"""Prints how long the nearest entries take to be found, and how many of the truly nearest ten the index finds.

ENTRIES entries in one project, and 200 projects of 500 beside it, in one space of 384 dimensions. The vectors are
made up: directions around a few thousand subjects that all lean to one side, as those of multilingual-e5 do.

.venv/bin/python -m tests.load.bench_meaning [ENTRIES]
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from uuid_utils.compat import uuid7

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from notebook_app.entry_filter import EntryFilter
    from notebook_app.meaning import Near
    from notebook_app.models import EmbeddingSpace as Space

DIMENSIONS = 384
SUBJECTS = 4_000
SMALL_PROJECTS, OF_ENTRIES = 200, 500
QUESTIONS = 300
# What tells one entry from the next; all else is as the first has it.
OWN = {
    "id": "n.id",
    "name": "'lesson ' || n.number",
    "category": "CASE WHEN n.number % 400 = 0 THEN 'rare' WHEN n.number % 4 = 0 THEN 'common' ELSE 'other' END",
    "source": "n.id::text",
    "fingerprint": "n.id::text",
}
GIVEN = """
DROP TABLE IF EXISTS given;
CREATE TEMPORARY TABLE given AS SELECT * FROM unnest(%s::uuid[]) WITH ORDINALITY AS given(id, number)
"""


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(describe_machine())
    with django_on_own_engines({"DATABASE_POOL_SIZE": "4"}):
        from notebook_app.entry_filter import EntryFilter
        from notebook_app.meaning import active_space

        made = Made()
        big, *small = [uuid7() for _ in range(SMALL_PROJECTS + 1)]
        began = time.perf_counter()
        fill_space(made, {big: many} | dict.fromkeys(small, OF_ENTRIES))
        print(f"{many + SMALL_PROJECTS * OF_ENTRIES} vectors and their index took {time.perf_counter() - began:.0f} s")
        space = active_space()
        assert space is not None
        measure(f"{many} entries", [big], made, EntryFilter(), space)
        measure("of these every fourth", [big], made, EntryFilter(category="common"), space)
        measure("of these 1 in 400", [big], made, EntryFilter(category="rare"), space)
        measure(f"{SMALL_PROJECTS} projects of {OF_ENTRIES}", small, made, EntryFilter(), space)
    print(describe_machine())


class Made:
    """Vectors around subjects, the same in every run."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(6)
        lean = self._chance.normal(size=DIMENSIONS)
        self._subjects = self._chance.normal(size=(SUBJECTS, DIMENSIONS)) + 2.0 * lean

    def vectors(self, many: int) -> np.ndarray[Any, Any]:
        rows = self._subjects[self._chance.integers(SUBJECTS, size=many)]
        rows = rows + 0.7 * self._chance.normal(size=(many, DIMENSIONS))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fill_space(made: Made, projects: dict[UUID, int]) -> None:
    """The active space with vectors for so many new entries of each project; the index is built at the end."""
    from django.db import connection

    from notebook_app.models import EmbeddingSpace, Entry, SpaceState
    from notebook_app.public import DESK, EntryKind, Proposal, approve, keep, wanted_space
    from tests.load.copies import copy_row, copy_vectors, indexes_built_afterwards

    kept = keep(uuid7(), Proposal(kind=EntryKind.LESSON, name="first", content="what was learned " * 20)).entry
    approve(kept.project_id, kept.pk, by=DESK)
    first = Entry.objects.get(pk=kept.pk)
    space = wanted_space("made-up/model", DIMENSIONS)
    EmbeddingSpace.objects.update(state=SpaceState.ACTIVE)
    with indexes_built_afterwards("notebook_app_entry", "notebook_app_embedding"):
        for project, many in projects.items():
            ids = [uuid7() for _ in range(many)]
            with connection.cursor() as cursor:
                cursor.execute(GIVEN, [ids])
            copy_row(first, OWN | {"project_id": f"'{project}'"}, for_each="given")
            copy_vectors(space.id, project, ids, made.vectors(many))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notebook_app_entry, notebook_app_embedding")


def measure(what: str, projects: Sequence[UUID], made: Made, among: "EntryFilter", space: "Space") -> None:
    from notebook_app import meaning

    questions = [[float(number) for number in row] for row in made.vectors(QUESTIONS)]
    asked = [(projects[at % len(projects)], question) for at, question in enumerate(questions)]
    for project, question in asked[:20]:
        meaning.nearest(project, question, among=among, limit=10)
    took, shares = [], []
    for project, question in asked:
        began = time.perf_counter()
        found = meaning.nearest(project, question, among=among, limit=10)
        took.append(1_000 * (time.perf_counter() - began))
        shares.append(share_of(truly_nearest(project, question, among, space), found))
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    print(f"{what:26} p50 {p50:5.1f} ms, p95 {p95:5.1f} ms; recall@10 {statistics.mean(shares):.3f}")


def truly_nearest(project: UUID, question: Sequence[float], among: "EntryFilter", space: "Space") -> list["Near"]:
    from notebook_app import meaning

    compared: Callable[..., list[Near]] = meaning._compared
    return compared(among.among(project), space, question, limit=10)


def share_of(truth: "Sequence[Near]", found: "Sequence[Near]") -> float:
    return len({one.entry_id for one in truth} & {one.entry_id for one in found}) / len(truth)


if __name__ == "__main__":
    main()
