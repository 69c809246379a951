"""Importing judgements from elsewhere: shown first, then applied in one transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import NotFound, shortened, wrong
from reflection_app.core.models import Project
from reflection_app.loops.json_paths import has_more_values
from reflection_app.loops.storable import Text, storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Verdict
from reflection_app.metrics.calibration import majority
from reflection_app.metrics.models import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement
from reflection_app.tasks.submission import invalid_input

# Judgements as they are handed in: lines of JSON, each what one critic and some people said of one thing.

MOST_ROWS = 20_000
MOST_PEOPLE = 100
MOST_VALUES_OF_A_ROW = 10_000
LONGEST_REASON = 300
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class CriticSaid(Value):
    model: Name
    verdict: Verdict
    confidence: Confidence | None = None
    prompt_version: Text = Field(default="", max_length=40)


class PersonSaid(Value):
    name: Name
    verdict: Verdict


class JudgementRow(Value):
    """What one critic said of one thing, and what people did. A further critic of the same thing has a row of its own.

    `people` may be left out where another row of the same `external_id` names them.
    """

    external_id: Name
    critic: CriticSaid
    people: tuple[PersonSaid, ...] = Field(default=(), max_length=MOST_PEOPLE)
    content: Text = Field(default="", max_length=100_000)

    @model_validator(mode="after")
    def check_everybody_speaks_once(self) -> "JudgementRow":
        names = [person.name for person in self.people]
        if len(set(names)) < len(names):
            raise ValueError("people: somebody is named twice")
        return self


@dataclass(frozen=True)
class NumberedRow:
    """A row with the number of its line, from 1."""

    line: int
    row: JudgementRow


@dataclass(frozen=True)
class Refused:
    """A line that cannot be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class ReadRows:
    rows: tuple[NumberedRow, ...]
    refused: tuple[Refused, ...]


NUMBERED = TypeAdapter(list[NumberedRow])
REFUSED = TypeAdapter(list[Refused])


