"""The stems of English words, as PostgreSQL's own dictionary makes them. Kept, since words come again and again."""

from collections.abc import Iterable

from django.db import connection

MOST_KEPT = 100_000
_kept: dict[str, str] = {}


def stems_of(words: Iterable[str]) -> dict[str, str]:
    """Each word's stem; empty for those that say nothing by themselves, such as "the"."""
    wanted = set(words)
    found = {word: _kept[word] for word in wanted if word in _kept}
    if unknown := sorted(wanted - found.keys()):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT word, COALESCE((ts_lexize('english_stem', word))[1], '') FROM unnest(%s::text[]) AS word",
                [unknown],
            )
            made = dict(cursor.fetchall())
        if len(_kept) + len(made) > MOST_KEPT:
            _kept.clear()
        _kept.update(made)
        found |= made
    return found
