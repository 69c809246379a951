"""Entries for tests, in any state and with any columns."""

from itertools import count
from typing import Any
from uuid import UUID, uuid4

from notebook_app.changing import derive
from notebook_app.kinds import By, Change, EntryState
from notebook_app.models import Entry
from notebook_app.versions import write_version
from reflection_app.core.models import Project

SOMEBODY = By("somebody")
_numbers = count(1)


def make_entry(project: Project | UUID, **columns: Any) -> Entry:
    """A lesson with words of its own, proposed, at its first version."""
    number = next(_numbers)
    columns.setdefault("name", f"Lesson {number}")
    columns.setdefault("source", f"test:{number}")
    columns.setdefault("fingerprint", uuid4().hex)
    columns.setdefault("kind", "lesson")
    project_id = project.pk if isinstance(project, Project) else project
    entry = Entry(project_id=project_id, **columns)
    derive(entry)
    entry.save(force_insert=True)
    write_version(entry, Change.PROPOSED, by=SOMEBODY)
    return entry


def entry_in(state: EntryState, project_id: UUID) -> Entry:
    """An entry in this state; what is merged is merged into another of the project."""
    merged_into = make_entry(project_id) if state == EntryState.MERGED else None
    return make_entry(project_id, state=state.value, merged_into=merged_into)