def read_lines(content: bytes) -> ReadRows:
    """The rows of a file of JSON lines; blank lines are none. Raises InvalidInput where there are too many, or none."""
    lines = ((number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip())
    return _read((number, _value_of(line)) for number, line in lines)


def read_values(values: Iterable[Any]) -> ReadRows:
    """The rows of a list, numbered from 1. Raises InvalidInput where there are too many, or none."""
    return _read(enumerate(values, start=1))


class _NoJson(ValueError):
    """The line is no JSON; says why."""


def _value_of(line: bytes) -> Any:
    if has_more_values(line, MOST_VALUES_OF_A_ROW):
        return _NoJson(
            _("This is no row: as JSON it has more than %(most)s values.") % {"most": f"{MOST_VALUES_OF_A_ROW:,}"}
        )
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf").decode())
    except (ValueError, RecursionError) as error:
        return _NoJson(_("This is no JSON: %(why)s") % {"why": error})


def _read(numbered: Iterable[tuple[int, Any]]) -> ReadRows:
    rows: list[NumberedRow] = []
    refused: list[Refused] = []
    for count, (line, value) in enumerate(numbered, start=1):
        if count > MOST_ROWS:
            raise wrong(
                "rows", _("At most %(most)s rows in one import; put more into several.") % {"most": f"{MOST_ROWS:,}"}
            )
        try:
            if isinstance(value, _NoJson):
                raise value
            if not isinstance(value, dict):
                raise ValueError(_("A row is a JSON object."))
            row_of = JudgementRow.model_validate(value)
            rows.append(NumberedRow(line, row_of))
        except ValidationError as error:
            why = "; ".join(f"{one['field']}: {one['message']}" for one in invalid_input(error, what="row").errors[:3])
            refused.append(Refused(line, storable(shortened(why, LONGEST_REASON))))
        except ValueError as error:
            refused.append(Refused(line, storable(shortened(str(error), LONGEST_REASON))))
    if not rows and not refused:
        raise wrong("rows", _("There is no row in it."))
    contradicting = tuple(_contradicting(rows))
    lines = {one.line for one in contradicting}
    kept = tuple(row for row in rows if row.line not in lines)
    return ReadRows(kept, tuple(sorted((*refused, *contradicting), key=lambda one: one.line)))


def _contradicting(rows: Iterable[NumberedRow]) -> Iterator[Refused]:
    """The rows that say of the same thing something else than an earlier row does."""
    critics: dict[tuple[str, str, str], NumberedRow] = {}
    people: dict[tuple[str, str], tuple[int, Verdict]] = {}
    contents: dict[str, NumberedRow] = {}
    for one in rows:
        row = one.row
        said = critics.setdefault((row.external_id, row.critic.model, row.critic.prompt_version), one)
        if said.row.critic != row.critic:
            yield _other(one, said.line, row.critic.model)
            continue
        earlier = [(person, people.get((row.external_id, person.name))) for person in row.people]
        clash = next(((person, told) for person, told in earlier if told and told[1] != person.verdict), None)
        if clash is not None:
            yield _other(one, clash[1][0], clash[0].name)
            continue
        if row.content and (held := contents.setdefault(row.external_id, one)).row.content != row.content:
            yield Refused(one.line, _("Line %(line)s has another content for the same thing.") % {"line": held.line})
            continue
        for person in row.people:
            people.setdefault((row.external_id, person.name), (one.line, person.verdict))


def _other(one: NumberedRow, line: int, who: str) -> Refused:
    reason = _("Line %(line)s says otherwise of what %(who)s said of it.") % {"line": line, "who": shortened(who, 60)}
    return Refused(one.line, reason)


# What rows of judgements would do to those that a project has.

CHUNK = 5_000


class RowStep(StrEnum):
    """NEW: the critic's judgement is not there. CHANGED: it is, and the row says something else or something more."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"


@dataclass(frozen=True)
class PlannedRow:
    """`changes` are the fields that would become other ones: verdict, confidence, people, content."""

    line: int
    row: JudgementRow
    step: RowStep
    changes: tuple[str, ...] = ()


@dataclass
class Held:
    """What a project has of one item."""

    id: UUID | None = None
    content: str = ""
    critics: dict[tuple[str, str], tuple[str, float | None]] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)


def held_items(project: Project, external_ids: Iterable[str]) -> dict[str, Held]:
    """What the project has of these items, by their names elsewhere."""
    wanted = sorted(set(external_ids))
    found: dict[str, Held] = {}
    for start in range(0, len(wanted), CHUNK):
        items = JudgedItem.objects.filter(project=project, external_id__in=wanted[start : start + CHUNK])
        by_id = {
            pk: (name, Held(pk, content)) for pk, name, content in items.values_list("pk", "external_id", "content")
        }
        found.update(by_id.values())
        of_items = {"item__in": list(by_id)}
        critics = CriticJudgement.objects.filter(**of_items)
        for item, model, version, verdict, confidence in critics.values_list(
            "item", "model", "prompt_version", "verdict", "confidence"
        ):
            by_id[item][1].critics[model, version] = (verdict, confidence)
        people = PersonsJudgement.objects.filter(**of_items)
        for item, name, verdict in people.values_list("item", "name", "verdict"):
            by_id[item][1].people[name] = verdict
    return found


def plan(project: Project, rows: Sequence[NumberedRow]) -> tuple[tuple[PlannedRow, ...], int]:
    """What each row would do, given what the project has and the rows before it; and on how many of the rows' items
    people would have said something then, without a majority."""
    held = held_items(project, (one.row.external_id for one in rows))
    planned = []
    for one in rows:
        row, item = one.row, held.setdefault(one.row.external_id, Held())
        known = item.critics.get((row.critic.model, row.critic.prompt_version))
        step, changes = RowStep.NEW, tuple[str, ...]()
        if known is not None:
            other = {
                "verdict": known[0] != row.critic.verdict,
                "confidence": known[1] != row.critic.confidence,
                "people": any(item.people.get(person.name) != person.verdict for person in row.people),
                "content": row.content not in {"", item.content},
            }
            changes = tuple(name for name, is_other in other.items() if is_other)
            step = RowStep.CHANGED if changes else RowStep.SAME
        planned.append(PlannedRow(one.line, row, step, changes))
        item.critics[row.critic.model, row.critic.prompt_version] = (row.critic.verdict.value, row.critic.confidence)
        item.people.update((person.name, person.verdict.value) for person in row.people)
        item.content = row.content or item.content
    split = sum(bool(item.people) and majority(item.people.values()) is None for item in held.values())
    return tuple(planned), split


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
    planned, split = plan(project, rows)
    found = Counter(one.step for one in planned)
    counts = {step.value: found[step] for step in RowStep} | {"refused": len(refused)}
    return Shown(
        id=row.pk,
        name=row.name,
        by=row.by_label,
        created_at=row.created_at,
        applied_at=row.applied_at,
        counts=counts if row.applied_at is None else row.outcome["counts"],
        split=split if row.applied_at is None else row.outcome["split"],
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
    named = sorted(contents.items())
    # A content that is given replaces the one that is there; items that were not there are made.
    JudgedItem.objects.bulk_create(
        [JudgedItem(project=project, external_id=name, content=content) for name, content in named if content],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["project", "external_id"],
        update_fields=["content"],
    )
    JudgedItem.objects.bulk_create(
        [JudgedItem(project=project, external_id=name) for name, content in named if not content],
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    # What was written already is not read back by its conflict, so the ids come from the table.
    written = JudgedItem.objects.filter(project=project, external_id__in=list(contents))
    items = dict(written.values_list("external_id", "pk"))
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
