"""The form of an entry's words: the fields of its kind, what was typed into them, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from notebook_app.public import EntryKind, KeptEntry, fields_of, lists_of
from reflection_app.notebook.views.notebook_words import KINDS, Words, field_words

LABELS = ("category", "agent", "tags")
LONG = {"description", "content"}
# Of the fields of kinds, those that are one line; all others may be long.
SHORT = {"tool", "error_type", "operation", "category", "agent", "tags", "name"}
LONGEST = {"name": 200, "category": 120, "agent": 120, "tags": 2_000, "description": 20_000, "content": 20_000}
LONGEST_FIELD = 4_000
LONGEST_LIST = 125_000


@dataclass(frozen=True)
class FormField:
    """One field of the form. A list is typed with a line for each of its items."""

    name: str
    label: str
    value: str
    errors: list[str]
    is_short: bool
    is_list: bool
    longest: int


@dataclass(frozen=True)
class EntryForm:
    """The form for an entry of this kind. `version` is the one that saving it changes."""

    kind: EntryKind
    typed: Mapping[str, str]
    errors: Mapping[str, list[str]]
    messages: list[str]
    reason: str = ""
    version: int | None = None
    # What the entry says by now, where somebody changed it while this was typed.
    moved: bool = False

    @property
    def kind_words(self) -> Words:
        return KINDS[self.kind]

    @property
    def fields(self) -> list[FormField]:
        return [self._field(name) for name in names_of(self.kind)]

    def _field(self, name: str) -> FormField:
        is_list = name in lists_of(self.kind)
        return FormField(
            name,
            field_words(name),
            self.typed.get(name, ""),
            errors=list(self.errors.get(name, [])),
            is_short=name in SHORT,
            is_list=is_list,
            longest=LONGEST_LIST if is_list else LONGEST.get(name, LONGEST_FIELD),
        )


def names_of(kind: EntryKind) -> list[str]:
    """The fields of the form, in order."""
    return ["name", "description", *fields_of(kind), "content", *LABELS]


def form_of(entry: KeptEntry) -> EntryForm:
    """The form with what the entry says."""
    texts: dict[str, Any] = {name: getattr(entry, name) for name in ("name", "description", "content", *LABELS)}
    typed = {name: _typed(name, value) for name, value in (texts | entry.details).items()}
    return EntryForm(entry.kind, typed, errors={}, messages=[], version=entry.version)


def typed_in(data: QueryDict, kind: EntryKind) -> dict[str, str]:
    """What was typed into the fields of the form, with the line ends of the desk."""
    return {name: data.get(name, "").replace("\r\n", "\n") for name in names_of(kind)}


def given_by(typed: Mapping[str, str], kind: EntryKind) -> dict[str, Any]:
    """What was typed as an entry's columns."""
    details: dict[str, Any] = {}
    for name in fields_of(kind):
        text = typed.get(name, "")
        details[name] = [line.strip() for line in text.splitlines() if line.strip()] if name in lists_of(kind) else text
    columns: dict[str, Any] = {name: typed.get(name, "").strip() for name in ("name", "category", "agent")}
    columns |= {name: typed.get(name, "") for name in sorted(LONG)}
    return columns | {"details": details, "tags": tags_in(typed.get("tags", ""))}


def tags_in(text: str) -> tuple[str, ...]:
    """The tags that were typed with commas between them, Chinese ones too."""
    return tuple(one.strip() for one in text.replace("\N{FULLWIDTH COMMA}", ",").split(",") if one.strip())


def _typed(name: str, value: Any) -> str:
    if name == "tags":
        return ", ".join(value)
    return "\n".join(value) if isinstance(value, list) else str(value)
