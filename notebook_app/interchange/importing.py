"""An import: read and shown first, then carried out piece by piece, so that none is done twice or lost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from notebook_app.changing import lock_notebook
from notebook_app.curation import edit
from notebook_app.identity import same_text
from notebook_app.interchange.formats import ImportItem, key_of
from notebook_app.interchange.reading import HandedIn, read_files
from notebook_app.kinds import (
    HOLDING,
    By,
    Change,
    EntryKind,
    EntryState,
    NoSuchEntry,
    NotebookError,
    Refused,
    uuid_in,
    words_of,
)
from notebook_app.models import Entry, EntryVersion, ImportBatch, ImportState
from notebook_app.proposing import Proposal, add_wording, keep
from notebook_app.reading import differing_columns
from notebook_app.versions import KEPT

# What an import would do, entry by entry, before it does anything.

COMPARED = tuple(name for name in KEPT if name != "kind")
AT_ONCE = 500
FILE = "file:"


class ImportStep(models.TextChoices):
    ADD = "add", _("To add")
    CHANGE = "change", _("To update")
    SAME = "same", _("Already present")
    TWICE = "twice", _("Duplicates in the files")
    # It is known, and was decided against; or approved, and whoever imports is no person.
    DECIDED = "decided", _("Already decided: unchanged")


@dataclass(frozen=True)
class Planned:
    """What becomes of one item: `entry` is the one that is known, `changes` the names of the fields that differ."""

    item: ImportItem
    step: ImportStep
    entry: Entry | None = None
    changes: tuple[str, ...] = ()


def plan(project_id: UUID, items: Sequence[ImportItem], *, by: By, done: Iterable[ImportItem] = ()) -> list[Planned]:
    """What an import of the items by this one would do now, in their order, after those that are `done`."""
    steps: list[Planned] = []
    seen = {name for item in done for name in _names(item)}
    for start in range(0, len(items), AT_ONCE):
        some = items[start : start + AT_ONCE]
        # The project's entries by each name that the items may know them by.
        wanted = {name for item in some for name in _names(item)}
        ids = [as_id for name in wanted if (as_id := uuid_in(name)) is not None]
        rows = Entry.objects.filter(project_id=project_id)
        known = {entry.fingerprint: entry for entry in rows.filter(fingerprint__in=wanted)}
        known |= {entry.source: entry for entry in rows.filter(source__in=wanted)}
        known |= {str(entry.pk): entry for entry in rows.filter(pk__in=ids)}
        for item in some:
            names = set(_names(item))
            found = next((known[name] for name in _names(item) if name in known), None)
            names |= {str(found.pk)} if found else set()
            changes = tuple(name for name in COMPARED if found and getattr(item, name) != getattr(found, name))
            if names & seen:
                steps.append(Planned(item, ImportStep.TWICE, found))
            elif found is None:
                steps.append(Planned(item, ImportStep.ADD))
            elif not changes:
                steps.append(Planned(item, ImportStep.SAME, found))
            else:
                # What agents are told gets other words from people alone.
                is_kept = by.user_id is None and found.state == EntryState.APPROVED
                can_change = not is_kept and EntryState(found.state) in HOLDING
                step = ImportStep.CHANGE if can_change else ImportStep.DECIDED
                steps.append(Planned(item, step, found, changes))
            seen |= names
    return steps


def imported_by(import_id: UUID) -> dict[str, str]:
    """What the evidence of an import says."""
    return {"import": str(import_id)}


def proposal_of(item: ImportItem, *, import_id: UUID | None = None) -> Proposal:
    """The item as something proposed."""
    said = item.model_dump(include=set(KEPT)) | {"tags": tuple(item.tags)}
    return Proposal(**said, source=source_of(item), evidence=imported_by(import_id) if import_id else {})


def source_of(item: ImportItem) -> str:
    """By what the notebook knows an entry that came from a file; nothing where the file gives it no name."""
    return f"{FILE}{item.key}"[:200] if item.key else ""


def _names(item: ImportItem) -> list[str]:
    """All that the entry of the item may be known by, its own id first and its words last."""
    own = [item.id] if item.id else []
    # The notes that a desk writes are named by the ids of its entries.
    if item.key.startswith("note:nb_"):
        entry_id = uuid_in(item.key.removeprefix("note:nb_"))
        own += [str(entry_id)] if entry_id is not None else []
    if item.kind is EntryKind.ANTI_PATTERN:
        # By this the notebook knows an anti-pattern that came as Markdown.
        own.append(f"{FILE}{key_of(item.name)}")
    return [*own, *([item.key, source_of(item)] if item.key else []), proposal_of(item).fingerprint]


# For so long everybody else who has to do with several entries of the notebook waits: runs that end, among others.
IMPORTED_AT_ONCE = 25


def preview(project_id: UUID, files: Sequence[HandedIn], *, by: By) -> ImportBatch:
    """The import, read and kept; nothing of the notebook is changed. Raises Refused where there is no file."""
    if not files:
        raise Refused("choose at least one file", field="files")
    found = read_files(files)
    return ImportBatch.objects.create(
        project_id=project_id,
        file_names=[file.name[:300] for file in files][:100],
        items=[item.model_dump(mode="json") for item in found.items],
        problems=[asdict(problem) for problem in found.problems],
        by_label=by.label[:200],
        by_id=by.user_id,
    )


def import_of(project_id: UUID, import_id: UUID) -> ImportBatch:
    """The project's import. Raises NoSuchEntry where there is none."""
    batch = ImportBatch.objects.filter(project_id=project_id, pk=import_id).first()
    if batch is None:
        raise NoSuchEntry(import_id)
    return batch


