"""A conflict of two entries as its pages show it: both sides field by field, with what differs marked."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notebook_app.public import (
    ConflictKind,
    ConflictState,
    EntryState,
    KeptEntry,
    SeenConflict,
    Settlement,
    fields_of,
)
from reflection_app.loops.hidden_characters import revealed
from reflection_app.notebook.views.entry import EntryView
from reflection_app.notebook.views.words import field_words
from reflection_app.runs.models import Run, RunState
from reflection_app.web.rendering import marked

KINDS: dict[ConflictKind, Promise] = {
    ConflictKind.CONTRADICTION: _("Contradiction"),
    ConflictKind.DUPLICATE: _("Near-duplicates"),
    ConflictKind.REFINEMENT: _("One narrows the other"),
}
STATES: dict[ConflictState, Promise] = {
    ConflictState.OPEN: _("Open"),
    ConflictState.SETTLED: _("Settled"),
    ConflictState.MOOT: _("Nothing to settle"),
}
SETTLED: dict[Settlement, Promise] = {
    Settlement.MERGED: _("merged the two"),
    Settlement.KEPT_BOTH: _("kept both"),
    Settlement.SUPERSEDED: _("let one hold instead of the other"),
}


@dataclass(frozen=True)
class FieldPair:
    """One field as both entries have it; the texts are escaped, with what is only there marked."""

    label: str
    left: SafeString
    right: SafeString
    is_same: bool


@dataclass(frozen=True)
class ConflictView:
    """A conflict with what its pages need."""

    conflict: SeenConflict

    @cached_property
    def first(self) -> EntryView:
        return EntryView(self.conflict.first)

    @cached_property
    def second(self) -> EntryView:
        return EntryView(self.conflict.second)

    @property
    def sides(self) -> list[tuple[int, EntryView]]:
        return [(1, self.first), (2, self.second)]

    @property
    def kind_words(self) -> Promise:
        return KINDS[self.conflict.kind]

    @property
    def state_words(self) -> Promise:
        return STATES[self.conflict.state]

    @property
    def settled_words(self) -> Promise | str:
        return SETTLED[self.conflict.settlement] if self.conflict.settlement else ""

    @property
    def is_contradiction(self) -> bool:
        return self.conflict.kind is ConflictKind.CONTRADICTION

    @property
    def is_refinement(self) -> bool:
        return self.conflict.kind is ConflictKind.REFINEMENT

    @property
    def is_by_meaning(self) -> bool:
        """Whether the classifier decided what the two are to each other, and not their words alone."""
        return self.conflict.why.get("by") == "meaning"

    @property
    def gone(self) -> KeptEntry | None:
        """The entry that no longer holds since the conflict was settled."""
        return next((entry for entry in self.conflict.entries if entry.id == self.conflict.gone_id), None)

    @property
    def likely_stays(self) -> UUID:
        """The entry that a curator is likely to keep: the approved one, else the one that was found oftener."""
        first, second = self.conflict.entries
        return second.id if _weight(second) > _weight(first) else first.id

    @property
    def fields(self) -> list[FieldPair]:
        """What both say, in the order in which it is read; fields that neither has are left out."""
        first, second = self.conflict.entries
        own = list(dict.fromkeys((*fields_of(first.kind), *fields_of(second.kind))))
        pairs = [("name", first.name, second.name), ("description", first.description, second.description)]
        pairs += [(name, _text(first.details.get(name)), _text(second.details.get(name))) for name in own]
        pairs.append(("content", first.content, second.content))
        return [_pair(name, left, right) for name, left, right in pairs if left or right]


@dataclass(frozen=True)
class Suggested:
    """What became of asking a model: nothing asked, at it, failed with a reason, or a suggestion to take or leave."""

    run: Run | None
    suggestion: dict[str, Any] | None

    @property
    def is_under_way(self) -> bool:
        return self.run is not None and self.run.state != RunState.FINISHED

    @property
    def has_failed(self) -> bool:
        return self.run is not None and not self.is_under_way and not self.suggestion

    @property
    def why_none(self) -> str:
        """What its run says of why there is none."""
        if self.run is None:
            return ""
        return self.run.error or gettext("Its run ended without one that is kept here.")

    @property
    def words(self) -> dict[str, str]:
        """The suggestion as it is shown, hidden characters written out."""
        return {name: revealed(str(text)) for name, text in (self.suggestion or {}).items()}


def _weight(entry: KeptEntry) -> tuple[bool, int]:
    return entry.state is EntryState.APPROVED, entry.occurrences


def _pair(name: str, left: str, right: str) -> FieldPair:
    before, after = marked(revealed(left), revealed(right))
    return FieldPair(field_words(name), before, after, is_same=left == right)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(one) for one in value)
    return "" if value is None else str(value)
