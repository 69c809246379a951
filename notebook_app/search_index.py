"""What an entry is found by, as its column `search` holds it.

Each lexeme begins with a mark of its project. The index keeps one list per lexeme: without the mark, a question in a
small project would read through all that a large one has of the same word.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction

from notebook_app.kinds import words_of
from notebook_app.models import Entry
from notebook_app.search_text import Token, plain, tokens_of
from notebook_app.stems import stems_of

# Of so much of a field an entry is found; the rest is there to be read.
LONGEST_INDEXED = 6_000
# PostgreSQL's own limit of a position.
LAST_POSITION = 16_383
MOST_POSITIONS = 4
MARK_LENGTH = 6
BATCH = 500


def marked(project_id: UUID, lexeme: str) -> str:
    """The lexeme as the index has it. Two projects with one mark are told apart by their rows' project."""
    return project_id.hex[-MARK_LENGTH:] + lexeme


def quoted(lexeme: str) -> str:
    """The lexeme as PostgreSQL reads it in a tsvector or a tsquery."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def lexemes_of(tokens: Sequence[Token]) -> list[str]:
    """What each token is looked for by; empty for words that say nothing."""
    stems = stems_of(token.text for token in tokens if token.is_word)
    return [stems[token.text] if token.is_word else token.text for token in tokens]


def search_of(entry: Entry) -> str:
    """The value of the entry's column `search`: its name weighs most, its labels least."""
    return _written(entry.project_id, {weight: list(tokens_of(text)) for weight, text in _fields(entry).items()})


def refresh_search(project_id: UUID | None = None) -> int:
    """How many entries were made findable that were not, such as those that were written in bulk."""
    rows = Entry.objects.filter(search__isnull=True)
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    refreshed = 0
    while batch := _refresh_batch(rows.order_by("id").values_list("pk", flat=True)[:BATCH]):
        refreshed += batch
    return refreshed


@transaction.atomic
def _refresh_batch(ids: Iterable[UUID]) -> int:
    entries = list(
        Entry.objects.select_for_update(of=("self",), skip_locked=True)
        .filter(pk__in=list(ids), search__isnull=True)
        .order_by("id")
    )
    tokens = {entry.pk: {w: list(tokens_of(text)) for w, text in _fields(entry).items()} for entry in entries}
    # One question to the database for all of the words.
    stems_of(token.text for fields in tokens.values() for found in fields.values() for token in found if token.is_word)
    for entry in entries:
        entry.search = _written(entry.project_id, tokens[entry.pk])
    Entry.objects.bulk_update(entries, ["search"])
    return len(entries)


def _fields(entry: Entry) -> dict[str, str]:
    texts = {
        "A": [entry.name],
        "B": [entry.description],
        "C": [entry.content, *words_of(entry.details)],
        "D": [entry.category, entry.agent, *entry.tags],
    }
    return {weight: plain("\n".join(some)[:LONGEST_INDEXED])[:LONGEST_INDEXED] for weight, some in texts.items()}


def _written(project_id: UUID, fields: dict[str, list[Token]]) -> str:
    positions: dict[str, list[str]] = defaultdict(list)
    place = 0
    for weight, tokens in fields.items():
        for token, lexeme in zip(tokens, lexemes_of(tokens), strict=True):
            if not lexeme:
                continue
            place = min(place + 1, LAST_POSITION)
            held = positions[lexeme]
            if not token.is_character and len(held) < MOST_POSITIONS:
                held.append(f"{place}{weight}")
    return " ".join(
        quoted(marked(project_id, lexeme)) + (":" + ",".join(dict.fromkeys(held)) if held else "")
        for lexeme, held in positions.items()
    )
