"""Importing judgements from elsewhere: shown first, then applied in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.loops.storable import storable
from reflection_app.metrics.judgement_plan import PlannedRow, RowStep, counted, plan, split_items
from reflection_app.metrics.judgement_rows import NUMBERED, REFUSED, JudgementRow, NumberedRow, ReadRows, Refused
from reflection_app.metrics.models.judged_item import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement

LONGEST_NAME = 200
BATCH = 2_000


@dataclass(frozen=True)
class Shown:
    """An import as it is: what it would do, or once it is applied what it did. Then `planned` is empty.

    `split` is of how many items people have no majority: they are kept, and in no figure.
    """

    id: UUID
    name: str
    by: str
    created_at: datetime
    applied_at: datetime | None
    counts: dict[str, int]
    split: int
    planned: tuple[PlannedRow, ...]
    refused: tuple[Refused, ...]

    @property
    def would_do(self) -> int:
        return self.counts[RowStep.NEW] + self.counts[RowStep.CHANGED]


@transaction.atomic
def preview_judgements(project: Project, given: ReadRows, *, name: str, actor: Actor) -> Shown:
    """The import as it would be; no judgement is added yet."""
    row = JudgementImport.objects.create(
        project=project,
        name=storable(name)[:LONGEST_NAME],
        by_label=actor.label,
        rows=NUMBERED.dump_python(list(given.rows), mode="json"),
        outcome={"refused": REFUSED.dump_python(list(given.refused), mode="json")},
    )
    return _shown(row, project)


def get_judgement_import(project: Project, import_id: UUID) -> Shown:
    """The project's import as it is now. Raises NotFound."""
    row = JudgementImport.objects.filter(project=project, pk=import_id).first()
    if row is None:
        raise NotFound(_("There is no such import."))
    return _shown(row, project)


@transaction.atomic
def apply_judgements(project: Project, import_id: UUID, *, actor: Actor) -> Shown:
    """The import, applied; applied twice, it has been applied once. Raises NotFound."""
    row = JudgementImport.objects.select_for_update().filter(project=project, pk=import_id).first()
    if row is None:
        raise NotFound(_("There is no such import."))
    if row.applied_at is None:
        shown = _shown(row, project)
        _write(project, row, [one.row for one in shown.planned if one.step is not RowStep.SAME])
        row.outcome = {**row.outcome, "counts": shown.counts, "split": shown.split}
        row.rows, row.applied_at = [], timezone.now()
        row.save(update_fields=["rows", "outcome", "applied_at"])
        after = {"name": row.name, **shown.counts}
        audit(project.pk, actor, "judgements.imported", target=row, after=after)
    return _shown(row, project)


def _shown(row: JudgementImport, project: Project) -> Shown:
    refused = tuple(REFUSED.validate_python(row.outcome.get("refused", [])))
    rows: list[NumberedRow] = NUMBERED.validate_python(row.rows)
    planned = tuple(plan(project, rows))
    found = counted(planned)
    counts = {step.value: found[step] for step in RowStep} | {"refused": len(refused)}
    return Shown(
        id=row.pk,
        name=row.name,
        by=row.by_label,
        created_at=row.created_at,
        applied_at=row.applied_at,
        counts=counts if row.applied_at is None else row.outcome["counts"],
        split=split_items(project, rows) if row.applied_at is None else row.outcome["split"],
        planned=planned,
        refused=refused,
    )


def _write(project: Project, batch: JudgementImport, rows: Sequence[JudgementRow]) -> None:
    """Keeps the rows, each in the place of what is there of the same thing by the same giver.

    Everything is written in one order, so that two imports at once wait for each other instead of both failing.
    """
    contents: dict[str, str] = {}
    for row in rows:
        contents[row.external_id] = row.content or contents.get(row.external_id, "")
    items = _items(project, contents)
    critics = {(row.external_id, row.critic.model, row.critic.prompt_version): row.critic for row in rows}
    CriticJudgement.objects.bulk_create(
        (
            CriticJudgement(
                item_id=items[name],
                batch=batch,
                model=model,
                prompt_version=version,
                verdict=said.verdict.value,
                confidence=said.confidence,
            )
            for (name, model, version), said in sorted(critics.items(), key=lambda one: one[0])
        ),
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["item", "model", "prompt_version"],
        update_fields=["batch", "verdict", "confidence"],
    )
    people = {(row.external_id, person.name): person.verdict for row in rows for person in row.people}
    PersonsJudgement.objects.bulk_create(
        (
            PersonsJudgement(item_id=items[name], name=who, verdict=verdict.value)
            for (name, who), verdict in sorted(people.items())
        ),
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["item", "name"],
        update_fields=["verdict"],
    )


def _items(project: Project, contents: dict[str, str]) -> dict[str, UUID]:
    """The ids of the items with these names; those that were not there are made. A content that is told replaces."""
    named = sorted(contents.items())
    told = [JudgedItem(project=project, external_id=name, content=content) for name, content in named if content]
    untold = [JudgedItem(project=project, external_id=name) for name, content in named if not content]
    JudgedItem.objects.bulk_create(
        told,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["project", "external_id"],
        update_fields=["content"],
    )
    JudgedItem.objects.bulk_create(untold, batch_size=BATCH, ignore_conflicts=True)
    # What was written already is not read back by its conflict, so the ids come from the table.
    rows = JudgedItem.objects.filter(project=project, external_id__in=[name for name, _content in named])
    return dict(rows.values_list("external_id", "pk"))
