"""Versions of an entry: what one keeps, what one says otherwise than another, and who is told."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

from notebook_app.identity import KEYED
from notebook_app.kinds import By, Change
from notebook_app.models import Entry, EntryVersion

# What a version of an entry keeps, and writing one.


# The words and their labels; restoring a version brings back these and no state.
KEPT = ("kind", "name", "description", "content", "details", "agent", "category", "tags")
# What people and models are told of it: a change of these is screened and compared anew.
WORDS = KEYED
# Kept besides, for whoever takes the next change back.
BESIDE = ("owner_id", "is_cleared", "merged_into_id", "reason", "decided_by_label", "decided_at")


def kept_of(entry: Entry) -> dict[str, Any]:
    """The columns that a version keeps, as they are now."""
    return {name: _as_json(getattr(entry, name)) for name in (*KEPT, *BESIDE)}


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def write_version(
    entry: Entry, change: Change, *, by: By, reason: str = "", evidence: dict[str, Any] | None = None
) -> EntryVersion:
    """The version that the entry's row, locked by the caller and saved, is at now."""
    return EntryVersion.objects.create(
        entry=entry,
        number=entry.version,
        change=change.value,
        state=entry.state,
        kept=kept_of(entry),
        reason=reason,
        by_label=by.label[:200],
        by_id=by.user_id,
        evidence=evidence or {},
    )


# What one version of an entry says otherwise than another, field by field. Pure.

# Words with the space behind them; Chinese, written without spaces, by single characters.
_PIECES = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|\s+|."
)
# Comparing takes time that grows with the square: longer texts are compared by lines.
MOST_PIECES = 1_000


@dataclass(frozen=True)
class Piece:
    """A part of a text: `kind` is same, removed or added."""

    kind: str
    text: str


@dataclass(frozen=True)
class FieldDiff:
    """One field that differs: all that was said before and is said after, in order, and what of it went and came."""

    field: str
    before: str
    after: str
    pieces: tuple[Piece, ...]

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(piece.text for piece in self.pieces if piece.kind == "removed")

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(piece.text for piece in self.pieces if piece.kind == "added")


def diff_of(before: Mapping[str, Any], after: Mapping[str, Any], *, fields: tuple[str, ...]) -> tuple[FieldDiff, ...]:
    """The fields that differ, in the order of `fields`; those of details as `details.<name>`."""
    was, now = flat(before, fields), flat(after, fields)
    names = [*was, *(name for name in now if name not in was)]
    ordered = sorted(names, key=lambda name: fields.index(name.partition(".")[0]))
    return tuple(
        FieldDiff(name, was.get(name, ""), now.get(name, ""), pieces_of(was.get(name, ""), now.get(name, "")))
        for name in ordered
        if was.get(name, "") != now.get(name, "")
    )


def pieces_of(before: str, after: str) -> tuple[Piece, ...]:
    """The parts of both texts, in order: without the added ones it is `before`, without the removed ones `after`."""
    # What is the same at both ends, mostly nearly all, needs no comparing.
    one, other = _cut(before), _cut(after)
    head = _alike(one, other)
    tail = _alike(one[head:][::-1], other[head:][::-1])
    middle = _compared(one[head : len(one) - tail], other[head : len(other) - tail])
    return (*_all_of("same", "".join(one[:head])), *middle, *_all_of("same", "".join(one[len(one) - tail :])))


def _alike(one: list[str], other: list[str]) -> int:
    """How many pieces are the same from the beginning on."""
    return next(
        (at for at, (this, that) in enumerate(zip(one, other, strict=False)) if this != that), min(len(one), len(other))
    )


def _compared(one: list[str], other: list[str]) -> tuple[Piece, ...]:
    before, after = "".join(one), "".join(other)
    if max(len(one), len(other)) > MOST_PIECES:
        one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(one), len(other)) > MOST_PIECES:
        return _all_of("removed", before) + _all_of("added", after)
    found: list[Piece] = []
    # Its own bound on what repeats is needed: without it a text of two words, repeated, takes minutes.
    for kind, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=True).get_opcodes():
        if kind == "equal":
            found.append(Piece("same", "".join(one[i:j])))
            continue
        found += [*_all_of("removed", "".join(one[i:j])), *_all_of("added", "".join(other[k:m]))]
    return tuple(found)


def _all_of(kind: str, text: str) -> tuple[Piece, ...]:
    return (Piece(kind, text),) if text else ()


def _cut(text: str) -> list[str]:
    return _PIECES.findall(text)


def flat(kept: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, str]:
    """Map field to text; fields of a kind are named `details.<name>`, and lists have an item a line."""
    found: dict[str, str] = {}
    for name in fields:
        value = kept.get(name)
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": _text(item) for key, item in value.items()}
        else:
            found[name] = _text(value)
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


# Tells whoever listens, once it is committed, that the words of an entry were set.

# Sent with `project_id` and `entry_id`; an entry that is gone again may be among them.
words_changed = Signal()


def announce(entry: Entry) -> None:
    """Has `words_changed` sent when the transaction is committed. A listener that fails fails nobody else."""
    tell = partial(words_changed.send_robust, sender=Entry, project_id=entry.project_id, entry_id=entry.pk)
    transaction.on_commit(tell, robust=True)
