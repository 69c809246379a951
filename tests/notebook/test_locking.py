"""Whoever has to do with several rows of a notebook waits for it before the first: nobody waits in a circle."""

import json
import threading
import time
from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import connection, transaction

from notebook_app import comparing, curation, exposures, learning, merging
from notebook_app.changing import lock_notebook, lock_rows
from notebook_app.interchange.importing import begin_import, import_some, planned, preview
from notebook_app.interchange.reading import HandedIn
from notebook_app.kinds import By, EntryKind
from notebook_app.models import Conflict, Entry
from notebook_app.proposing import Proposal, keep
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.notebook.bulk import BulkCuration, BulkDeed, curate_together
from tests import given
from tests.notebook.entries import make_entry
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
ANNA = By("anna")
Act = Callable[[Project, Entry, Entry], object]


def import_both(project: Project, one: Entry, other: Entry) -> None:
    """The first is changed by it, and something is added after."""
    lines = [
        {"kind": "lesson", "id": str(one.pk), "name": one.name, "content": "Other words"},
        {"kind": "lesson", "name": "Something that is new"},
    ]
    handed_in = HandedIn("entries.jsonl", "\n".join(map(json.dumps, lines)).encode())
    shown = preview(project.pk, [handed_in], by=ANNA)
    assert [one.step for one in planned(shown)] == ["change", "add"]
    begin_import(project.pk, shown.id)
    import_some(shown.id)


def sum_both(project: Project, one: Entry, other: Entry) -> None:
    drawn = [exposures.Drawn(entry.pk, 1, 1, 1.0, 0.1, 0.5, is_withheld=False) for entry in (one, other)]
    exposures.record_exposures(project.pk, subject="run", drawn=drawn, is_counted=True)
    exposures.sum_recalls()


def approve_both_at_once(project: Project, one: Entry, other: Entry) -> None:
    told = BulkCuration(entries=(one.pk, other.pk), do=BulkDeed.APPROVE)
    with transaction.atomic():
        curate_together(project, told, actor=Actor())


ACTS: dict[str, Act] = {
    "import": import_both,
    "sum": sum_both,
    "bulk": approve_both_at_once,
    "reject": lambda project, one, _: curation.reject(project.pk, one.pk, by=ANNA),
    "merge": lambda project, one, other: merging.merge(project.pk, gone_id=one.pk, into_id=other.pk, by=ANNA),
    "propose": lambda project, one, _: keep(project.pk, Proposal(EntryKind.LESSON, "Something that is new")),
    "compare": lambda project, one, _: comparing.compare(project.pk, one.pk),
    "unlearn": lambda project, one, _: learning.unlearn(project.pk, refs={"run": "1"}),
}


@pytest.mark.parametrize("name", ACTS)
def test_who_waits_for_the_notebook_holds_none_of_its_rows(name: str) -> None:
    project = given.project()
    one, other = (make_entry(project, name=f"Close the file {n}", flags=[]) for n in "ab")
    pair = sorted((one, other), key=lambda entry: entry.pk)
    conflict = Conflict.objects.create(
        project_id=project.pk, first=pair[0], second=pair[1], kind="duplicate", text_likeness=1.0
    )
    raised: list[Exception] = []

    def act() -> None:
        try:
            ACTS[name](project, one, other)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
            raised.append(error)
        finally:
            connection.close()

    acting = threading.Thread(target=act)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_notebook(project.pk)
        acting.start()
        _wait_for_who_waits(project.pk, acting)
        cursor.execute("SET LOCAL lock_timeout = '2s'")
        assert len(lock_rows(project.pk, (one.pk, other.pk))) == 2
        assert list(Conflict.objects.select_for_update(of=("self",)).values_list("pk", flat=True)) == [conflict.pk]
    acting.join(timeout=PATIENCE_S)
    assert not raised


def _wait_for_who_waits(project_id: UUID, acting: threading.Thread) -> None:
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    until = time.monotonic() + PATIENCE_S
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(waits)
            if cursor.fetchone() == (1,):
                return
            assert acting.is_alive(), "it did not wait for the notebook"
            time.sleep(0.01)
    raise AssertionError("it did not wait for the notebook")
