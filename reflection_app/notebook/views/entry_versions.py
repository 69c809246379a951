"""The versions of an entry, each with what it changed in the words of the one before."""

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from notebook_app.public import KEPT, KeptEntry, KeptVersion, versions_of
from reflection_app.notebook.views.notebook_words import KINDS, change_words, field_words
from reflection_app.web.hidden_characters import revealed
from reflection_app.web.text_diff import marked

# Comparing takes time with the length: what one page marks is bounded, and the rest is shown as two whole texts.
MOST_MARKED = 200_000


@dataclass(frozen=True)
class ChangedField:
    """A field that a version changed: as it was, and as it is, with what differs marked."""

    label: str
    before: SafeString | str
    after: SafeString | str


@dataclass(frozen=True)
class VersionLine:
    """`is_other`: its words are not those of the entry now, so that it can be restored."""

    version: KeptVersion
    words: str
    changed: list[ChangedField]
    is_other: bool


def version_lines(entry: KeptEntry) -> list[VersionLine]:
    """The versions, newest first."""
    versions = versions_of(entry)
    if not versions:
        return []
    now, left = _texts(versions[0].kept), MOST_MARKED
    lines = []
    for version, before in zip(versions, [*versions[1:], None], strict=True):
        changed = _changed(before.kept, version.kept, left=left) if before is not None else []
        left -= sum(len(field.before) + len(field.after) for field in changed)
        is_other = _texts(version.kept) != now
        lines.append(VersionLine(version, change_words(version.change), changed, is_other=is_other))
    return lines


def _changed(before: dict[str, Any], after: dict[str, Any], *, left: int) -> list[ChangedField]:
    was, now = _texts(before), _texts(after)
    found = []
    for name in [*was, *(name for name in now if name not in was)]:
        old, new = was.get(name, ""), now.get(name, "")
        if old == new:
            continue
        left -= len(old) + len(new)
        shown = marked(old, new) if left >= 0 else (old, new)
        found.append(ChangedField(field_words(name), *shown))
    return found


def _texts(kept: dict[str, Any]) -> dict[str, str]:
    """Each field's words by its name; those of the entry's kind among the others. Who decided is no field of it."""
    flat = {name: kept[name] for name in KEPT if name in kept and name != "details"} | dict(kept.get("details") or {})
    return {name: revealed(_text(name, value)) for name, value in flat.items()}


def _text(name: str, value: Any) -> str:
    if name == "kind":
        return str(next((words for kind, words in KINDS.items() if kind == value), value))
    return "\n".join(str(one) for one in value) if isinstance(value, list) else str(value)
