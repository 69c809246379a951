"""The labelled set of recall: entries, and questions with the entries that answer them, half kept for testing alone."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import UUID

from notebook_app.models import Entry
from notebook_app.search import refresh_search

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Question:
    """`relevant` are keys of entries; of an unrelated question there are none."""

    text: str
    language: str
    relevant: frozenset[str]
    is_held_out: bool


@cache
def questions() -> tuple[Question, ...]:
    """All with relevant entries, in both languages; every second one is for testing alone."""
    lines = enumerate(json.loads(FILE.read_text())["queries"])
    return tuple(Question(text, language, frozenset(keys), place % 2 == 1) for place, (text, language, keys) in lines)


@cache
def unrelated_questions() -> tuple[Question, ...]:
    """Questions to which no entry says anything."""
    lines = json.loads(FILE.read_text())["unrelated"]
    return tuple(Question(text, language, frozenset(), is_held_out=False) for text, language in lines)


def keep_set(project_id: UUID) -> dict[UUID, str]:
    """The keys of the set's entries by their ids in the project, where they are approved and can be found."""
    entries = [
        Entry(
            project_id=project_id,
            kind=kind,
            state="approved",
            name=name,
            description=text,
            source=key,
            fingerprint=key,
        )
        for key, kind, name, text in json.loads(FILE.read_text())["entries"]
    ]
    kept = Entry.objects.bulk_create(entries)
    refresh_search(project_id)
    return {entry.pk: entry.source for entry in kept}
