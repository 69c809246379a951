"""One entry of the notebook as the pages show it: its labels in words, the fields of its kind, what is suspicious."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User

from notebook_app.public import Change, EntryKind, KeptEntry, fields_of, in_open_conflict, may
from reflection_app.notebook.views.notebook_words import BADGES, KINDS, STATES, Words, category_words, field_words
from reflection_app.notebook.views.screening_words import rule_words, sign_words
from reflection_app.web.hidden_characters import HiddenCharacter, hidden_in, revealed


@dataclass(frozen=True)
class Field:
    """A field with what it says: one text, or a list of them. Hidden characters are written out."""

    name: str
    label: str
    text: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryView:
    """An entry with what its row needs of other tables."""

    entry: KeptEntry
    is_in_conflict: bool = False
    owner: str = ""

    @property
    def kind_words(self) -> Words:
        return KINDS[self.entry.kind]

    @property
    def state_words(self) -> Words:
        return STATES[self.entry.state]

    @property
    def badge(self) -> tuple[str, str]:
        """The badge's colour and its picture."""
        return BADGES[self.entry.state]

    @property
    def category_words(self) -> str:
        return category_words(self.entry.category)

    @cached_property
    def name(self) -> str:
        return revealed(self.entry.name)

    @property
    def gist(self) -> str:
        """The words that say most about it, for a row."""
        entry = self.entry
        return revealed(entry.description or entry.content or next(iter(_texts(entry.details.values())), ""))

    @cached_property
    def fields(self) -> list[Field]:
        """What it says, in the order in which it is read; empty fields are left out."""
        entry = self.entry
        own = [(name, entry.details[name]) for name in fields_of(entry.kind) if entry.details.get(name)]
        told = [("description", entry.description), *own, ("content", entry.content)]
        return [field_of(name, value) for name, value in told if value]

    @property
    def flags(self) -> list[dict[str, Any]]:
        """What screening found: by which rule, in which words; of the classifier, how surely and by which signs."""
        return [
            {
                "rule": rule_words(str(flag.get("rule", ""))),
                "quote": revealed(str(flag.get("quote", ""))),
                "sureness": flag.get("sureness"),
                "signs": [sign_words(str(sign)) for sign in flag.get("signs", [])],
            }
            for flag in self.entry.flags
        ]

    @cached_property
    def hidden(self) -> list[HiddenCharacter]:
        """The kinds of characters in it that a page would not show."""
        entry = self.entry
        words = [entry.name, entry.description, entry.content, *_texts(entry.details.values()), *entry.tags]
        return hidden_in("\n".join([*words, entry.agent, entry.category]))

    @property
    def may(self) -> dict[str, bool]:
        """By the name of a change, whether the entry's state allows it."""
        return {change.value: may(change, self.entry.state) for change in Change}

    @property
    def is_waiting(self) -> bool:
        return may(Change.APPROVED, self.entry.state)


def field_of(name: str, value: Any) -> Field:
    """A field as it is shown."""
    items = tuple(revealed(one) for one in value) if isinstance(value, list) else ()
    return Field(name, field_words(name), text="" if items else revealed(str(value)), items=items)


def views_of(entries: list[KeptEntry]) -> list[EntryView]:
    """The entries with what their rows show; two queries."""
    conflicting = in_open_conflict([entry.id for entry in entries])
    owners = owner_names(entries)
    return [
        EntryView(entry, is_in_conflict=entry.id in conflicting, owner=owners.get(entry.owner_id, ""))
        for entry in entries
    ]


def owner_names(entries: Iterable[KeptEntry]) -> dict[int | None, str]:
    """The names of those who own any of the entries, by their ids."""
    ids = {entry.owner_id for entry in entries if entry.owner_id is not None}
    return dict(User.objects.filter(pk__in=ids).values_list("pk", "username")) if ids else {}


def kind_fields(kind: EntryKind) -> list[tuple[str, str]]:
    """The names and labels of the fields that a kind has of its own."""
    return [(name, field_words(name)) for name in fields_of(kind)]


def _texts(values: Iterable[Any]) -> list[str]:
    return [str(text) for value in values for text in (value if isinstance(value, list) else [value])]
