"""What an import would do, entry by entry, before it does anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from notebook_app.interchange.anti_patterns import key_of
from notebook_app.interchange.items import ImportItem
from notebook_app.kinds import EntryKind
from notebook_app.life import HOLDING, EntryState
from notebook_app.models import Entry
from notebook_app.people import By
from notebook_app.proposing import Proposal
from notebook_app.versions import KEPT

COMPARED = tuple(name for name in KEPT if name != "kind")
AT_ONCE = 500
FILE = "file:"


class ImportStep(StrEnum):
    ADD = "add"
    CHANGE = "change"
    SAME = "same"
    TWICE = "twice"
    # It is known, and was decided against; or approved, and whoever imports is no person.
    DECIDED = "decided"


@dataclass(frozen=True)
class Planned:
    """What becomes of one item: `entry` is the one that is known, `changes` the names of the fields that differ."""

    item: ImportItem
    step: ImportStep
    entry: Entry | None = None
    changes: tuple[str, ...] = ()


def plan(project_id: UUID, items: Sequence[ImportItem], *, by: By, done: Iterable[ImportItem] = ()) -> list[Planned]:
    """What an import of the items by this one would do now, in their order, after those that are `done`."""
    planned: list[Planned] = []
    seen = {name for item in done for name in _names(item)}
    for start in range(0, len(items), AT_ONCE):
        some = items[start : start + AT_ONCE]
        known = _known(project_id, some)
        for item in some:
            names = set(_names(item))
            found = next((known[name] for name in _names(item) if name in known), None)
            names |= {str(found.pk)} if found else set()
            planned.append(Planned(item, ImportStep.TWICE, found) if names & seen else _planned(item, found, by=by))
            seen |= names
    return planned


def _planned(item: ImportItem, entry: Entry | None, *, by: By) -> Planned:
    if entry is None:
        return Planned(item, ImportStep.ADD)
    changes = tuple(name for name in COMPARED if _given(item, name) != getattr(entry, name))
    if not changes:
        return Planned(item, ImportStep.SAME, entry)
    # What agents are told gets other words from people alone.
    is_kept = by.user_id is None and entry.state == EntryState.APPROVED
    if is_kept or EntryState(entry.state) not in HOLDING:
        return Planned(item, ImportStep.DECIDED, entry, changes)
    return Planned(item, ImportStep.CHANGE, entry, changes)


def _given(item: ImportItem, name: str) -> object:
    return getattr(item, name)


def imported_by(import_id: UUID) -> dict[str, str]:
    """What the evidence of an import says."""
    return {"import": str(import_id)}


def proposal_of(item: ImportItem, *, import_id: UUID | None = None) -> Proposal:
    """The item as something proposed."""
    return Proposal(
        kind=item.kind,
        name=item.name,
        description=item.description,
        content=item.content,
        details=item.details,
        agent=item.agent,
        category=item.category,
        tags=tuple(item.tags),
        source=source_of(item),
        evidence=imported_by(import_id) if import_id else {},
    )


def source_of(item: ImportItem) -> str:
    """By what the notebook knows an entry that came from a file; nothing where the file gives it no name."""
    return f"{FILE}{item.key}"[:200] if item.key else ""


def source_named(name: str) -> str:
    """By what the notebook knows an anti-pattern that came as Markdown."""
    return f"{FILE}{key_of(name)}"


def _names(item: ImportItem) -> list[str]:
    """All that the entry of the item may be known by, its own id first and its words last."""
    own = [item.id] if item.id else []
    # The notes that a desk writes are named by the ids of its entries.
    if item.key.startswith("note:nb_"):
        own.append(str(_id_in(item.key)))
    if item.kind is EntryKind.ANTI_PATTERN:
        own.append(source_named(item.name))
    return [*own, *([item.key, source_of(item)] if item.key else []), proposal_of(item).fingerprint]


def _id_in(key: str) -> UUID | None:
    try:
        return UUID(key.removeprefix("note:nb_"))
    except ValueError:
        return None


def _known(project_id: UUID, items: Sequence[ImportItem]) -> dict[str, Entry]:
    """The project's entries by each name that the items may know them by."""
    wanted = {name for item in items for name in _names(item)}
    ids = [as_id for name in wanted if (as_id := _as_id(name)) is not None]
    rows = Entry.objects.filter(project_id=project_id)
    found: dict[str, Entry] = {}
    for entry in rows.filter(fingerprint__in=wanted):
        found[entry.fingerprint] = entry
    for entry in rows.filter(source__in=wanted):
        found[entry.source] = entry
    for entry in rows.filter(pk__in=ids):
        found[str(entry.pk)] = entry
    return found


def _as_id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None
