"""What the classifier (judgement/lesson_screening.py) is to read of an entry, and what is kept of its reading.

The model is asked by whoever has it, outside of any transaction. What changes meanwhile is read again.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from judgement.lesson_screening import shipped
from notebook_app.changing import change
from notebook_app.disguises import decoded
from notebook_app.kinds import (
    DESK,
    HOLDING,
    OF_THE_DESK,
    Change,
    ChangedMeanwhile,
    EntryState,
    NoSuchEntry,
    NotPossibleNow,
)
from notebook_app.models import Entry
from notebook_app.screening import LONGEST_QUOTE, LONGEST_SCREENED, STEERS, Flag, Opinion

# A lesson of a few sentences is read whole, what is longer in pieces that overlap by a sentence; both by sentence, too.
READ_WHOLE = 500
SHORTEST_SENTENCE = 8
PIECE = 400
MOST_PASSAGES = 64
MOST_DISGUISED = 6
SHORTEST_DISGUISED = 12
# A label of a word or two orders nothing.
LONG_LABEL = 24

# Marks that are piled upon letters, and what nobody sees; the vowel signs of Hindi and Arabic stay.
_UNSEEN = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；।])|\n+")
_APART = re.compile(r"(?:[^\W\d_](?P<gap>[\s.*_·|/-]{1,3}))(?:[^\W\d_][\s.*_·|/-]{1,3}){6,}[^\W\d_]")
# Wider gaps stand between words.
_GAP = re.compile(r"(?<=\S)[\s.*_·|/-](?=\S)")


def passages(words: Sequence[str], labels: Sequence[str] = ()) -> list[str]:
    """What is to be read of an entry, each by itself: its words whole or in pieces, long labels, disguised words."""
    text = "\n".join(part for part in words if part)[:LONGEST_SCREENED]
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    pieces = [seen] if _room(seen) <= READ_WHOLE else list(_pieces(seen))
    # What steers is often one sentence among honest ones.
    sentences = [one.strip()[:READ_WHOLE] for one in _SENTENCE_ENDS.split(seen) if one]
    pieces += [one for one in sentences if len(one) >= SHORTEST_SENTENCE]
    named = " ".join(label for label in labels if len(label) >= LONG_LABEL)
    undisguised = [said for said in decoded(seen) if len(said) >= SHORTEST_DISGUISED and said not in seen]
    undisguised += [_GAP.sub("", match[0]) for match in _APART.finditer(seen)]
    undisguised = [one[:READ_WHOLE] for one in undisguised][:MOST_DISGUISED]
    return [one for one in dict.fromkeys([*pieces[:MOST_PASSAGES], named, *undisguised]) if one.strip()]


def _pieces(text: str) -> Iterator[str]:
    held: list[str] = []
    for sentence in _SENTENCE_ENDS.split(text):
        if not sentence or not sentence.strip():
            continue
        for start in range(0, len(sentence), PIECE):
            part = sentence[start : start + PIECE]
            if held and _room(" ".join(held)) + _room(part) > PIECE:
                yield " ".join(held)
                held = held[-1:] if _room(held[-1]) + _room(part) <= PIECE else []
            held.append(part)
    if held:
        yield " ".join(held)


def _room(text: str) -> int:
    """Its length, where a Chinese, Japanese or Korean character says as much as two or three letters."""
    return sum(2 if letter >= "\u2e80" else 1 for letter in text)


@dataclass(frozen=True)
class Reading:
    """The passage that steers most, and how surely, as log odds; with a second opinion if one was asked for."""

    passage: str
    odds: float
    opinion: Opinion | None = None

    @property
    def is_unsure(self) -> bool:
        """Return True if the classifier alone says nothing certain."""
        learned = shipped()
        return learned.unsure <= self.odds < 2 * learned.threshold - learned.unsure

    @property
    def flag(self) -> Flag | None:
        """What is to be looked at. A second opinion adds flags and never takes one away: the text may address it."""
        if self.odds < shipped().threshold and not (self.is_unsure and self.opinion and self.opinion.steers):
            return None
        quote = " ".join(self.passage.split())[:LONGEST_QUOTE]
        return Flag(STEERS, quote, sureness=round(1 / (1 + math.exp(-self.odds)), 2), opinion=self.opinion)


def reading_of(read: Sequence[str], odds: Sequence[float]) -> Reading:
    """The reading of an entry of which these passages were read, with these log odds."""
    return max((Reading(*one) for one in zip(read, odds, strict=True)), key=lambda one: one.odds, default=NOTHING)


NOTHING = Reading("", -math.inf)


@dataclass(frozen=True)
class Unread:
    """An entry that these weights have not read. `as_of` tells which words of the entry these are."""

    entry_id: UUID
    project_id: UUID
    words: tuple[str, ...]
    labels: tuple[str, ...]
    version: int
    as_of: datetime

    def passages(self) -> list[str]:
        """What is to be read: takes up to a second of hostile words."""
        return passages(self.words, self.labels)


def unread(*, limit: int) -> list[Unread]:
    """The entries that hold and that these weights have not read, what was changed last first."""
    rows = Entry.objects.filter(read_by_weights__lt=shipped().version, state__in=HOLDING).defer("search")
    return [
        Unread(entry.pk, entry.project_id, entry.texts, entry.labels, entry.version, entry.updated_at)
        for entry in rows.order_by("-updated_at", "-pk")[:limit]
    ]


def count_unread() -> int:
    """How many entries that hold these weights have not read."""
    return Entry.objects.filter(read_by_weights__lt=shipped().version, state__in=HOLDING).count()


def keep_reading(one: Unread, reading: Reading) -> Entry | None:
    """Record that the entry was read. Return it if it is flagged now and was not before.

    What is flagged has another version, so that nobody approves or clears what they have not seen. A curator's clearing
    of the same words stays valid. So does a person's approval: the classifier may be wrong, and the entry stays in
    prompts until a curator decides on the flag. An entry that a key changed last is excluded until then.
    """
    found = reading.flag
    with transaction.atomic():
        rows = Entry.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        entry = rows.filter(pk=one.entry_id, version=one.version, updated_at=one.as_of).first()
        if entry is None:
            return None
        flags = [flag for flag in entry.flags if flag["rule"] != STEERS]
        was_found = len(flags) < len(entry.flags)
        if found is not None:
            flags.append(found.as_json())
        columns: dict[str, Any] = {
            "flags": flags,
            "read_by_weights": shipped().version,
            "is_used_while_flagged": [flag["rule"] for flag in flags] == [STEERS] and _was_approved_by_person(entry),
        }
        if found is None or was_found or entry.is_cleared:
            # An update leaves `updated_at` as it is, which tells whether the words have their vector.
            Entry.objects.filter(pk=entry.pk).update(**columns)
            return None
        try:
            return change(entry.project_id, entry.pk, Change.FLAGGED, by=DESK, expected_version=one.version, **columns)
        except (ChangedMeanwhile, NoSuchEntry, NotPossibleNow):
            # It was decided against meanwhile: brought back it is read then.
            return None


def _was_approved_by_person(entry: Entry) -> bool:
    """Return True if the entry is approved, and a person made the last change of it that anybody made."""
    last = entry.versions.exclude(change__in=OF_THE_DESK).order_by("-number").first()
    return entry.state == EntryState.APPROVED and last is not None and last.by_id is not None