def planned(batch: ImportBatch) -> list[Planned]:
    """Return what the import would do now; nothing once it has begun."""
    if batch.state != ImportState.PREVIEWED:
        return []
    items = [ImportItem.model_validate(item) for item in batch.items]
    return plan(batch.project_id, items, by=By(batch.by_label, batch.by_id))


@transaction.atomic
def begin_import(project_id: UUID, import_id: UUID) -> bool:
    """Whether the import begins now; False where it had begun before. Raises NoSuchEntry."""
    batch = ImportBatch.objects.select_for_update().filter(project_id=project_id, pk=import_id).first()
    if batch is None:
        raise NoSuchEntry(import_id)
    if batch.state != ImportState.PREVIEWED:
        return False
    batch.state = ImportState.APPLYING
    batch.save(update_fields=["state"])
    return True


@transaction.atomic
def import_some(import_id: UUID) -> bool:
    """Carries out the next piece of the import; whether some is left. Entries and progress are committed together."""
    batch = ImportBatch.objects.select_for_update().filter(pk=import_id, state=ImportState.APPLYING).first()
    if batch is None:
        return False
    by = By(batch.by_label, batch.by_id)
    counts = Counter(batch.counts)
    begun = counts["done"]
    read = [ImportItem.model_validate(item) for item in batch.items[: begun + IMPORTED_AT_ONCE]]
    items = read[begun:]
    # Before the first of its entries: it goes on to others with that one in hand.
    lock_notebook(batch.project_id)
    for one in plan(batch.project_id, items, by=by, done=read[:begun]):
        counts[_carry_out(batch.project_id, one, by=by, import_id=import_id)] += 1
    counts["done"] = begun + len(items)
    batch.counts = dict(counts)
    if counts["done"] >= len(batch.items):
        batch.state, batch.applied_at = ImportState.APPLIED, timezone.now()
    batch.save(update_fields=["counts", "state", "applied_at"])
    return batch.state == ImportState.APPLYING


def _carry_out(project_id: UUID, one: Planned, *, by: By, import_id: UUID) -> str:
    """What became of the item: its step, or `refused` where the notebook would not have it."""
    is_new = one.step is ImportStep.ADD
    if one.step is ImportStep.TWICE:
        # Its name in the file may be that of an item which repeated another one's words, and left no entry of the name.
        is_new = not _store_wording(project_id, one.item, import_id=import_id)
    if not is_new and one.step is not ImportStep.CHANGE:
        return one.step.value
    try:
        with transaction.atomic():
            if is_new:
                kept = keep(project_id, proposal_of(one.item, import_id=import_id), by=by, made=Change.IMPORTED)
                if kept.is_new:
                    kept.entry.occurrences = one.item.occurrences
                    kept.entry.agents += [agent for agent in one.item.agents if agent not in kept.entry.agents]
                    kept.entry.save(update_fields=["occurrences", "agents"])
                    kept.entry.evidence.update(wordings=one.item.wordings)
                return ImportStep.ADD.value if kept.is_new else ImportStep.SAME.value
            assert one.entry is not None
            words = {name: getattr(one.item, name) for name in COMPARED}
            edit(
                project_id,
                one.entry.pk,
                by=by,
                reason=f"as in {one.item.file}",
                expected_version=one.entry.version,
                evidence=imported_by(import_id),
                **words,
            )
            return ImportStep.CHANGE.value
    except NotebookError:
        return "refused"


def _store_wording(project_id: UUID, item: ImportItem, *, import_id: UUID) -> bool:
    """Store what an item says otherwise than the entry of an earlier one of the same name; False without such an entry.

    An archive also holds shorter forms of its entries. These add nothing.
    """
    names = _names(item)
    ids = [as_id for name in names if (as_id := uuid_in(name)) is not None]
    known = Q(source__in=names) | Q(fingerprint__in=names) | Q(pk__in=ids)
    entry = Entry.objects.filter(known, project_id=project_id).order_by("created_at", "id").first()
    said = [item.description, item.content, *words_of(item.details)]
    if entry is None:
        return False
    if not {same_text(text) for text in said} <= {same_text(text) for text in ("", *entry.texts)}:
        add_wording(entry, differing_columns(proposal_of(item).columns, entry), refs=imported_by(import_id))
    return True


def imports_of(entry_id: UUID) -> list[str]:
    """The imports that brought the entry, or put it into other words."""
    found = EntryVersion.objects.filter(entry=entry_id, evidence__has_key="import")
    return [str(refs["import"]) for refs in found.values_list("evidence", flat=True)]


def open_imports() -> list[UUID]:
    """The imports that have begun and not ended, for whoever goes on with those that a worker left."""
    return list(ImportBatch.objects.filter(state=ImportState.APPLYING).values_list("pk", flat=True))


def project_of_import(import_id: UUID) -> UUID | None:
    """The project whose notebook the import is for; None where there is no such import."""
    return ImportBatch.objects.filter(pk=import_id).values_list("project_id", flat=True).first()
